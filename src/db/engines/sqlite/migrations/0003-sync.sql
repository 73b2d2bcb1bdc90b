-- Ids that clients give their messages.

ALTER TABLE messages ADD COLUMN client_id TEXT; -- null: the client gave none

-- The ids with which users have sent messages, so that sending one again creates no second message.
CREATE TABLE client_ids (
  user_id TEXT NOT NULL, -- the sender
  client_id TEXT NOT NULL,
  fingerprint BLOB NOT NULL, -- SHA-256 of the request
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  until INTEGER, -- null: the sender sees the message
  PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX client_ids_by_message ON client_ids (user_id, conversation_id, message_id) WHERE until IS NULL;
CREATE INDEX client_ids_by_time ON client_ids (until) WHERE until IS NOT NULL;
