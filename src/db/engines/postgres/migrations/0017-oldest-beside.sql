-- Oldest version beside it: 16
-- The oldest schema version whose nodes may run on this schema.
ALTER TABLE schema_version ADD COLUMN oldest INTEGER;
