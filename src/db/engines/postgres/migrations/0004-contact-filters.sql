-- An index on an expression, which the query names too, is the only one that has the order. The planner cannot choose the
-- primary key, which finds the same ids in the same order, but among contacts that are not blocked.
DROP INDEX contacts_blocked;
CREATE INDEX contacts_blocked ON contacts (owner_id, (id || '')) WHERE blocked_at IS NOT NULL;
