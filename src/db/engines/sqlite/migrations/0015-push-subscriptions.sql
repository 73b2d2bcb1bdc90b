-- A push subscription is a webhook whose receiver is a push server: its URL is the endpoint, its secret that of the device.
ALTER TABLE webhooks ADD COLUMN public_key TEXT; -- of the device; null: no push subscription
ALTER TABLE webhooks ADD COLUMN token_id TEXT; -- of the token that subscribed, with which it ends; null: a JWT did
ALTER TABLE webhooks ADD COLUMN expires_at INTEGER; -- when that token expires; null: never
CREATE INDEX webhooks_by_token ON webhooks (token_id) WHERE token_id IS NOT NULL;

-- The key pair that identifies the service to push servers; one row, made at the first start.
CREATE TABLE push_keys (
  id INTEGER PRIMARY KEY,
  private_key TEXT NOT NULL
) STRICT;
