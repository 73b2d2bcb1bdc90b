-- See migrations/sqlite/0018-uploads.sql.
CREATE TABLE uploads (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL,
  filename TEXT COLLATE "C",
  declared_type TEXT COLLATE "C",
  conversation_id TEXT COLLATE "C",
  message_id TEXT COLLATE "C",
  length BIGINT,
  received BIGINT NOT NULL,
  blob_key TEXT COLLATE "C" NOT NULL,
  parts TEXT COLLATE "C",
  tail_key TEXT COLLATE "C",
  holder TEXT COLLATE "C" NOT NULL,
  attachment_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX uploads_by_user ON uploads (user_id, id);
CREATE INDEX uploads_unfinished ON uploads (user_id) WHERE attachment_id IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at, id);
CREATE UNIQUE INDEX uploads_by_blob ON uploads (blob_key);
CREATE UNIQUE INDEX uploads_by_tail ON uploads (tail_key) WHERE tail_key IS NOT NULL;
