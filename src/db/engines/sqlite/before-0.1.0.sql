-- The steps from the first schema to that of 0.1.0 (migrations/0001-base.sql, which explains the tables). They bring a database
-- of an earlier version forward, and are never edited. Each begins with the version that it brings the schema to.

-- Schema version 2: holds
CREATE TABLE holds (
  name TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Schema version 3: contact body
CREATE TABLE contacts_with_body (
  owner_id TEXT NOT NULL,
  id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  phone_digits TEXT NOT NULL,
  search_key TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  blocked_at INTEGER,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (owner_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO contacts_with_body
  SELECT owner_id, id, username_key, phone_digits, search_key, conversation_id, blocked_at, version,
    json_object('id', id, 'username', username, 'phone_number', phone_number, 'avatar_url', avatar_url,
      'display_name', display_name, 'conversation_id', conversation_id, 'last_active_at', NULL,
      'created_at', created_at / 1000)
  FROM contacts ORDER BY owner_id, id;
DROP TABLE contacts;
ALTER TABLE contacts_with_body RENAME TO contacts;
CREATE UNIQUE INDEX contacts_by_username ON contacts (owner_id, username_key);
CREATE INDEX contacts_by_phone ON contacts (owner_id, phone_digits, id);
CREATE INDEX contacts_blocked ON contacts (owner_id, id) WHERE blocked_at IS NOT NULL;

-- Nothing read it: a conversation exists as long as it has a member.
DROP TABLE conversations;

CREATE TABLE revocations (
  count INTEGER NOT NULL
) STRICT;
INSERT INTO revocations (count) VALUES (0);

-- Schema version 4: small files
CREATE TABLE small_files (
  attachment_id TEXT NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE attachments ADD COLUMN crc32 INTEGER;

-- Schema version 5: engines
CREATE TABLE intents (
  blob_key TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX intents_by_time ON intents (until);

CREATE TABLE moves (
  source TEXT NOT NULL
) STRICT;

CREATE TABLE carried_secrets (
  secret TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Schema version 6: two users
ALTER TABLE contacts ADD COLUMN peer_id TEXT;
ALTER TABLE contacts ADD COLUMN peer_since INTEGER;

-- A user's contacts and notes say which conversations the user is in.
DROP INDEX members_by_user;
-- The table storage counts the bytes of a user's files.
DROP INDEX attachments_by_uploader;

CREATE TABLE departures (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE erased_names (
  name_hash BLOB NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE activity (
  user_id TEXT NOT NULL PRIMARY KEY,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE storage (
  user_id TEXT NOT NULL PRIMARY KEY,
  used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_by_time ON reservations (until);

CREATE TABLE idempotency (
  user_id TEXT NOT NULL,
  key_hash BLOB NOT NULL,
  fingerprint BLOB NOT NULL,
  result TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (user_id, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (until);

CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id);

-- Tokens are listed in pages, and deleted some time after they expire.
DROP INDEX tokens_by_user;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_time ON tokens (expires_at);

CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  actor_id TEXT,
  token_id TEXT,
  action TEXT NOT NULL,
  object_id TEXT NOT NULL,
  details TEXT
) STRICT, WITHOUT ROWID;

INSERT INTO storage (user_id, used)
  SELECT u.id, COALESCE((SELECT SUM(a.file_size) FROM grants g
    JOIN attachments a ON a.id = g.attachment_id AND a.uploader_id = g.user_id WHERE g.user_id = u.id), 0) FROM users u;

-- Until now, two users who had each other as contacts had one conversation each. From now on they share the older one: the
-- contents of the newer one move there, and each user sees what the other has sent, unless the user had blocked the other.
CREATE TEMP TABLE pairs AS
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
DROP TABLE pairs;

-- Schema version 7: events
CREATE TABLE events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  recipient_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  type TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  payload TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_recipient ON events (recipient_id, number);

CREATE VIEW outbox AS
  SELECT 0 AS id, recipient_id, type, conversation_id, created_at, payload FROM events WHERE false;
CREATE TRIGGER number_event INSTEAD OF INSERT ON outbox BEGIN
  INSERT INTO events (recipient_id, number, type, conversation_id, created_at, payload)
  VALUES (new.recipient_id,
    (SELECT COALESCE(MAX(number), 0) + 1 FROM events WHERE recipient_id = new.recipient_id),
    new.type, new.conversation_id, new.created_at, new.payload);
END;

CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  url TEXT NOT NULL,
  types TEXT,
  all_users INTEGER NOT NULL,
  secret TEXT NOT NULL,
  old_secret TEXT,
  old_until INTEGER,
  disabled_at INTEGER,
  failing_since INTEGER,
  since_position INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT;
CREATE INDEX webhooks_by_user ON webhooks (user_id, id);
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL;
CREATE INDEX webhooks_of_all ON webhooks (id) WHERE all_users = 1;

CREATE TABLE deliveries (
  webhook_id TEXT NOT NULL,
  id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  recipient_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  type TEXT NOT NULL,
  told_at INTEGER NOT NULL,
  payload TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  next_at INTEGER,
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

CREATE TABLE webhook_cursor (
  id INTEGER PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT;

-- Schema version 8: contact filters
DROP INDEX contacts_blocked;
CREATE INDEX contacts_blocked ON contacts (owner_id, (id || '')) WHERE blocked_at IS NOT NULL;

-- Schema version 9: erasing
CREATE TABLE departing (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  until_id TEXT NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE erasing (
  user_id TEXT NOT NULL PRIMARY KEY,
  username_key TEXT NOT NULL,
  conversation_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Schema version 10: webhook backlog
ALTER TABLE webhooks ADD COLUMN backlog_from INTEGER;
DROP INDEX webhooks_enabled;
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL AND backlog_from IS NULL;
CREATE INDEX webhooks_behind ON webhooks (id) WHERE disabled_at IS NULL AND backlog_from IS NOT NULL;

CREATE TABLE deleted_webhooks (
  id TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Schema version 11: messages
-- Who could see which file until now: grants of members that no departure has ended.
CREATE TEMP TABLE seen AS
  SELECT g.attachment_id, g.user_id FROM grants g
  JOIN members m ON m.conversation_id = g.conversation_id AND m.user_id = g.user_id
  WHERE g.attachment_id > COALESCE((SELECT d.until_id FROM departing d
    WHERE d.conversation_id = g.conversation_id AND d.user_id = g.user_id), '');
CREATE INDEX temp.seen_by_attachment ON seen (attachment_id, user_id);

-- A message is seen as a whole. One whose files went to different users becomes one message for each set of users; the
-- message of the first file keeps its id.
CREATE TEMP TABLE files AS
  SELECT a.id, a.conversation_id, a.message_id, a.created_at, COALESCE((SELECT group_concat(s.user_id, ' ')
    FROM (SELECT user_id FROM seen WHERE attachment_id = a.id ORDER BY user_id) s), '') AS seen_by
  FROM attachments a;
CREATE TEMP TABLE parts AS
  SELECT message_id, seen_by, MIN(id) AS first_file, MIN(created_at) AS created_at,
    ROW_NUMBER() OVER (PARTITION BY message_id ORDER BY MIN(id)) AS nth
  FROM files GROUP BY message_id, seen_by;
CREATE TEMP TABLE parted AS
  SELECT f.id, p.message_id AS old_id, p.created_at,
    CASE WHEN p.nth = 1 THEN p.message_id ELSE 'msg_' || substr(p.first_file, 5) END AS new_id
  FROM files f JOIN parts p ON p.message_id = f.message_id AND p.seen_by = f.seen_by;
CREATE UNIQUE INDEX temp.parted_by_file ON parted (id);

UPDATE attachments SET message_id = (SELECT new_id FROM parted WHERE id = attachments.id)
  WHERE id IN (SELECT id FROM parted WHERE new_id <> old_id);
DROP INDEX attachments_by_conversation;
CREATE INDEX attachments_by_message ON attachments (conversation_id, message_id, id);

CREATE TABLE sent (
  conversation_id TEXT NOT NULL,
  id TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  type TEXT NOT NULL,
  body_id INTEGER,
  has_files INTEGER NOT NULL,
  mentions TEXT,
  reply_to_id TEXT,
  created_at INTEGER NOT NULL,
  edited_at INTEGER,
  version INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO sent (conversation_id, id, sender_id, type, has_files, created_at, version)
  SELECT m.conversation_id, p.new_id, m.sender_id, 'text', 1,
    CASE WHEN p.new_id = p.old_id THEN m.created_at ELSE p.created_at END, 1
  FROM messages m JOIN (SELECT DISTINCT old_id, new_id, created_at FROM parted) p ON p.old_id = m.id
  ORDER BY m.conversation_id, p.new_id;
DROP TABLE messages;
ALTER TABLE sent RENAME TO messages;
CREATE UNIQUE INDEX messages_by_id ON messages (id);

CREATE TABLE message_bodies (
  id INTEGER PRIMARY KEY,
  text TEXT,
  data TEXT
) STRICT;

CREATE TABLE conversations (
  id TEXT NOT NULL PRIMARY KEY,
  last_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO conversations (id, last_id) SELECT conversation_id, MAX(id) FROM messages GROUP BY conversation_id;

ALTER TABLE members ADD COLUMN since_id TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN contact_id TEXT;
ALTER TABLE members ADD COLUMN contact_joined INTEGER NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN role TEXT;
CREATE TEMP TABLE directs AS
  SELECT owner_id, conversation_id, MIN(id) AS contact_id FROM contacts GROUP BY owner_id, conversation_id;
CREATE UNIQUE INDEX temp.directs_by_owner ON directs (owner_id, conversation_id);
UPDATE members SET contact_id = (SELECT contact_id FROM directs
  WHERE owner_id = members.user_id AND conversation_id = members.conversation_id);
UPDATE members SET contact_joined = 1 WHERE contact_id IS NOT NULL AND (
  EXISTS (SELECT 1 FROM members o WHERE o.conversation_id = members.conversation_id AND o.user_id <> members.user_id)
  OR EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = members.conversation_id
    AND d.user_id <> members.user_id)
  OR EXISTS (SELECT 1 FROM messages s WHERE s.conversation_id = members.conversation_id
    AND s.sender_id <> members.user_id));

-- Which messages each member sees: the files of a message now have the same viewers.
CREATE TEMP TABLE views AS
  SELECT m.conversation_id, m.user_id, s.id, EXISTS (SELECT 1 FROM attachments a JOIN seen v ON v.attachment_id = a.id
    WHERE a.conversation_id = s.conversation_id AND a.message_id = s.id AND v.user_id = m.user_id) AS is_seen
  FROM members m JOIN messages s ON s.conversation_id = m.conversation_id;
CREATE UNIQUE INDEX temp.views_by_member ON views (conversation_id, user_id, id);
-- A member who had left and returned sees nothing from before the return.
UPDATE members SET since_id = COALESCE((SELECT MAX(v.id) FROM views v
    WHERE v.conversation_id = members.conversation_id AND v.user_id = members.user_id AND v.id < COALESCE(
      (SELECT MIN(f.id) FROM views f WHERE f.conversation_id = members.conversation_id
        AND f.user_id = members.user_id AND f.is_seen), '~')), '')
  WHERE EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = members.conversation_id
    AND d.user_id = members.user_id);

CREATE TABLE withheld (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  from_id TEXT NOT NULL,
  to_id TEXT NOT NULL,
  PRIMARY KEY (user_id, conversation_id, from_id)
) STRICT, WITHOUT ROWID;
INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
  SELECT user_id, conversation_id, MIN(id), MAX(id) FROM (
    SELECT v.user_id, v.conversation_id, v.id, v.is_seen,
      ROW_NUMBER() OVER (PARTITION BY v.conversation_id, v.user_id ORDER BY v.id)
        - ROW_NUMBER() OVER (PARTITION BY v.conversation_id, v.user_id, v.is_seen ORDER BY v.id) AS run
    FROM views v JOIN members m ON m.conversation_id = v.conversation_id AND m.user_id = v.user_id
    WHERE v.id > m.since_id) AS numbered
  WHERE NOT is_seen GROUP BY user_id, conversation_id, run;

CREATE TABLE places (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  position TEXT,
  maybe_unread INTEGER NOT NULL DEFAULT 0,
  is_pinned INTEGER NOT NULL DEFAULT 0,
  is_archived INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, conversation_id)
) STRICT, WITHOUT ROWID;
INSERT INTO places (user_id, conversation_id, position)
  SELECT m.user_id, m.conversation_id, substr(MAX(v.id), 5) FROM members m JOIN views v
    ON v.conversation_id = m.conversation_id AND v.user_id = m.user_id AND v.id > m.since_id AND v.is_seen
  GROUP BY m.user_id, m.conversation_id;
INSERT INTO places (user_id, conversation_id, position) SELECT id, conversation_id, substr(conversation_id, 5) FROM users
  WHERE true ON CONFLICT (user_id, conversation_id) DO NOTHING;
CREATE UNIQUE INDEX places_by_position ON places (user_id, position) WHERE position IS NOT NULL;
CREATE INDEX places_unread ON places (user_id, position) WHERE maybe_unread = 1;
CREATE INDEX places_pinned ON places (user_id, position) WHERE is_pinned = 1;
CREATE INDEX places_archived ON places (user_id, position) WHERE is_archived = 1;

CREATE TABLE marks (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  last_read_id TEXT NOT NULL DEFAULT '',
  disclosed_read_id TEXT NOT NULL DEFAULT '',
  muted_until INTEGER,
  version INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (user_id, conversation_id)
) STRICT, WITHOUT ROWID;
INSERT INTO marks (user_id, conversation_id, last_read_id)
  SELECT m.user_id, m.conversation_id, c.last_id FROM members m JOIN conversations c ON c.id = m.conversation_id;

CREATE TABLE blocks (
  owner_id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  username TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, username_key)
) STRICT, WITHOUT ROWID;
INSERT INTO blocks (owner_id, username_key, username, created_at)
  SELECT owner_id, username_key, json_extract(body, '$.username'), blocked_at FROM contacts
  WHERE blocked_at IS NOT NULL;

ALTER TABLE departing ADD COLUMN after_id TEXT NOT NULL DEFAULT '';
UPDATE departing SET until_id = COALESCE(
  (SELECT m.since_id FROM members m WHERE m.conversation_id = departing.conversation_id AND m.user_id = departing.user_id),
  (SELECT c.last_id FROM conversations c WHERE c.id = departing.conversation_id), '');

CREATE TABLE joining (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  before_message_id TEXT NOT NULL,
  before_id TEXT NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

-- Only grants of files that their users still see stay.
DELETE FROM grants WHERE NOT EXISTS (SELECT 1 FROM departing d
    WHERE d.conversation_id = grants.conversation_id AND d.user_id = grants.user_id)
  AND NOT EXISTS (SELECT 1 FROM seen s WHERE s.attachment_id = grants.attachment_id AND s.user_id = grants.user_id)
  AND NOT EXISTS (SELECT 1 FROM erasing e WHERE e.user_id = grants.user_id);

-- Events and results only refer to files and contacts, so that no deleted text remains in them.
UPDATE events SET payload = json_object('id', json_extract(payload, '$.id'), 'conversation_id', conversation_id)
  WHERE type LIKE 'attachment.%' AND payload <> '';
UPDATE deliveries SET payload = json_object('id', json_extract(payload, '$.id'), 'conversation_id', conversation_id)
  WHERE type LIKE 'attachment.%';
UPDATE idempotency SET result = json_object('id', json_extract(result, '$.id'), 'message_id', json_extract(result, '$.message_id'))
  WHERE result LIKE '{"id":"att\_%' ESCAPE '\';
UPDATE idempotency SET result = (SELECT json_object('id', json_extract(made, '$.id'),
    'conversation_id', json_extract(made, '$.conversation_id'), 'created_at', json_extract(made, '$.created_at'))
  FROM (SELECT json_extract(result, '$') AS made)) WHERE result LIKE '"{\"id\":\"con^_%' ESCAPE '^';
UPDATE audit SET details = NULL WHERE action IN ('attachment.renamed', 'attachment.deleted');

-- Webhooks of all types get the types of until now. Tokens with all scopes also get those of messages and groups.
UPDATE webhooks SET types = 'attachment.created attachment.deleted attachment.updated contact.created contact.deleted contact.updated webhook.disabled'
  WHERE types IS NULL;
UPDATE tokens SET scopes = scopes || ' messages:read messages:write groups:read groups:write'
  WHERE ' ' || scopes || ' ' LIKE '% contacts:read %' AND ' ' || scopes || ' ' LIKE '% contacts:write %'
    AND ' ' || scopes || ' ' LIKE '% attachments:read %' AND ' ' || scopes || ' ' LIKE '% attachments:write %'
    AND ' ' || scopes || ' ' LIKE '% events:read %';

ALTER TABLE webhooks ADD COLUMN scopes TEXT NOT NULL DEFAULT 'contacts:read attachments:read';

ALTER TABLE deliveries ADD COLUMN last_position INTEGER;
DROP VIEW outbox;
CREATE VIEW outbox AS
  SELECT 0 AS transaction_id, 0 AS id, recipient_id, type, conversation_id, created_at, payload FROM events WHERE false;
CREATE TRIGGER number_event INSTEAD OF INSERT ON outbox BEGIN
  INSERT INTO events (recipient_id, number, type, conversation_id, created_at, payload)
  VALUES (new.recipient_id,
    (SELECT COALESCE(MAX(number), 0) + 1 FROM events WHERE recipient_id = new.recipient_id),
    new.type, new.conversation_id, new.created_at, new.payload);
END;

DROP TABLE temp.seen;
DROP TABLE temp.files;
DROP TABLE temp.parts;
DROP TABLE temp.parted;
DROP TABLE temp.directs;
DROP TABLE temp.views;

-- Schema version 12: groups
CREATE TABLE groups (
  id TEXT NOT NULL PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  avatar_url TEXT,
  history TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE members ADD COLUMN group_id TEXT;
ALTER TABLE members ADD COLUMN member_id TEXT;
CREATE UNIQUE INDEX members_by_group ON members (user_id, group_id) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX members_by_id ON members (group_id, member_id) WHERE group_id IS NOT NULL;

CREATE TABLE invitations (
  group_id TEXT NOT NULL,
  member_id TEXT NOT NULL,
  inviter_id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  username TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  declined_at INTEGER,
  PRIMARY KEY (group_id, member_id, inviter_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitations_by_name ON invitations (username_key, group_id, inviter_id);
CREATE INDEX invitations_by_inviter ON invitations (inviter_id, username_key);

CREATE TABLE preparing (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  blocks TEXT NOT NULL,
  after_id TEXT NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX preparing_by_user ON preparing (user_id);
CREATE INDEX erasing_by_name ON erasing (username_key);

-- Schema version 13: reactions
CREATE TABLE reactions (
  message_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  nth INTEGER NOT NULL,
  emoji TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (message_id, place, nth)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reactions_by_user ON reactions (user_id, message_id, emoji);

ALTER TABLE messages ADD COLUMN has_reactions INTEGER NOT NULL DEFAULT 0;

-- Schema version 14: search
CREATE VIRTUAL TABLE message_index USING fts5 (words, content='', columnsize=0, detail=none, tokenize='ascii');
INSERT INTO message_index (message_index, rank) VALUES ('secure-delete', 1);

CREATE TABLE unindexed (
  body_id INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE reindexing (
  after_id INTEGER PRIMARY KEY
) STRICT;
INSERT INTO reindexing (after_id) SELECT 0 WHERE EXISTS (SELECT 1 FROM messages);

CREATE TABLE word_rule (
  rule TEXT PRIMARY KEY
) STRICT;

CREATE UNIQUE INDEX messages_by_body ON messages (body_id) WHERE body_id IS NOT NULL;

-- Schema version 15: push subscriptions
ALTER TABLE webhooks ADD COLUMN public_key TEXT;
ALTER TABLE webhooks ADD COLUMN token_id TEXT;
ALTER TABLE webhooks ADD COLUMN expires_at INTEGER;
CREATE INDEX webhooks_by_token ON webhooks (token_id) WHERE token_id IS NOT NULL;

CREATE TABLE push_keys (
  id INTEGER PRIMARY KEY,
  private_key TEXT NOT NULL
) STRICT;

-- Schema version 16: webhooks of all
CREATE INDEX webhooks_listed ON webhooks ((id || '')) WHERE public_key IS NULL;

-- Schema version 17: file limits and scans
ALTER TABLE storage ADD COLUMN day INTEGER NOT NULL DEFAULT 0;
ALTER TABLE storage ADD COLUMN files INTEGER NOT NULL DEFAULT 0;

ALTER TABLE attachments ADD COLUMN unscanned INTEGER NOT NULL DEFAULT 0;

-- Schema version 18: uploads
CREATE TABLE uploads (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  filename TEXT,
  declared_type TEXT,
  conversation_id TEXT,
  message_id TEXT,
  length INTEGER,
  received INTEGER NOT NULL,
  blob_key TEXT NOT NULL,
  parts TEXT,
  tail_key TEXT,
  holder TEXT NOT NULL,
  attachment_id TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_user ON uploads (user_id, id);
CREATE INDEX uploads_unfinished ON uploads (user_id) WHERE attachment_id IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at, id);
CREATE UNIQUE INDEX uploads_by_blob ON uploads (blob_key);
CREATE UNIQUE INDEX uploads_by_tail ON uploads (tail_key) WHERE tail_key IS NOT NULL;

-- Schema version 19: pictures
ALTER TABLE attachments ADD COLUMN width INTEGER;
ALTER TABLE attachments ADD COLUMN height INTEGER;
ALTER TABLE attachments ADD COLUMN placeholder TEXT;

-- Schema version 20: names and mentions
CREATE TABLE name_rule (
  rule TEXT PRIMARY KEY
) STRICT;

-- Mentions by an edit are pushed, too.
UPDATE webhooks SET types = 'message.created message.mentioned' WHERE public_key IS NOT NULL;

-- Schema version 21: hidden files
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
