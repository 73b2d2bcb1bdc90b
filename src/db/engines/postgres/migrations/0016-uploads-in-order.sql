-- Unfinished uploads are listed newest first. In SQLite the index ends with the id by itself.
DROP INDEX uploads_unfinished;
CREATE INDEX uploads_unfinished ON uploads (user_id, id) WHERE attachment_id IS NULL;
