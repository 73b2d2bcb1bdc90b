-- See migrations/sqlite/0010-webhook-backlog.sql.
ALTER TABLE webhooks ADD COLUMN backlog_from BIGINT;
DROP INDEX webhooks_enabled;
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL AND backlog_from IS NULL;
CREATE INDEX webhooks_behind ON webhooks (id) WHERE disabled_at IS NULL AND backlog_from IS NOT NULL;

CREATE TABLE deleted_webhooks (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);
