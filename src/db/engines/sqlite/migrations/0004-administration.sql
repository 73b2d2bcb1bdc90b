-- What the administration shows.

ALTER TABLE tokens ADD COLUMN last_used_at INTEGER; -- milliseconds; null: not since this migration
CREATE INDEX webhooks_failing ON webhooks (id) WHERE failing_since IS NOT NULL AND public_key IS NULL;
