-- See migrations/sqlite/0019-pictures.sql.
ALTER TABLE attachments ADD COLUMN width INTEGER;
ALTER TABLE attachments ADD COLUMN height INTEGER;
ALTER TABLE attachments ADD COLUMN placeholder TEXT COLLATE "C";
