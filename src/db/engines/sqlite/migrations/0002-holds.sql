-- While a hold is in force the bytes of deleted files stay: a backup that is under way may need them.
CREATE TABLE holds (
  name TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL -- in force before this time
) STRICT, WITHOUT ROWID;
