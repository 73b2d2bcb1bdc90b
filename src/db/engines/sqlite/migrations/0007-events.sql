-- What has happened, one row for each user who may see it: in the order in which it was committed (position), and by the
-- recipient's own count (number), which has no gaps.
CREATE TABLE events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  recipient_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  type TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  payload TEXT NOT NULL -- JSON; empty once it was erased, where it is the recipient's last
) STRICT;
CREATE UNIQUE INDEX events_by_recipient ON events (recipient_id, number);

-- Where writes leave events. One writer commits all of them, so they are given their numbers at once.
CREATE VIEW outbox AS
  SELECT 0 AS id, recipient_id, type, conversation_id, created_at, payload FROM events WHERE false;
CREATE TRIGGER number_event INSTEAD OF INSERT ON outbox BEGIN
  INSERT INTO events (recipient_id, number, type, conversation_id, created_at, payload)
  VALUES (new.recipient_id,
    (SELECT COALESCE(MAX(number), 0) + 1 FROM events WHERE recipient_id = new.recipient_id),
    new.type, new.conversation_id, new.created_at, new.payload);
END;

-- Addresses that events are sent to.
CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  url TEXT NOT NULL,
  types TEXT, -- separated by spaces; null: all
  all_users INTEGER NOT NULL, -- 1: it sees everybody's events
  secret TEXT NOT NULL,
  old_secret TEXT, -- signs as well until that time
  old_until INTEGER,
  disabled_at INTEGER,
  failing_since INTEGER, -- nothing was taken since; null: the last was
  since_position INTEGER NOT NULL, -- events up to this one were there before it
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_by_user ON webhooks (user_id, id);
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL;
CREATE INDEX webhooks_of_all ON webhooks (id) WHERE all_users = 1;

-- What was, or is to be, sent to a webhook: a copy of the event, which may be erased before.
CREATE TABLE deliveries (
  webhook_id TEXT NOT NULL,
  id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  position INTEGER NOT NULL, -- of the event: in this order those of a conversation are sent
  recipient_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  type TEXT NOT NULL,
  told_at INTEGER NOT NULL, -- the time of the event
  payload TEXT NOT NULL,
  state TEXT NOT NULL, -- pending, delivered, failed
  attempts INTEGER NOT NULL,
  next_at INTEGER, -- of a pending one that waits for no other of its conversation
  last_status INTEGER,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (webhook_id, id)
) STRICT;
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_pending ON deliveries (webhook_id, conversation_id, position, id) WHERE state = 'pending';
CREATE INDEX deliveries_by_recipient ON deliveries (recipient_id);
CREATE INDEX deliveries_by_age ON deliveries (created_at);

-- The position up to which events were handed to webhooks; one row.
CREATE TABLE webhook_cursor (
  id INTEGER PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT;
