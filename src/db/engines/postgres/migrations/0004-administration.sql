-- What the administration shows. sqlite/migrations/0004-administration.sql explains the column.
-- Oldest version beside it: 21

ALTER TABLE tokens ADD COLUMN last_used_at BIGINT;
CREATE INDEX webhooks_failing ON webhooks (id) WHERE failing_since IS NOT NULL AND public_key IS NULL;
