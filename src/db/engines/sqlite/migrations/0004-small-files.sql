-- The bytes of small files. Their attachments have their own id as blob_key, which is no key of the blob store.
CREATE TABLE small_files (
  attachment_id TEXT NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE attachments ADD COLUMN crc32 INTEGER; -- of the file; null where it came before this was kept
