-- The steps from the first schema to that of 0.1.0 (migrations/0001-base.sql). They bring a database of an earlier version
-- forward, and are never edited. Each begins with the version that it brings the schema to. The comments of
-- sqlite/before-0.1.0.sql apply here, too.

-- Schema version 2: two users
ALTER TABLE contacts ADD COLUMN peer_id TEXT COLLATE "C";
ALTER TABLE contacts ADD COLUMN peer_since BIGINT;

-- A user's contacts and notes say which conversations the user is in.
DROP INDEX members_by_user;
-- The table storage counts the bytes of a user's files.
DROP INDEX attachments_by_uploader;

CREATE TABLE departures (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

CREATE TABLE erased_names (
  name_hash BYTEA NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL
);

CREATE TABLE activity (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seen_at BIGINT NOT NULL
);

CREATE TABLE storage (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  used BIGINT NOT NULL
);

CREATE TABLE reservations (
  user_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  bytes BIGINT NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (user_id, id)
);
CREATE INDEX reservations_by_time ON reservations (until);

CREATE TABLE idempotency (
  user_id TEXT COLLATE "C" NOT NULL,
  key_hash BYTEA NOT NULL,
  fingerprint BYTEA NOT NULL,
  result TEXT COLLATE "C" NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (user_id, key_hash)
);
CREATE INDEX idempotency_by_time ON idempotency (until);

CREATE TABLE identities (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Tokens are listed in pages, and deleted some time after they expire.
DROP INDEX tokens_by_user;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_time ON tokens (expires_at);

CREATE TABLE audit (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  actor_id TEXT COLLATE "C",
  token_id TEXT COLLATE "C",
  action TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  details TEXT COLLATE "C"
);

INSERT INTO storage (user_id, used)
  SELECT u.id, COALESCE((SELECT SUM(a.file_size) FROM grants g
    JOIN attachments a ON a.id = g.attachment_id AND a.uploader_id = g.user_id WHERE g.user_id = u.id), 0) FROM users u;

-- Until now, two users who had each other as contacts had one conversation each. From now on they share the older one: the
-- contents of the newer one move there, and each user sees what the other has sent, unless the user had blocked the other.
CREATE TEMP TABLE pairs ON COMMIT DROP AS
  SELECT newer.owner_id AS joining, newer.id AS contact_id, newer.conversation_id AS old, newer.blocked_at AS joining_blocks,
    older.owner_id AS other, older.id AS other_contact_id, older.conversation_id AS shared, older.blocked_at AS other_blocks
  FROM contacts newer
  JOIN users me ON me.id = newer.owner_id
  JOIN users them ON them.username_key = newer.username_key AND them.id <> me.id
  JOIN contacts older ON older.owner_id = them.id AND older.username_key = me.username_key
  WHERE newer.id > older.id;
CREATE UNIQUE INDEX pairs_by_contact ON pairs (contact_id);
CREATE UNIQUE INDEX pairs_by_other_contact ON pairs (other_contact_id);
CREATE UNIQUE INDEX pairs_by_old ON pairs (old);

UPDATE contacts SET
    peer_id = (SELECT other FROM pairs WHERE contact_id = contacts.id),
    peer_since = (SELECT joined_at FROM members WHERE conversation_id = contacts.conversation_id AND user_id = owner_id)
  WHERE (owner_id, id) IN (SELECT joining, contact_id FROM pairs WHERE other_blocks IS NULL);
UPDATE contacts SET
    peer_id = (SELECT joining FROM pairs WHERE other_contact_id = contacts.id),
    peer_since = (SELECT joined_at FROM members WHERE conversation_id = contacts.conversation_id AND user_id = owner_id)
  WHERE (owner_id, id) IN (SELECT other, other_contact_id FROM pairs WHERE joining_blocks IS NULL);

INSERT INTO grants (user_id, attachment_id, conversation_id)
  SELECT p.joining, a.id, p.shared FROM pairs p JOIN attachments a ON a.conversation_id = p.shared
  WHERE p.joining_blocks IS NULL;
UPDATE attachments SET conversation_id = (SELECT shared FROM pairs WHERE old = conversation_id)
  WHERE conversation_id IN (SELECT old FROM pairs);
UPDATE messages SET conversation_id = (SELECT shared FROM pairs WHERE old = conversation_id)
  WHERE conversation_id IN (SELECT old FROM pairs);
UPDATE grants SET conversation_id = (SELECT shared FROM pairs WHERE old = conversation_id)
  WHERE (user_id, conversation_id) IN (SELECT joining, old FROM pairs);
INSERT INTO grants (user_id, attachment_id, conversation_id)
  SELECT p.other, a.id, p.shared FROM pairs p
  JOIN attachments a ON a.conversation_id = p.shared AND a.uploader_id = p.joining
  WHERE p.other_blocks IS NULL;
UPDATE members SET conversation_id = (SELECT shared FROM pairs WHERE old = conversation_id)
  WHERE conversation_id IN (SELECT old FROM pairs);
-- A quote in a name is escaped by a backslash, so this text occurs nowhere else in the JSON.
UPDATE contacts SET
    body = replace(body, '"conversation_id":"' || conversation_id || '"', '"conversation_id":"' ||
      (SELECT shared FROM pairs WHERE contact_id = contacts.id) || '"'),
    conversation_id = (SELECT shared FROM pairs WHERE contact_id = contacts.id),
    version = version + 1
  WHERE (owner_id, id) IN (SELECT joining, contact_id FROM pairs);

-- Schema version 3: events
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

-- Schema version 4: contact filters
DROP INDEX contacts_blocked;
CREATE INDEX contacts_blocked ON contacts (owner_id, (id || '')) WHERE blocked_at IS NOT NULL;

-- Schema version 5: erasing
CREATE TABLE departing (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  until_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

CREATE TABLE erasing (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  username_key TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL
);

-- Schema version 6: webhook backlog
ALTER TABLE webhooks ADD COLUMN backlog_from BIGINT;
DROP INDEX webhooks_enabled;
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL AND backlog_from IS NULL;
CREATE INDEX webhooks_behind ON webhooks (id) WHERE disabled_at IS NULL AND backlog_from IS NOT NULL;

CREATE TABLE deleted_webhooks (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY
);

-- Schema version 7: messages
CREATE TEMP TABLE seen AS
  SELECT g.attachment_id, g.user_id FROM grants g
  JOIN members m ON m.conversation_id = g.conversation_id AND m.user_id = g.user_id
  WHERE g.attachment_id > COALESCE((SELECT d.until_id FROM departing d
    WHERE d.conversation_id = g.conversation_id AND d.user_id = g.user_id), '');
CREATE INDEX seen_by_attachment ON seen (attachment_id, user_id);

CREATE TEMP TABLE files AS
  SELECT a.id, a.conversation_id, a.message_id, a.created_at, COALESCE((SELECT string_agg(s.user_id, ' ' ORDER BY s.user_id)
    FROM seen s WHERE s.attachment_id = a.id), '') AS seen_by
  FROM attachments a;
CREATE TEMP TABLE parts AS
  SELECT message_id, seen_by, MIN(id) AS first_file, MIN(created_at) AS created_at,
    ROW_NUMBER() OVER (PARTITION BY message_id ORDER BY MIN(id)) AS nth
  FROM files GROUP BY message_id, seen_by;
CREATE TEMP TABLE parted AS
  SELECT f.id, p.message_id AS old_id, p.created_at,
    CASE WHEN p.nth = 1 THEN p.message_id ELSE 'msg_' || substr(p.first_file, 5) END AS new_id
  FROM files f JOIN parts p ON p.message_id = f.message_id AND p.seen_by = f.seen_by;
CREATE UNIQUE INDEX parted_by_file ON parted (id);

UPDATE attachments SET message_id = (SELECT new_id FROM parted WHERE id = attachments.id)
  WHERE id IN (SELECT id FROM parted WHERE new_id <> old_id);
DROP INDEX attachments_by_conversation;
CREATE INDEX attachments_by_message ON attachments (conversation_id, message_id, id);

CREATE TABLE sent (
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
  PRIMARY KEY (conversation_id, id)
);
INSERT INTO sent (conversation_id, id, sender_id, type, has_files, created_at, version)
  SELECT m.conversation_id, p.new_id, m.sender_id, 'text', 1,
    CASE WHEN p.new_id = p.old_id THEN m.created_at ELSE p.created_at END, 1
  FROM messages m JOIN (SELECT DISTINCT old_id, new_id, created_at FROM parted) p ON p.old_id = m.id
  ORDER BY m.conversation_id, p.new_id;
DROP TABLE messages;
ALTER TABLE sent RENAME TO messages;
ALTER INDEX sent_pkey RENAME TO messages_pkey;
CREATE UNIQUE INDEX messages_by_id ON messages (id);

CREATE TABLE message_bodies (
  id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  text TEXT COLLATE "C",
  data TEXT COLLATE "C"
);

CREATE FUNCTION parley_continue_bodies() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM setval(pg_get_serial_sequence('message_bodies', 'id'), (SELECT COALESCE(MAX(id), 0) + 1 FROM message_bodies), false);
  RETURN NULL;
END $$;
CREATE TRIGGER continue_bodies AFTER DELETE ON moves
  FOR EACH STATEMENT EXECUTE FUNCTION parley_continue_bodies();

CREATE TABLE conversations (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  last_id TEXT COLLATE "C" NOT NULL
);
INSERT INTO conversations (id, last_id) SELECT conversation_id, MAX(id) FROM messages GROUP BY conversation_id;

ALTER TABLE members ADD COLUMN since_id TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN contact_id TEXT COLLATE "C";
ALTER TABLE members ADD COLUMN contact_joined BIGINT NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN role TEXT COLLATE "C";
CREATE TEMP TABLE directs AS
  SELECT owner_id, conversation_id, MIN(id) AS contact_id FROM contacts GROUP BY owner_id, conversation_id;
CREATE UNIQUE INDEX directs_by_owner ON directs (owner_id, conversation_id);
UPDATE members SET contact_id = (SELECT contact_id FROM directs
  WHERE owner_id = members.user_id AND conversation_id = members.conversation_id);
UPDATE members SET contact_joined = 1 WHERE contact_id IS NOT NULL AND (
  EXISTS (SELECT 1 FROM members o WHERE o.conversation_id = members.conversation_id AND o.user_id <> members.user_id)
  OR EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = members.conversation_id
    AND d.user_id <> members.user_id)
  OR EXISTS (SELECT 1 FROM messages s WHERE s.conversation_id = members.conversation_id
    AND s.sender_id <> members.user_id));

CREATE TEMP TABLE views AS
  SELECT m.conversation_id, m.user_id, s.id, EXISTS (SELECT 1 FROM attachments a JOIN seen v ON v.attachment_id = a.id
    WHERE a.conversation_id = s.conversation_id AND a.message_id = s.id AND v.user_id = m.user_id) AS is_seen
  FROM members m JOIN messages s ON s.conversation_id = m.conversation_id;
CREATE UNIQUE INDEX views_by_member ON views (conversation_id, user_id, id);
UPDATE members SET since_id = COALESCE((SELECT MAX(v.id) FROM views v
    WHERE v.conversation_id = members.conversation_id AND v.user_id = members.user_id AND v.id < COALESCE(
      (SELECT MIN(f.id) FROM views f WHERE f.conversation_id = members.conversation_id
        AND f.user_id = members.user_id AND f.is_seen), '~')), '')
  WHERE EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = members.conversation_id
    AND d.user_id = members.user_id);

CREATE TABLE withheld (
  user_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  from_id TEXT COLLATE "C" NOT NULL,
  to_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, conversation_id, from_id)
);
INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
  SELECT user_id, conversation_id, MIN(id), MAX(id) FROM (
    SELECT v.user_id, v.conversation_id, v.id, v.is_seen,
      ROW_NUMBER() OVER (PARTITION BY v.conversation_id, v.user_id ORDER BY v.id)
        - ROW_NUMBER() OVER (PARTITION BY v.conversation_id, v.user_id, v.is_seen ORDER BY v.id) AS run
    FROM views v JOIN members m ON m.conversation_id = v.conversation_id AND m.user_id = v.user_id
    WHERE v.id > m.since_id) AS numbered
  WHERE NOT is_seen GROUP BY user_id, conversation_id, run;

