-- What members put on messages. Those of a message are read in their order.
CREATE TABLE reactions (
  message_id TEXT NOT NULL,
  place INTEGER NOT NULL, -- of the emoji among those of the message
  nth INTEGER NOT NULL, -- of the reaction among those with this emoji
  emoji TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (message_id, place, nth)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reactions_by_user ON reactions (user_id, message_id, emoji);

ALTER TABLE messages ADD COLUMN has_reactions INTEGER NOT NULL DEFAULT 0; -- 1: a reaction was added; it may be gone since
