-- Resumable uploads, until they expire. While one is unfinished, its row is the intent of its bytes.
CREATE TABLE uploads (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  filename TEXT, -- null once the upload is complete, as are type and target: the attachment has them
  declared_type TEXT,
  conversation_id TEXT, -- where the file goes; null with message_id null, too: notes to self
  message_id TEXT,
  length INTEGER, -- bytes; null: not known yet
  received INTEGER NOT NULL, -- bytes that are durable
  blob_key TEXT NOT NULL,
  parts TEXT, -- what the store needs to continue the blob
  tail_key TEXT, -- the blob with the bytes after the last part, in a store that takes only whole parts
  holder TEXT NOT NULL, -- changes when another process continues the upload
  attachment_id TEXT, -- once the upload is finished
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_user ON uploads (user_id, id);
CREATE INDEX uploads_unfinished ON uploads (user_id) WHERE attachment_id IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at, id);
CREATE UNIQUE INDEX uploads_by_blob ON uploads (blob_key);
CREATE UNIQUE INDEX uploads_by_tail ON uploads (tail_key) WHERE tail_key IS NOT NULL;