CREATE TABLE places (
  user_id TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL,
  position TEXT COLLATE "C",
  maybe_unread BIGINT NOT NULL DEFAULT 0,
  is_pinned BIGINT NOT NULL DEFAULT 0,
  is_archived BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, conversation_id)
);
INSERT INTO places (user_id, conversation_id, position)
  SELECT m.user_id, m.conversation_id, substr(MAX(v.id), 5) FROM members m JOIN views v
    ON v.conversation_id = m.conversation_id AND v.user_id = m.user_id AND v.id > m.since_id AND v.is_seen
  GROUP BY m.user_id, m.conversation_id;
INSERT INTO places (user_id, conversation_id, position) SELECT id, conversation_id, substr(conversation_id, 5) FROM users
  ON CONFLICT (user_id, conversation_id) DO NOTHING;
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
INSERT INTO marks (user_id, conversation_id, last_read_id)
  SELECT m.user_id, m.conversation_id, c.last_id FROM members m JOIN conversations c ON c.id = m.conversation_id;

CREATE TABLE blocks (
  owner_id TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL,
  username TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner_id, username_key)
);
INSERT INTO blocks (owner_id, username_key, username, created_at)
  SELECT owner_id, username_key, body::json->>'username', blocked_at FROM contacts
  WHERE blocked_at IS NOT NULL;

