-- Who the contact is, where it is a user who has the owner as a contact too and has not blocked the owner; and when the
-- contact was made: what that user did before is not told.
ALTER TABLE contacts ADD COLUMN peer_id TEXT COLLATE "C";
ALTER TABLE contacts ADD COLUMN peer_since BIGINT;

-- Of which conversations a user is a member is told by the user's contacts and notes.
DROP INDEX members_by_user;
-- What a user's files take is a count of its own (storage).
DROP INDEX attachments_by_uploader;

-- Who has left a conversation that others go on with: joining it again brings nothing of what was sent before.
CREATE TABLE departures (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

-- When the last user of a name was erased: another user of the name gets nothing of what was sent to it before.
CREATE TABLE erased_names (
  name_hash BYTEA NOT NULL PRIMARY KEY, -- SHA-256 of the form by which usernames are compared
  at BIGINT NOT NULL
);

-- When each user last made a request.
CREATE TABLE activity (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  seen_at BIGINT NOT NULL
);

-- Bytes of the files that each user has uploaded and still sees.
CREATE TABLE storage (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  used BIGINT NOT NULL
);

-- Bytes that uploads under way have been promised, where users have a quota.
CREATE TABLE reservations (
  user_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  bytes BIGINT NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (user_id, id)
);
CREATE INDEX reservations_by_time ON reservations (until);

-- What a request with an Idempotency-Key has come to.
CREATE TABLE idempotency (
  user_id TEXT COLLATE "C" NOT NULL,
  key_hash BYTEA NOT NULL, -- SHA-256 of the key
  fingerprint BYTEA NOT NULL, -- SHA-256 of what was asked for
  result TEXT COLLATE "C" NOT NULL, -- JSON
  until BIGINT NOT NULL,
  PRIMARY KEY (user_id, key_hash)
);
CREATE INDEX idempotency_by_time ON idempotency (until);

-- Users of an identity provider.
CREATE TABLE identities (
  issuer TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

-- Tokens are listed by their user in pages, and forgotten some time after they have expired.
DROP INDEX tokens_by_user;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_time ON tokens (expires_at);

-- The audit trail: who did what, when.
CREATE TABLE audit (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL,
  actor_id TEXT COLLATE "C", -- null: the command line, or whoever had a link
  token_id TEXT COLLATE "C",
  action TEXT COLLATE "C" NOT NULL,
  object_id TEXT COLLATE "C" NOT NULL,
  details TEXT COLLATE "C" -- JSON
);

INSERT INTO storage (user_id, used)
  SELECT u.id, COALESCE((SELECT SUM(a.file_size) FROM grants g
    JOIN attachments a ON a.id = g.attachment_id AND a.uploader_id = g.user_id WHERE g.user_id = u.id), 0) FROM users u;

-- Until now, two users who had each other as contacts had a conversation each. The older one is theirs from now on: what
-- was in the other goes there, and each sees what the other has sent, unless they had blocked the other.
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
-- A quote within a name stands behind a backslash, so this is found nowhere else in the JSON.
UPDATE contacts SET
    body = replace(body, '"conversation_id":"' || conversation_id || '"', '"conversation_id":"' ||
      (SELECT shared FROM pairs WHERE contact_id = contacts.id) || '"'),
    conversation_id = (SELECT shared FROM pairs WHERE contact_id = contacts.id),
    version = version + 1
  WHERE (owner_id, id) IN (SELECT joining, contact_id FROM pairs);
