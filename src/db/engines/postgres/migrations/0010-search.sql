-- The words of messages, each with the key of its conversation before it, and the bodies that have them.
CREATE TABLE indexed_words (
  word TEXT COLLATE "C" NOT NULL,
  body_id BIGINT NOT NULL,
  PRIMARY KEY (word, body_id)
);

-- Takes what SQLite's full-text index takes: words with spaces between them, `delete` with the same words, `delete-all`.
CREATE VIEW message_index AS SELECT NULL::TEXT AS message_index, body_id AS rowid, word AS words FROM indexed_words;
CREATE FUNCTION change_message_index() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.message_index = 'delete-all' THEN
    TRUNCATE indexed_words;
  ELSIF NEW.message_index = 'delete' THEN
    DELETE FROM indexed_words USING unnest(string_to_array(NEW.words, ' ')) AS gone (word)
      WHERE indexed_words.word = gone.word AND indexed_words.body_id = NEW.rowid;
  ELSE
    INSERT INTO indexed_words (word, body_id)
      SELECT word, NEW.rowid FROM unnest(string_to_array(NEW.words, ' ')) AS new (word);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER change_message_index INSTEAD OF INSERT ON message_index FOR EACH ROW EXECUTE FUNCTION change_message_index();

-- Bodies whose words are not in the index yet.
CREATE TABLE unindexed (
  body_id BIGINT PRIMARY KEY
);

-- While there is a row, the index is being rebuilt: it has the bodies up to this one.
CREATE TABLE reindexing (
  after_id BIGINT PRIMARY KEY
);
INSERT INTO reindexing (after_id) SELECT 0 WHERE EXISTS (SELECT 1 FROM messages);

-- The rule by which the texts in the index were split into words.
CREATE TABLE word_rule (
  rule TEXT PRIMARY KEY
);

CREATE UNIQUE INDEX messages_by_body ON messages (body_id) WHERE body_id IS NOT NULL;
