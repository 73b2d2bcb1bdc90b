-- The words of messages, each with the key of its conversation before it. The row of a body has the body's id. Only words
-- are looked up, so neither texts nor positions are kept. A deleted word is overwritten, which `secure_delete` does not do here.
CREATE VIRTUAL TABLE message_index USING fts5 (words, content='', columnsize=0, detail=none, tokenize='ascii');
INSERT INTO message_index (message_index, rank) VALUES ('secure-delete', 1);

-- Bodies whose words are not in the index yet.
CREATE TABLE unindexed (
  body_id INTEGER PRIMARY KEY
) STRICT;

-- While there is a row, the index is being rebuilt: it has the bodies up to this one.
CREATE TABLE reindexing (
  after_id INTEGER PRIMARY KEY
) STRICT;
INSERT INTO reindexing (after_id) SELECT 0 WHERE EXISTS (SELECT 1 FROM messages);

-- The rule by which the texts in the index were split into words.
CREATE TABLE word_rule (
  rule TEXT PRIMARY KEY
) STRICT;

CREATE UNIQUE INDEX messages_by_body ON messages (body_id) WHERE body_id IS NOT NULL;
