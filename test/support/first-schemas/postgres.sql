-- The tables of the SQLite database (migrations/sqlite says what each is), with the keys that a distribution wants:
-- each table has one column by which it can be spread (docs/scaling.md), and it stands in every unique key of it.
-- Text is compared by its bytes, as SQLite does, so that cursors mean the same on both.

CREATE TABLE users (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  username TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL UNIQUE,
  phone_number TEXT COLLATE "C",
  display_name TEXT COLLATE "C",
  avatar_url TEXT COLLATE "C",
  conversation_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE tokens (
  hash BYTEA NOT NULL PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C",
  scopes TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX tokens_by_id ON tokens (id);
CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE revocations (
  count BIGINT NOT NULL
);
INSERT INTO revocations (count) VALUES (0);

CREATE TABLE members (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  joined_at BIGINT NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX members_by_user ON members (user_id);

CREATE TABLE contacts (
  owner_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL,
  phone_digits TEXT COLLATE "C" NOT NULL,
  search_key TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  blocked_at BIGINT,
  version BIGINT NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (owner_id, id)
);
CREATE UNIQUE INDEX contacts_by_username ON contacts (owner_id, username_key);
CREATE INDEX contacts_by_phone ON contacts (owner_id, phone_digits, id);
CREATE INDEX contacts_blocked ON contacts (owner_id, id) WHERE blocked_at IS NOT NULL;

CREATE TABLE messages (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  conversation_id TEXT COLLATE "C" NOT NULL,
  sender_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX messages_by_conversation ON messages (conversation_id);

CREATE TABLE attachments (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  conversation_id TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL,
  uploader_id TEXT COLLATE "C" NOT NULL,
  filename TEXT COLLATE "C" NOT NULL,
  file_type TEXT COLLATE "C" NOT NULL,
  file_size BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  blob_key TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  crc32 BIGINT
);
CREATE INDEX attachments_by_blob ON attachments (blob_key);
CREATE INDEX attachments_by_conversation ON attachments (conversation_id);
CREATE INDEX attachments_by_uploader ON attachments (uploader_id, file_size);

CREATE TABLE small_files (
  attachment_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  bytes BYTEA NOT NULL
);

CREATE TABLE grants (
  user_id TEXT COLLATE "C" NOT NULL,
  attachment_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, attachment_id)
);
CREATE INDEX grants_by_conversation ON grants (user_id, conversation_id, attachment_id);

CREATE TABLE tombstones (
  blob_key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  created_at BIGINT NOT NULL
);
CREATE INDEX tombstones_by_time ON tombstones (created_at, blob_key);

CREATE TABLE holds (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);

-- Uploads on their way into a store that cannot tell its own (S3): what lapses becomes a tombstone.
CREATE TABLE intents (
  blob_key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);
CREATE INDEX intents_by_time ON intents (until);

CREATE TABLE moves (
  source TEXT COLLATE "C" NOT NULL
);

CREATE TABLE carried_secrets (
  secret TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);

-- What runs since the last crash of PostgreSQL: an unlogged table is emptied by crash recovery, and numbers of
-- transactions that had not become durable may then be given again.
CREATE UNLOGGED TABLE incarnation (
  one BOOLEAN NOT NULL PRIMARY KEY CHECK (one),
  id TEXT COLLATE "C" NOT NULL
);

CREATE FUNCTION parley_tell_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NOTIFY parley_revocations;
  RETURN NULL;
END
$$;
CREATE TRIGGER tell_revocation AFTER UPDATE ON revocations
  FOR EACH STATEMENT EXECUTE FUNCTION parley_tell_revocation();