ALTER TABLE departing ADD COLUMN after_id TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE departing SET until_id = COALESCE(
  (SELECT m.since_id FROM members m WHERE m.conversation_id = departing.conversation_id AND m.user_id = departing.user_id),
  (SELECT c.last_id FROM conversations c WHERE c.id = departing.conversation_id), '');

CREATE TABLE joining (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  before_message_id TEXT COLLATE "C" NOT NULL,
  before_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

DELETE FROM grants WHERE NOT EXISTS (SELECT 1 FROM departing d
    WHERE d.conversation_id = grants.conversation_id AND d.user_id = grants.user_id)
  AND NOT EXISTS (SELECT 1 FROM seen s WHERE s.attachment_id = grants.attachment_id AND s.user_id = grants.user_id)
  AND NOT EXISTS (SELECT 1 FROM erasing e WHERE e.user_id = grants.user_id);

UPDATE events SET payload = '{"id":"' || (payload::json->>'id') || '","conversation_id":"' || conversation_id || '"}'
  WHERE type LIKE 'attachment.%' AND payload <> '';
UPDATE outbox SET payload = '{"id":"' || (payload::json->>'id') || '","conversation_id":"' || conversation_id || '"}'
  WHERE type LIKE 'attachment.%';
UPDATE deliveries SET payload = '{"id":"' || (payload::json->>'id') || '","conversation_id":"' || conversation_id || '"}'
  WHERE type LIKE 'attachment.%';
UPDATE idempotency SET result = json_build_object('id', result::json->'id', 'message_id', result::json->'message_id')::text
  WHERE result LIKE '{"id":"att\_%';
UPDATE idempotency SET result = (SELECT json_build_object('id', made->'id', 'conversation_id', made->'conversation_id',
    'created_at', made->'created_at')::text FROM (SELECT (result::json #>> '{}')::json AS made) AS old)
  WHERE result LIKE '"{\"id\":\"con^_%' ESCAPE '^';
UPDATE audit SET details = NULL WHERE action IN ('attachment.renamed', 'attachment.deleted');

UPDATE webhooks SET types = 'attachment.created attachment.deleted attachment.updated contact.created contact.deleted contact.updated webhook.disabled'
  WHERE types IS NULL;
UPDATE tokens SET scopes = scopes || ' messages:read messages:write groups:read groups:write'
  WHERE ' ' || scopes || ' ' LIKE '% contacts:read %' AND ' ' || scopes || ' ' LIKE '% contacts:write %'
    AND ' ' || scopes || ' ' LIKE '% attachments:read %' AND ' ' || scopes || ' ' LIKE '% attachments:write %'
    AND ' ' || scopes || ' ' LIKE '% events:read %';

ALTER TABLE webhooks ADD COLUMN scopes TEXT COLLATE "C" NOT NULL DEFAULT 'contacts:read attachments:read';

ALTER TABLE deliveries ADD COLUMN last_position BIGINT;
ALTER TABLE outbox ADD COLUMN transaction_id BIGINT NOT NULL DEFAULT txid_current();
ALTER TABLE outbox DROP CONSTRAINT outbox_pkey;
ALTER TABLE outbox ADD PRIMARY KEY (transaction_id, id);

DROP TABLE seen;
DROP TABLE files;
DROP TABLE parts;
DROP TABLE parted;
DROP TABLE directs;
DROP TABLE views;

-- Schema version 8: groups
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

ALTER TABLE members ADD COLUMN group_id TEXT COLLATE "C";
ALTER TABLE members ADD COLUMN member_id TEXT COLLATE "C";
CREATE UNIQUE INDEX members_by_group ON members (user_id, group_id) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX members_by_id ON members (group_id, member_id) WHERE group_id IS NOT NULL;

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

CREATE TABLE preparing (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  blocks TEXT COLLATE "C" NOT NULL,
  after_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX preparing_by_user ON preparing (user_id);
CREATE INDEX erasing_by_name ON erasing (username_key);

-- Schema version 9: reactions
CREATE TABLE reactions (
  message_id TEXT COLLATE "C" NOT NULL,
  place BIGINT NOT NULL,
  nth BIGINT NOT NULL,
  emoji TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (message_id, place, nth)
);
CREATE UNIQUE INDEX reactions_by_user ON reactions (user_id, message_id, emoji);

ALTER TABLE messages ADD COLUMN has_reactions BIGINT NOT NULL DEFAULT 0;

-- Schema version 10: search
CREATE TABLE indexed_words (
  word TEXT COLLATE "C" NOT NULL,
  body_id BIGINT NOT NULL,
  PRIMARY KEY (word, body_id)
);

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
INSERT INTO reindexing (after_id) SELECT 0 WHERE EXISTS (SELECT 1 FROM messages);

CREATE TABLE word_rule (
  rule TEXT PRIMARY KEY
);

CREATE UNIQUE INDEX messages_by_body ON messages (body_id) WHERE body_id IS NOT NULL;

-- Schema version 11: push subscriptions
ALTER TABLE webhooks ADD COLUMN public_key TEXT COLLATE "C";
ALTER TABLE webhooks ADD COLUMN token_id TEXT COLLATE "C";
ALTER TABLE webhooks ADD COLUMN expires_at BIGINT;
CREATE INDEX webhooks_by_token ON webhooks (token_id) WHERE token_id IS NOT NULL;

CREATE TABLE push_keys (
  id BIGINT NOT NULL PRIMARY KEY,
  private_key TEXT COLLATE "C" NOT NULL
);

-- Schema version 12: webhooks of all
CREATE INDEX webhooks_listed ON webhooks ((id || '')) WHERE public_key IS NULL;

-- Schema version 13: file limits and scans
ALTER TABLE storage ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attachments ADD COLUMN unscanned INTEGER NOT NULL DEFAULT 0;

-- Schema version 14: uploads
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
CREATE INDEX uploads_unfinished ON uploads (user_id) WHERE attachment_id IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at, id);
CREATE UNIQUE INDEX uploads_by_blob ON uploads (blob_key);
CREATE UNIQUE INDEX uploads_by_tail ON uploads (tail_key) WHERE tail_key IS NOT NULL;

-- Schema version 15: pictures
ALTER TABLE attachments ADD COLUMN width INTEGER;
ALTER TABLE attachments ADD COLUMN height INTEGER;
ALTER TABLE attachments ADD COLUMN placeholder TEXT COLLATE "C";

-- Schema version 16: uploads in order
DROP INDEX uploads_unfinished;
CREATE INDEX uploads_unfinished ON uploads (user_id, id) WHERE attachment_id IS NULL;

-- Schema version 17: oldest beside
ALTER TABLE schema_version ADD COLUMN oldest INTEGER;

-- Schema version 18: names and mentions
CREATE TABLE name_rule (
  rule TEXT PRIMARY KEY
);

-- Mentions by an edit are pushed, too.
UPDATE webhooks SET types = 'message.created message.mentioned' WHERE public_key IS NOT NULL;

-- Schema version 19: hidden files
-- A file no longer counts in its uploader's storage once the uploader deletes the message for themselves. Until now it
-- counted while somebody else saw it, by a grant that the uploader kept.
UPDATE storage SET used = used - hidden.bytes
  FROM (SELECT w.user_id, SUM(a.file_size) AS bytes FROM withheld w
    JOIN attachments a ON a.conversation_id = w.conversation_id AND a.message_id >= w.from_id AND a.message_id <= w.to_id
      AND a.uploader_id = w.user_id
    JOIN grants g ON g.user_id = w.user_id AND g.attachment_id = a.id
    GROUP BY w.user_id) AS hidden
  WHERE hidden.user_id = storage.user_id;
DELETE FROM grants WHERE (user_id, attachment_id) IN (
  SELECT w.user_id, a.id FROM withheld w
    JOIN attachments a ON a.conversation_id = w.conversation_id AND a.message_id >= w.from_id AND a.message_id <= w.to_id
      AND a.uploader_id = w.user_id);
