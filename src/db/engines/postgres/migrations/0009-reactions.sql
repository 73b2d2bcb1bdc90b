-- What members put on messages. Those of a message are read in their order.
CREATE TABLE reactions (
  message_id TEXT COLLATE "C" NOT NULL,
  place BIGINT NOT NULL, -- of the emoji among those of the message
  nth BIGINT NOT NULL, -- of the reaction among those with this emoji
  emoji TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (message_id, place, nth)
);
CREATE UNIQUE INDEX reactions_by_user ON reactions (user_id, message_id, emoji);

ALTER TABLE messages ADD COLUMN has_reactions BIGINT NOT NULL DEFAULT 0; -- 1: a reaction was added; it may be gone since
