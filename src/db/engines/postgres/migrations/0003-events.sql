-- As migrations/sqlite/0007-events.sql says, but that transactions commit in another order than they insert: so they leave
-- events in the outbox, and one node at a time gives them their numbers once they are committed.
CREATE TABLE events (
  position BIGINT NOT NULL PRIMARY KEY,
  recipient_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  payload TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX events_by_recipient ON events (recipient_id, number);

CREATE TABLE outbox (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recipient_id TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  payload TEXT COLLATE "C" NOT NULL
);

-- The last position that was given.
CREATE TABLE event_positions (
  last BIGINT NOT NULL
);
INSERT INTO event_positions (last) VALUES (0);

CREATE TABLE webhooks (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL,
  url TEXT COLLATE "C" NOT NULL,
  types TEXT COLLATE "C",
  all_users BIGINT NOT NULL,
  secret TEXT COLLATE "C" NOT NULL,
  old_secret TEXT COLLATE "C",
  old_until BIGINT,
  disabled_at BIGINT,
  failing_since BIGINT,
  since_position BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL
);
CREATE INDEX webhooks_by_user ON webhooks (user_id, id);
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL;
CREATE INDEX webhooks_of_all ON webhooks (id) WHERE all_users = 1;

CREATE TABLE deliveries (
  webhook_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  recipient_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  told_at BIGINT NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT,
  last_status BIGINT,
  last_error TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (webhook_id, id)
);
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_pending ON deliveries (webhook_id, conversation_id, position, id) WHERE state = 'pending';
CREATE INDEX deliveries_by_recipient ON deliveries (recipient_id);
CREATE INDEX deliveries_by_age ON deliveries (created_at);

CREATE TABLE webhook_cursor (
  id BIGINT NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL
);
