-- Ids that clients give their messages. sqlite/migrations/0003-sync.sql explains the columns.

ALTER TABLE messages ADD COLUMN client_id TEXT COLLATE "C";

CREATE TABLE client_ids (
  user_id TEXT COLLATE "C" NOT NULL,
  client_id TEXT COLLATE "C" NOT NULL,
  fingerprint BYTEA NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL,
  until BIGINT,
  PRIMARY KEY (user_id, client_id)
);
CREATE INDEX client_ids_by_message ON client_ids (user_id, conversation_id, message_id) WHERE until IS NULL;
CREATE INDEX client_ids_by_time ON client_ids (until) WHERE until IS NOT NULL;
