-- The schema of 0.1.0.
--
-- Ids are text that sorts by creation. Times are milliseconds since the Unix epoch (UTC). Lists are separated by spaces.
-- Tables that are read by their key are clustered by it (WITHOUT ROWID), so that a page is one range of the tree.

-- People

CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  username TEXT NOT NULL,
  username_key TEXT NOT NULL UNIQUE, -- the form in which usernames are compared
  phone_number TEXT,
  display_name TEXT,
  avatar_url TEXT,
  conversation_id TEXT NOT NULL, -- notes to self
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Deleted users with rows left to erase.
CREATE TABLE erasing (
  user_id TEXT NOT NULL PRIMARY KEY,
  username_key TEXT NOT NULL,
  conversation_id TEXT NOT NULL -- notes to self
) STRICT, WITHOUT ROWID;
CREATE INDEX erasing_by_name ON erasing (username_key);

-- When the last user of a name was erased. The next user of that name gets nothing that was sent to it before.
CREATE TABLE erased_names (
  name_hash BLOB NOT NULL PRIMARY KEY, -- SHA-256 of username_key
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When each user last made a request.
CREATE TABLE activity (
  user_id TEXT NOT NULL PRIMARY KEY,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Users of an identity provider.
CREATE TABLE identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_by_user ON identities (user_id);

CREATE TABLE tokens (
  hash BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  name TEXT,
  scopes TEXT NOT NULL,
  expires_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_user ON tokens (user_id, id);
CREATE INDEX tokens_by_time ON tokens (expires_at);

-- Counts revocations of tokens. A process keeps verified tokens in memory until the count changes.
CREATE TABLE revocations (
  count INTEGER NOT NULL
) STRICT;
INSERT INTO revocations (count) VALUES (0);

-- A contact is stored as the JSON that is served, so that a page needs no parsing. The other columns find it.
CREATE TABLE contacts (
  owner_id TEXT NOT NULL,
  id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  phone_digits TEXT NOT NULL, -- the form in which phone numbers are searched
  search_key TEXT NOT NULL, -- the words of its names, with a space before each
  conversation_id TEXT NOT NULL,
  blocked_at INTEGER, -- copied from blocks, for the index of blocked contacts
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  -- The user with this name, if that user has the owner as a contact and has not blocked the owner.
  peer_id TEXT,
  peer_since INTEGER, -- when the contact was created: earlier activity of the peer is not shown
  PRIMARY KEY (owner_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX contacts_by_username ON contacts (owner_id, username_key);
CREATE INDEX contacts_by_phone ON contacts (owner_id, phone_digits, id);
-- The planner prefers the primary key to an index on its columns. The query names the expression, too, so that only this
-- index has the order.
CREATE INDEX contacts_blocked ON contacts (owner_id, (id || '')) WHERE blocked_at IS NOT NULL;

-- The rule that computed the search keys of contacts.
CREATE TABLE name_rule (
  rule TEXT PRIMARY KEY
) STRICT;

-- Users whom the owner has blocked, whether or not they are contacts.
CREATE TABLE blocks (
  owner_id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  username TEXT NOT NULL, -- as the owner typed it
  created_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, username_key)
) STRICT, WITHOUT ROWID;

-- Conversations and messages

-- A conversation exists as long as it has a member. It has a row here once it has a message.
CREATE TABLE conversations (
  id TEXT NOT NULL PRIMARY KEY,
  last_id TEXT NOT NULL -- of its messages, including deleted ones
) STRICT, WITHOUT ROWID;

-- A member sees the messages with an id greater than since_id that are not withheld.
CREATE TABLE members (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  joined_at INTEGER NOT NULL,
  since_id TEXT NOT NULL DEFAULT '',
  contact_id TEXT, -- in a direct conversation
  contact_joined INTEGER NOT NULL DEFAULT 0, -- 1: the contact has joined, and may have left since
  role TEXT, -- in a group
  group_id TEXT,
  member_id TEXT, -- mem_…, in a group
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX members_by_group ON members (user_id, group_id) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX members_by_id ON members (group_id, member_id) WHERE group_id IS NOT NULL;

-- Users who have left a conversation that others still use. If they return, they see nothing that was sent before.
CREATE TABLE departures (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

-- Users who have left a conversation, with rows up to the message until_id left to erase.
CREATE TABLE departing (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  until_id TEXT NOT NULL,
  after_id TEXT NOT NULL DEFAULT '', -- messages up to this one are done
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

-- Users who have joined a conversation, with grants of its files left to write.
CREATE TABLE joining (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  before_message_id TEXT NOT NULL,
  before_id TEXT NOT NULL, -- of the attachment
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;

-- Users who are about to join a group. Messages of senders whom they have blocked are being withheld first.
CREATE TABLE preparing (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  blocks TEXT NOT NULL, -- changes when the user blocks or unblocks somebody
  after_id TEXT NOT NULL, -- messages up to this one are done
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX preparing_by_user ON preparing (user_id);

-- Clustered by conversation: a page of messages is one range.
CREATE TABLE messages (
  conversation_id TEXT NOT NULL,
  id TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  type TEXT NOT NULL,
  body_id INTEGER, -- null: neither text nor data
  has_files INTEGER NOT NULL, -- 1: a file was added, and may have been deleted since
  mentions TEXT, -- ids of users
  reply_to_id TEXT,
  created_at INTEGER NOT NULL,
  edited_at INTEGER,
  version INTEGER NOT NULL,
  has_reactions INTEGER NOT NULL DEFAULT 0, -- 1: a reaction was added, and may have been deleted since
  PRIMARY KEY (conversation_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX messages_by_id ON messages (id);
CREATE UNIQUE INDEX messages_by_body ON messages (body_id) WHERE body_id IS NOT NULL;

-- What users write. Rows are only added at the end, and emptied instead of deleted: when SQLite splits or merges pages,
-- copies of deleted text remain in the file.
CREATE TABLE message_bodies (
  id INTEGER PRIMARY KEY,
  text TEXT,
  data TEXT -- JSON
) STRICT;

-- Runs of messages that a member does not see. Runs of one member do not overlap.
CREATE TABLE withheld (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  from_id TEXT NOT NULL,
  to_id TEXT NOT NULL,
  PRIMARY KEY (user_id, conversation_id, from_id)
) STRICT, WITHOUT ROWID;

-- Read in this order, as they are shown.
CREATE TABLE reactions (
  message_id TEXT NOT NULL,
  place INTEGER NOT NULL, -- of the emoji among those of the message
  nth INTEGER NOT NULL, -- of the reaction among those with this emoji
  emoji TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (message_id, place, nth)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX reactions_by_user ON reactions (user_id, message_id, emoji);

-- The inbox of a user. The position comes from the last message that reached the user; null: not listed.
CREATE TABLE places (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  position TEXT,
  maybe_unread INTEGER NOT NULL DEFAULT 0, -- 0: nothing is unread
  is_pinned INTEGER NOT NULL DEFAULT 0,
  is_archived INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, conversation_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX places_by_position ON places (user_id, position) WHERE position IS NOT NULL;
CREATE INDEX places_unread ON places (user_id, position) WHERE maybe_unread = 1;
CREATE INDEX places_pinned ON places (user_id, position) WHERE is_pinned = 1;
CREATE INDEX places_archived ON places (user_id, position) WHERE is_archived = 1;

-- How far a user has read, and how long the conversation is muted.
CREATE TABLE marks (
  user_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  last_read_id TEXT NOT NULL DEFAULT '',
  disclosed_read_id TEXT NOT NULL DEFAULT '', -- the read position that others may know
  muted_until INTEGER, -- Unix seconds
  version INTEGER NOT NULL DEFAULT 1, -- of the settings: pinned, archived, muted
  PRIMARY KEY (user_id, conversation_id)
) STRICT, WITHOUT ROWID;

-- Groups

-- A group exists as long as it has a member.
CREATE TABLE groups (
  id TEXT NOT NULL PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  avatar_url TEXT,
  history TEXT NOT NULL, -- what a new member sees: 'joined' (messages from then on) or 'all'
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Invitations are by name, because an inviter must not learn whether a user has that name.
CREATE TABLE invitations (
  group_id TEXT NOT NULL,
  member_id TEXT NOT NULL, -- the same for all who invite the same name
  inviter_id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  username TEXT NOT NULL, -- as the first inviter typed it
  created_at INTEGER NOT NULL,
  declined_at INTEGER,
  PRIMARY KEY (group_id, member_id, inviter_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitations_by_name ON invitations (username_key, group_id, inviter_id);
CREATE INDEX invitations_by_inviter ON invitations (inviter_id, username_key);

-- Files

CREATE TABLE attachments (
  id TEXT NOT NULL PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  uploader_id TEXT NOT NULL,
  filename TEXT NOT NULL,
  file_type TEXT NOT NULL,
  file_size INTEGER NOT NULL, -- bytes
  sha256 BLOB NOT NULL,
  blob_key TEXT NOT NULL UNIQUE, -- the attachment's own id if the bytes are in small_files
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  crc32 INTEGER, -- null: older than this column
  unscanned INTEGER NOT NULL DEFAULT 0, -- 1: accepted without the scan for viruses that it needed
  width INTEGER, -- pixels of a picture as it is shown; null: no picture, or older than this column
  height INTEGER,
  placeholder TEXT -- a ThumbHash in base64, once a preview was made
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_by_message ON attachments (conversation_id, message_id, id);

CREATE TABLE small_files (
  attachment_id TEXT NOT NULL PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Which user may see which attachment: one row for each member who received it.
CREATE TABLE grants (
  user_id TEXT NOT NULL,
  attachment_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  PRIMARY KEY (user_id, attachment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_by_conversation ON grants (user_id, conversation_id, attachment_id);

-- Resumable uploads, until they expire. The row of an unfinished one is also the intent of its bytes.
CREATE TABLE uploads (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  filename TEXT, -- this and the next three are null once the upload is finished: the attachment has them
  declared_type TEXT,
  conversation_id TEXT, -- of the file; null like message_id: notes to self
  message_id TEXT,
  length INTEGER, -- bytes; null: not known yet
  received INTEGER NOT NULL, -- bytes that are durable
  blob_key TEXT NOT NULL,
  parts TEXT, -- what the store needs to continue the blob
  tail_key TEXT, -- the blob with the bytes after the last part, in a store that takes only whole parts
  holder TEXT NOT NULL, -- changes when another process continues the upload
  attachment_id TEXT, -- once the upload is finished
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX uploads_by_user ON uploads (user_id, id);
CREATE INDEX uploads_unfinished ON uploads (user_id) WHERE attachment_id IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at, id);
CREATE UNIQUE INDEX uploads_by_blob ON uploads (blob_key);
CREATE UNIQUE INDEX uploads_by_tail ON uploads (tail_key) WHERE tail_key IS NOT NULL;

-- Uploads to a store that cannot list unfinished ones (S3). An intent that expires becomes a tombstone.
CREATE TABLE intents (
  blob_key TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX intents_by_time ON intents (until);

-- Bytes to erase, which no row uses any more.
CREATE TABLE tombstones (
  blob_key TEXT NOT NULL PRIMARY KEY,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- While a hold is in force, the eraser keeps the bytes of deleted files: a running backup may need them.
CREATE TABLE holds (
  name TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL -- in force before this time
) STRICT, WITHOUT ROWID;

-- What the files of each user take: those that the user has uploaded and still sees.
CREATE TABLE storage (
  user_id TEXT NOT NULL PRIMARY KEY,
  used INTEGER NOT NULL, -- bytes
  day INTEGER NOT NULL DEFAULT 0, -- days since 1970, UTC
  files INTEGER NOT NULL DEFAULT 0 -- uploaded on that day, if the operator limits them
) STRICT, WITHOUT ROWID;

-- Quota held by running uploads.
CREATE TABLE reservations (
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (user_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reservations_by_time ON reservations (until);

-- The record of writes

-- One row for each user who may see the change, in the order of commits (position). The number is the recipient's own
-- count, without gaps.
CREATE TABLE events (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  recipient_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  type TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  payload TEXT NOT NULL -- JSON; empty: erased, and kept because it is the recipient's last
) STRICT;
CREATE UNIQUE INDEX events_by_recipient ON events (recipient_id, number);

-- Writes publish here. One writer commits all of them, so that events get their numbers at once.
CREATE VIEW outbox AS
  SELECT 0 AS transaction_id, 0 AS id, recipient_id, type, conversation_id, created_at, payload FROM events WHERE false;
CREATE TRIGGER number_event INSTEAD OF INSERT ON outbox BEGIN
  INSERT INTO events (recipient_id, number, type, conversation_id, created_at, payload)
  VALUES (new.recipient_id,
    (SELECT COALESCE(MAX(number), 0) + 1 FROM events WHERE recipient_id = new.recipient_id),
    new.type, new.conversation_id, new.created_at, new.payload);
END;

-- The results of requests with an Idempotency-Key.
CREATE TABLE idempotency (
  user_id TEXT NOT NULL,
  key_hash BLOB NOT NULL, -- SHA-256 of the key
  fingerprint BLOB NOT NULL, -- SHA-256 of the request
  result TEXT NOT NULL, -- JSON
  until INTEGER NOT NULL,
  PRIMARY KEY (user_id, key_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_time ON idempotency (until);

CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  actor_id TEXT, -- null: the command line, or a download by a link
  token_id TEXT,
  action TEXT NOT NULL,
  object_id TEXT NOT NULL,
  details TEXT -- JSON
) STRICT, WITHOUT ROWID;

-- Webhooks and push

-- A push subscription is a webhook whose receiver is a push server: url is the endpoint, secret that of the device.
CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  url TEXT NOT NULL,
  types TEXT, -- of events; null: all
  all_users INTEGER NOT NULL, -- 1: it gets the events of all users
  secret TEXT NOT NULL,
  old_secret TEXT, -- signs as well, until old_until
  old_until INTEGER,
  disabled_at INTEGER,
  failing_since INTEGER, -- null: the last attempt succeeded
  since_position INTEGER NOT NULL, -- events up to this one are older than the webhook
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  backlog_from INTEGER, -- position of the first event of the backlog; null: none
  -- The families of events that it may show: read scopes of the token that created it.
  scopes TEXT NOT NULL DEFAULT 'contacts:read attachments:read',
  public_key TEXT, -- of the device; null: not a push subscription
  token_id TEXT, -- of the token that subscribed, whose end is that of the subscription; null: a JWT
  expires_at INTEGER -- when that token expires; null: never
) STRICT;
CREATE INDEX webhooks_by_user ON webhooks (user_id, id);
CREATE INDEX webhooks_of_all ON webhooks (id) WHERE all_users = 1;
CREATE INDEX webhooks_enabled ON webhooks (since_position) WHERE disabled_at IS NULL AND backlog_from IS NULL;
CREATE INDEX webhooks_behind ON webhooks (id) WHERE disabled_at IS NULL AND backlog_from IS NOT NULL;
CREATE INDEX webhooks_by_token ON webhooks (token_id) WHERE token_id IS NOT NULL;
-- The list for admins, without push subscriptions, of which there may be many. An expression, as in contacts_blocked.
CREATE INDEX webhooks_listed ON webhooks ((id || '')) WHERE public_key IS NULL;

-- Deleted webhooks with deliveries left to erase.
CREATE TABLE deleted_webhooks (
  id TEXT NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Events up to this position were handed to webhooks. One row.
CREATE TABLE webhook_cursor (
  id INTEGER PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT;

-- One event for a webhook, or one change for a webhook of all users. It copies the event, which may be erased earlier.
CREATE TABLE deliveries (
  webhook_id TEXT NOT NULL,
  id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  position INTEGER NOT NULL, -- of the event; deliveries of a conversation are sent in this order
  recipient_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  type TEXT NOT NULL,
  told_at INTEGER NOT NULL, -- the time of the event
  payload TEXT NOT NULL,
  state TEXT NOT NULL, -- pending, delivered, failed or skipped
  attempts INTEGER NOT NULL,
  next_at INTEGER, -- null: done, or waiting for another delivery of its conversation
  last_status INTEGER,
  last_error TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_position INTEGER, -- of the successive events of a change, one per recipient; null: one event
  PRIMARY KEY (webhook_id, id)
) STRICT;
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_pending ON deliveries (webhook_id, conversation_id, position, id) WHERE state = 'pending';
CREATE INDEX deliveries_by_recipient ON deliveries (recipient_id);
CREATE INDEX deliveries_by_age ON deliveries (created_at);

-- The key pair that identifies the service to push servers. One row, made at the first start.
CREATE TABLE push_keys (
  id INTEGER PRIMARY KEY,
  private_key TEXT NOT NULL
) STRICT;

-- Search

-- The words of messages, each with the key of its conversation before it. The rowid is the id of the body. Only words are
-- looked up, so neither texts nor positions are kept. `secure-delete` overwrites deleted words: the pragma
-- `secure_delete` does not reach into this table.
CREATE VIRTUAL TABLE message_index USING fts5 (words, content='', columnsize=0, detail=none, tokenize='ascii');
INSERT INTO message_index (message_index, rank) VALUES ('secure-delete', 1);

-- Bodies whose words are not in the index yet.
CREATE TABLE unindexed (
  body_id INTEGER PRIMARY KEY
) STRICT;

-- While there is a row, the index is being rebuilt, and contains the bodies up to this one.
CREATE TABLE reindexing (
  after_id INTEGER PRIMARY KEY
) STRICT;

-- The rule that split the texts in the index into words.
CREATE TABLE word_rule (
  rule TEXT PRIMARY KEY
) STRICT;

-- Moves

-- The source of a move that is not finished. Empty: the database is complete.
CREATE TABLE moves (
  source TEXT NOT NULL
) STRICT;

-- Secrets that verify links from before a move.
CREATE TABLE carried_secrets (
  secret TEXT NOT NULL PRIMARY KEY,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
