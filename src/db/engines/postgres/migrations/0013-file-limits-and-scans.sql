-- See migrations/sqlite/0017-file-limits-and-scans.sql.
ALTER TABLE storage ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attachments ADD COLUMN unscanned INTEGER NOT NULL DEFAULT 0;
