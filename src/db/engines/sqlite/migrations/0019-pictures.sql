-- Pixels of a picture as it is shown; null: no picture, or older than these columns.
ALTER TABLE attachments ADD COLUMN width INTEGER;
ALTER TABLE attachments ADD COLUMN height INTEGER;
ALTER TABLE attachments ADD COLUMN placeholder TEXT; -- a ThumbHash in base64, once a preview was made
