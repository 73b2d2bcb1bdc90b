-- Who has left a conversation, while rows of theirs are still to be erased: their grants up to this attachment do not
-- count any more, even after they join the conversation again.
CREATE TABLE departing (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  until_id TEXT NOT NULL, -- empty: no grants are left
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

-- Users that were deleted, while rows of theirs are still to be erased.
CREATE TABLE erasing (
  user_id TEXT NOT NULL PRIMARY KEY,
  username_key TEXT NOT NULL,
  conversation_id TEXT NOT NULL -- notes to self
) STRICT, WITHOUT ROWID;
