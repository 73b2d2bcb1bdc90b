-- See migrations/sqlite/0015-push-subscriptions.sql.
ALTER TABLE webhooks ADD COLUMN public_key TEXT COLLATE "C";
ALTER TABLE webhooks ADD COLUMN token_id TEXT COLLATE "C";
ALTER TABLE webhooks ADD COLUMN expires_at BIGINT;
CREATE INDEX webhooks_by_token ON webhooks (token_id) WHERE token_id IS NOT NULL;

CREATE TABLE push_keys (
  id BIGINT NOT NULL PRIMARY KEY,
  private_key TEXT COLLATE "C" NOT NULL
);
