-- Who may see which file, before messages decide it: grants of members that no departure has ended.
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

-- Messages of a conversation are read in their order, which is that of their ids.
CREATE TABLE sent (
  conversation_id TEXT NOT NULL,
  id TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  type TEXT NOT NULL,
  body_id INTEGER, -- null: neither text nor data
  has_files INTEGER NOT NULL, -- 1: a file was added; it may be deleted since
  mentions TEXT, -- ids of users, separated by spaces
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

-- What users write. Rows are only added at the end, and emptied instead of deleted: when pages are split or merged, copies
-- of deleted text remain in the file.
CREATE TABLE message_bodies (
  id INTEGER PRIMARY KEY,
  text TEXT,
  data TEXT -- JSON
) STRICT;

-- A conversation with a message.
CREATE TABLE conversations (
  id TEXT NOT NULL PRIMARY KEY,
  last_id TEXT NOT NULL -- of its messages, also of deleted ones
) STRICT, WITHOUT ROWID;
INSERT INTO conversations (id, last_id) SELECT conversation_id, MAX(id) FROM messages GROUP BY conversation_id;

-- A member sees messages with a greater id than since_id that are not withheld.
ALTER TABLE members ADD COLUMN since_id TEXT NOT NULL DEFAULT '';
ALTER TABLE members ADD COLUMN contact_id TEXT; -- of a direct conversation
ALTER TABLE members ADD COLUMN contact_joined INTEGER NOT NULL DEFAULT 0; -- 1: the contact has joined it, and may have left
ALTER TABLE members ADD COLUMN role TEXT; -- in a group
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

-- Which messages each member sees: all files of a message are seen by the same users now.
CREATE TEMP TABLE views AS
  SELECT m.conversation_id, m.user_id, s.id, EXISTS (SELECT 1 FROM attachments a JOIN seen v ON v.attachment_id = a.id
    WHERE a.conversation_id = s.conversation_id AND a.message_id = s.id AND v.user_id = m.user_id) AS is_seen
  FROM members m JOIN messages s ON s.conversation_id = m.conversation_id;
CREATE UNIQUE INDEX temp.views_by_member ON views (conversation_id, user_id, id);
-- A member who had left before sees nothing from before.
UPDATE members SET since_id = COALESCE((SELECT MAX(v.id) FROM views v
    WHERE v.conversation_id = members.conversation_id AND v.user_id = members.user_id AND v.id < COALESCE(
      (SELECT MIN(f.id) FROM views f WHERE f.conversation_id = members.conversation_id
        AND f.user_id = members.user_id AND f.is_seen), '~')), '')
  WHERE EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = members.conversation_id
    AND d.user_id = members.user_id);

-- Runs of messages that a member does not see. Runs of one member do not overlap.
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

-- The inbox of a user. Position is what the last message that reached the user gave it; null: not listed.
CREATE TABLE places (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  position TEXT,
  maybe_unread INTEGER NOT NULL DEFAULT 0, -- 0: nothing is unread
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

-- How far a user has read, and how the conversation notifies.
CREATE TABLE marks (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  last_read_id TEXT NOT NULL DEFAULT '',
  disclosed_read_id TEXT NOT NULL DEFAULT '', -- how far the contact may know it
  muted_until INTEGER, -- Unix seconds
  version INTEGER NOT NULL DEFAULT 1, -- of the settings: pinned, archived, muted
  PRIMARY KEY (user_id, conversation_id)
) STRICT, WITHOUT ROWID;
INSERT INTO marks (user_id, conversation_id, last_read_id)
  SELECT m.user_id, m.conversation_id, c.last_id FROM members m JOIN conversations c ON c.id = m.conversation_id;

-- Whom a user has blocked, contact or not. contacts.blocked_at is a copy, for the index of blocked contacts.
CREATE TABLE blocks (
  owner_id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  username TEXT NOT NULL, -- as it was typed
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, username_key)
) STRICT, WITHOUT ROWID;
INSERT INTO blocks (owner_id, username_key, username, created_at)
  SELECT owner_id, username_key, json_extract(body, '$.username'), blocked_at FROM contacts
  WHERE blocked_at IS NOT NULL;

-- Who has left a conversation, while rows of theirs up to the message until_id are still to be erased; messages up to
-- after_id were looked at.
ALTER TABLE departing ADD COLUMN after_id TEXT NOT NULL DEFAULT '';
UPDATE departing SET until_id = COALESCE(
  (SELECT m.since_id FROM members m WHERE m.conversation_id = departing.conversation_id AND m.user_id = departing.user_id),
  (SELECT c.last_id FROM conversations c WHERE c.id = departing.conversation_id), '');

-- Who has joined a conversation, while grants of its files are still to be written.
CREATE TABLE joining (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  before_message_id TEXT NOT NULL,
  before_id TEXT NOT NULL, -- of the attachment
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

-- Grants of files that are seen no longer.
DELETE FROM grants WHERE NOT EXISTS (SELECT 1 FROM departing d
    WHERE d.conversation_id = grants.conversation_id AND d.user_id = grants.user_id)
  AND NOT EXISTS (SELECT 1 FROM seen s WHERE s.attachment_id = grants.attachment_id AND s.user_id = grants.user_id)
  AND NOT EXISTS (SELECT 1 FROM erasing e WHERE e.user_id = grants.user_id);

-- Events and results refer to what they are about, so that nothing of it remains in them once it is deleted.
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

-- Webhooks and tokens of all types and scopes have what these were until now; tokens also get those of messages and groups.
UPDATE webhooks SET types = 'attachment.created attachment.deleted attachment.updated contact.created contact.deleted contact.updated webhook.disabled'
  WHERE types IS NULL;
UPDATE tokens SET scopes = scopes || ' messages:read messages:write groups:read groups:write'
  WHERE ' ' || scopes || ' ' LIKE '% contacts:read %' AND ' ' || scopes || ' ' LIKE '% contacts:write %'
    AND ' ' || scopes || ' ' LIKE '% attachments:read %' AND ' ' || scopes || ' ' LIKE '% attachments:write %'
    AND ' ' || scopes || ' ' LIKE '% events:read %';

-- Families of events that a webhook may show, as the scopes of the token that set it up say.
ALTER TABLE webhooks ADD COLUMN scopes TEXT NOT NULL DEFAULT 'contacts:read attachments:read'; -- separated by spaces

-- A delivery to a webhook of all users is about a change: its events, one for each recipient, have successive positions.
ALTER TABLE deliveries ADD COLUMN last_position INTEGER; -- of these events; null: one event, of recipient_id
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
