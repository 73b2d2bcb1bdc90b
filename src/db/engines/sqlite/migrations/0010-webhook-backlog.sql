-- The position of the first event that a webhook which is behind the cursor is still to be handed; null: it is not behind.
ALTER TABLE webhooks ADD COLUMN backlog_from INTEGER;
DROP INDEX webhooks_enabled;
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL AND backlog_from IS NULL;
CREATE INDEX webhooks_behind ON webhooks (id) WHERE disabled_at IS NULL AND backlog_from IS NOT NULL;

-- Webhooks that are deleted and whose deliveries are still to be erased, some at a time.
CREATE TABLE deleted_webhooks (
  id TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
