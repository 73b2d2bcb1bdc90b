-- See migrations/sqlite/0016-webhooks-of-all.sql.
CREATE INDEX webhooks_listed ON webhooks ((id || '')) WHERE public_key IS NULL;
