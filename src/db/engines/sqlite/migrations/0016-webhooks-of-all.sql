-- The webhooks of all users in the order of their list, among push subscriptions, which may be many. On an expression, as
-- contacts_blocked: the planner prefers the primary key otherwise.
CREATE INDEX webhooks_listed ON webhooks ((id || '')) WHERE public_key IS NULL;
