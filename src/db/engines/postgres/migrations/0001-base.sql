-- The schema of 0.1.0.
--
-- The same tables as in sqlite/migrations/0001-base.sql, which explains them; comments here say what differs.
-- Each table has one column by which it can be distributed (docs/scaling.md), and that column is in each of its unique keys.
-- Text is compared by its bytes, as in SQLite, so that cursors mean the same on both engines.

-- People

CREATE TABLE users (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  username TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL UNIQUE,
  phone_number TEXT COLLATE "C",
  display_name TEXT COLLATE "C",
  avatar_url TEXT COLLATE "C",
  conversation_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE erasing (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  username_key TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL
);
CREATE INDEX erasing_by_name ON erasing (username_key);

CREATE TABLE erased_names (
  name_hash BYTEA NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL
);

CREATE TABLE activity (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seen_at BIGINT NOT NULL
);

CREATE TABLE identities (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

CREATE TABLE tokens (
  hash BYTEA NOT NULL PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C",
  scopes TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT,
  created_at BIGINT NOT NULL
);
CREATE INDEX tokens_by_id ON tokens (id);
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_time ON tokens (expires_at);

CREATE TABLE revocations (
  count BIGINT NOT NULL
);
INSERT INTO revocations (count) VALUES (0);
-- Wakes the sessions of all nodes.
CREATE FUNCTION parley_tell_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NOTIFY parley_revocations;
  RETURN NULL;
END
$$;
CREATE TRIGGER tell_revocation AFTER UPDATE ON revocations
  FOR EACH STATEMENT EXECUTE FUNCTION parley_tell_revocation();

CREATE TABLE contacts (
  owner_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL,
  phone_digits TEXT COLLATE "C" NOT NULL,
  search_key TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  blocked_at BIGINT,
  version BIGINT NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  peer_id TEXT COLLATE "C",
  peer_since BIGINT,
  PRIMARY KEY (owner_id, id)
);
CREATE UNIQUE INDEX contacts_by_username ON contacts (owner_id, username_key);
CREATE INDEX contacts_by_phone ON contacts (owner_id, phone_digits, id);
CREATE INDEX contacts_blocked ON contacts (owner_id, (id || '')) WHERE blocked_at IS NOT NULL;

CREATE TABLE name_rule (
  rule TEXT PRIMARY KEY
);

CREATE TABLE blocks (
  owner_id TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL,
  username TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner_id, username_key)
);

-- Conversations and messages

CREATE TABLE conversations (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  last_id TEXT COLLATE "C" NOT NULL
);

CREATE TABLE members (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  joined_at BIGINT NOT NULL,
  since_id TEXT COLLATE "C" NOT NULL DEFAULT '',
  contact_id TEXT COLLATE "C",
  contact_joined BIGINT NOT NULL DEFAULT 0,
  role TEXT COLLATE "C",
  group_id TEXT COLLATE "C",
  member_id TEXT COLLATE "C",
  PRIMARY KEY (conversation_id, user_id)
);
CREATE UNIQUE INDEX members_by_group ON members (user_id, group_id) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX members_by_id ON members (group_id, member_id) WHERE group_id IS NOT NULL;

CREATE TABLE departures (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

CREATE TABLE departing (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  until_id TEXT COLLATE "C" NOT NULL,
  after_id TEXT COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (conversation_id, user_id)
);

CREATE TABLE joining (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  before_message_id TEXT COLLATE "C" NOT NULL,
  before_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

CREATE TABLE preparing (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  blocks TEXT COLLATE "C" NOT NULL,
  after_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX preparing_by_user ON preparing (user_id);

CREATE TABLE messages (
  conversation_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  sender_id TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  body_id BIGINT,
  has_files BIGINT NOT NULL,
  mentions TEXT COLLATE "C",
  reply_to_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  edited_at BIGINT,
  version BIGINT NOT NULL,
  has_reactions BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (conversation_id, id)
);
CREATE UNIQUE INDEX messages_by_id ON messages (id);
CREATE UNIQUE INDEX messages_by_body ON messages (body_id) WHERE body_id IS NOT NULL;

CREATE TABLE message_bodies (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  text TEXT COLLATE "C",
  data TEXT COLLATE "C"
);

CREATE TABLE withheld (
  user_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  from_id TEXT COLLATE "C" NOT NULL,
  to_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, conversation_id, from_id)
);

CREATE TABLE reactions (
  message_id TEXT COLLATE "C" NOT NULL,
  place BIGINT NOT NULL,
  nth BIGINT NOT NULL,
  emoji TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (message_id, place, nth)
);
CREATE UNIQUE INDEX reactions_by_user ON reactions (user_id, message_id, emoji);

CREATE TABLE places (
  user_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  position TEXT COLLATE "C",
  maybe_unread BIGINT NOT NULL DEFAULT 0,
  is_pinned BIGINT NOT NULL DEFAULT 0,
  is_archived BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, conversation_id)
);
CREATE UNIQUE INDEX places_by_position ON places (user_id, position) WHERE position IS NOT NULL;
CREATE INDEX places_unread ON places (user_id, position) WHERE maybe_unread = 1;
CREATE INDEX places_pinned ON places (user_id, position) WHERE is_pinned = 1;
CREATE INDEX places_archived ON places (user_id, position) WHERE is_archived = 1;

CREATE TABLE marks (
  user_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  last_read_id TEXT COLLATE "C" NOT NULL DEFAULT '',
  disclosed_read_id TEXT COLLATE "C" NOT NULL DEFAULT '',
  muted_until BIGINT,
  version BIGINT NOT NULL DEFAULT 1,
  PRIMARY KEY (user_id, conversation_id)
);

-- Groups

CREATE TABLE groups (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  conversation_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C",
  avatar_url TEXT COLLATE "C",
  history TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL
);

CREATE TABLE invitations (
  group_id TEXT COLLATE "C" NOT NULL,
  member_id TEXT COLLATE "C" NOT NULL,
  inviter_id TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL,
  username TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  declined_at BIGINT,
  PRIMARY KEY (group_id, member_id, inviter_id)
);
CREATE UNIQUE INDEX invitations_by_name ON invitations (username_key, group_id, inviter_id);
CREATE INDEX invitations_by_inviter ON invitations (inviter_id, username_key);

-- Files

CREATE TABLE attachments (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  conversation_id TEXT COLLATE "C" NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL,
  uploader_id TEXT COLLATE "C" NOT NULL,
  filename TEXT COLLATE "C" NOT NULL,
  file_type TEXT COLLATE "C" NOT NULL,
  file_size BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  blob_key TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL,
  crc32 BIGINT,
  unscanned INTEGER NOT NULL DEFAULT 0,
  width INTEGER,
  height INTEGER,
  placeholder TEXT COLLATE "C"
);
CREATE INDEX attachments_by_blob ON attachments (blob_key);
CREATE INDEX attachments_by_message ON attachments (conversation_id, message_id, id);

CREATE TABLE small_files (
  attachment_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  bytes BYTEA NOT NULL
);

CREATE TABLE grants (
  user_id TEXT COLLATE "C" NOT NULL,
  attachment_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, attachment_id)
);
CREATE INDEX grants_by_conversation ON grants (user_id, conversation_id, attachment_id);

CREATE TABLE uploads (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  user_id TEXT COLLATE "C" NOT NULL,
  filename TEXT COLLATE "C",
  declared_type TEXT COLLATE "C",
  conversation_id TEXT COLLATE "C",
  message_id TEXT COLLATE "C",
  length BIGINT,
  received BIGINT NOT NULL,
  blob_key TEXT COLLATE "C" NOT NULL,
  parts TEXT COLLATE "C",
  tail_key TEXT COLLATE "C",
  holder TEXT COLLATE "C" NOT NULL,
  attachment_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX uploads_by_user ON uploads (user_id, id);
CREATE INDEX uploads_by_expiry ON uploads (expires_at, id);
CREATE UNIQUE INDEX uploads_by_blob ON uploads (blob_key);
CREATE UNIQUE INDEX uploads_by_tail ON uploads (tail_key) WHERE tail_key IS NOT NULL;
-- Unfinished uploads are listed newest first. In SQLite the index ends with the primary key anyway.
CREATE INDEX uploads_unfinished ON uploads (user_id, id) WHERE attachment_id IS NULL;

CREATE TABLE intents (
  blob_key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);
CREATE INDEX intents_by_time ON intents (until);

CREATE TABLE tombstones (
  blob_key TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  created_at BIGINT NOT NULL
);
CREATE INDEX tombstones_by_time ON tombstones (created_at, blob_key);

CREATE TABLE holds (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);

CREATE TABLE storage (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  used BIGINT NOT NULL,
  day INTEGER NOT NULL DEFAULT 0,
  files INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE reservations (
  user_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  bytes BIGINT NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (user_id, id)
);
CREATE INDEX reservations_by_time ON reservations (until);

-- The record of writes

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

-- Transactions commit in another order than they insert. So they leave events here, and one node at a time numbers the
-- committed ones, transaction by transaction, so that the events of a change have successive positions.
CREATE TABLE outbox (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  recipient_id TEXT COLLATE "C" NOT NULL,
  type TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  payload TEXT COLLATE "C" NOT NULL,
  transaction_id BIGINT NOT NULL DEFAULT txid_current(),
  PRIMARY KEY (transaction_id, id)
);

-- The last position in use. One row.
CREATE TABLE event_positions (
  last BIGINT NOT NULL
);
INSERT INTO event_positions (last) VALUES (0);

CREATE TABLE idempotency (
  user_id TEXT COLLATE "C" NOT NULL,
  key_hash BYTEA NOT NULL,
  fingerprint BYTEA NOT NULL,
  result TEXT COLLATE "C" NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (user_id, key_hash)
);
CREATE INDEX idempotency_by_time ON idempotency (until);

CREATE TABLE audit (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  actor_id TEXT COLLATE "C",
  token_id TEXT COLLATE "C",
  action TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  details TEXT COLLATE "C"
);

-- Webhooks and push

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
  version BIGINT NOT NULL,
  backlog_from BIGINT,
  scopes TEXT COLLATE "C" NOT NULL DEFAULT 'contacts:read attachments:read',
  public_key TEXT COLLATE "C",
  token_id TEXT COLLATE "C",
  expires_at BIGINT
);
CREATE INDEX webhooks_by_user ON webhooks (user_id, id);
CREATE INDEX webhooks_of_all ON webhooks (id) WHERE all_users = 1;
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL AND backlog_from IS NULL;
CREATE INDEX webhooks_behind ON webhooks (id) WHERE disabled_at IS NULL AND backlog_from IS NOT NULL;
CREATE INDEX webhooks_by_token ON webhooks (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX webhooks_listed ON webhooks ((id || '')) WHERE public_key IS NULL;

CREATE TABLE deleted_webhooks (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

CREATE TABLE webhook_cursor (
  id BIGINT NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL
);

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
  last_position BIGINT,
  PRIMARY KEY (webhook_id, id)
);
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_pending ON deliveries (webhook_id, conversation_id, position, id) WHERE state = 'pending';
CREATE INDEX deliveries_by_recipient ON deliveries (recipient_id);
CREATE INDEX deliveries_by_age ON deliveries (created_at);

CREATE TABLE push_keys (
  id BIGINT NOT NULL PRIMARY KEY,
  private_key TEXT COLLATE "C" NOT NULL
);

-- Search

-- The words of messages, each with the key of its conversation before it, and the bodies that contain them.
CREATE TABLE indexed_words (
  word TEXT COLLATE "C" NOT NULL,
  body_id BIGINT NOT NULL,
  PRIMARY KEY (word, body_id)
);

-- Accepts the commands of SQLite's full-text index: words with spaces between them, `delete` with the same words, and
-- `delete-all`.
CREATE VIEW message_index AS SELECT NULL::TEXT AS message_index, body_id AS rowid, word AS words FROM indexed_words;
CREATE FUNCTION change_message_index() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.message_index = 'delete-all' THEN
    TRUNCATE indexed_words;
  ELSIF NEW.message_index = 'delete' THEN
    DELETE FROM indexed_words USING unnest(string_to_array(NEW.words, ' ')) AS gone (word)
      WHERE indexed_words.word = gone.word AND indexed_words.body_id = NEW.rowid;
  ELSE
    INSERT INTO indexed_words (word, body_id)
      SELECT word, NEW.rowid FROM unnest(string_to_array(NEW.words, ' ')) AS new (word);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER change_message_index INSTEAD OF INSERT ON message_index FOR EACH ROW EXECUTE FUNCTION change_message_index();

CREATE TABLE unindexed (
  body_id BIGINT PRIMARY KEY
);

CREATE TABLE reindexing (
  after_id BIGINT PRIMARY KEY
);

CREATE TABLE word_rule (
  rule TEXT PRIMARY KEY
);

-- Moves

CREATE TABLE moves (
  source TEXT COLLATE "C" NOT NULL
);

CREATE TABLE carried_secrets (
  secret TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  until BIGINT NOT NULL
);

-- After a move, ids of bodies continue after those that came with it.
CREATE FUNCTION parley_continue_bodies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM setval(pg_get_serial_sequence('message_bodies', 'id'), (SELECT COALESCE(MAX(id), 0) + 1 FROM message_bodies), false);
  RETURN NULL;
END $$;
CREATE TRIGGER continue_bodies AFTER DELETE ON moves
  FOR EACH STATEMENT EXECUTE FUNCTION parley_continue_bodies();
