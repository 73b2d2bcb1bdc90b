-- See migrations/sqlite/0019-file-limits.sql.
ALTER TABLE storage ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
