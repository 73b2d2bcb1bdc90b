-- How many files each user has uploaded on one day (days since 1970, UTC), if the operator limits them.
ALTER TABLE storage ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage ADD COLUMN files INTEGER NOT NULL DEFAULT 0;

-- 1: the file was to be scanned for viruses, and passed without.
ALTER TABLE attachments ADD COLUMN unscanned INTEGER NOT NULL DEFAULT 0;
