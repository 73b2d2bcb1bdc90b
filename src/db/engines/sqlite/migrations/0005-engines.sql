-- Uploads on their way into a store that cannot tell its own (S3). One that lapses becomes a tombstone.
CREATE TABLE intents (
  blob_key TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX intents_by_time ON intents (until);

-- From where the database is being filled; empty: it is whole.
CREATE TABLE moves (
  source TEXT NOT NULL
) STRICT;

-- Secrets of the links that were out when the database was moved.
CREATE TABLE carried_secrets (
  secret TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
