-- Identifiers are text that sorts by creation; times are milliseconds since the Unix epoch (UTC).
-- Tables that are read by their key are clustered by it (WITHOUT ROWID), so that a page is one range of the tree.

CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  username TEXT NOT NULL,
  username_key TEXT NOT NULL UNIQUE, -- the form by which usernames are compared
  phone_number TEXT,
  display_name TEXT,
  avatar_url TEXT,
  conversation_id TEXT NOT NULL, -- notes to self
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  hash BLOB NOT NULL PRIMARY KEY, -- SHA-256 of the token
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  name TEXT,
  scopes TEXT NOT NULL, -- separated by spaces
  expires_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_user ON tokens (user_id);

CREATE TABLE conversations (
  id TEXT NOT NULL PRIMARY KEY,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE members (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  joined_at INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_user ON members (user_id);

CREATE TABLE contacts (
  owner_id TEXT NOT NULL,
  id TEXT NOT NULL,
  username TEXT NOT NULL,
  username_key TEXT NOT NULL,
  phone_number TEXT NOT NULL,
  phone_digits TEXT NOT NULL, -- the form by which phone numbers are searched
  avatar_url TEXT,
  display_name TEXT,
  search_key TEXT NOT NULL, -- the words of its names, each behind a space
  conversation_id TEXT NOT NULL,
  blocked_at INTEGER,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (owner_id, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX contacts_by_username ON contacts (owner_id, username_key);
CREATE INDEX contacts_by_phone ON contacts (owner_id, phone_digits, id);
CREATE INDEX contacts_blocked ON contacts (owner_id, id) WHERE blocked_at IS NOT NULL;

CREATE TABLE messages (
  id TEXT NOT NULL PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  sender_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_by_conversation ON messages (conversation_id);

CREATE TABLE attachments (
  id TEXT NOT NULL PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL,
  uploader_id TEXT NOT NULL,
  filename TEXT NOT NULL,
  file_type TEXT NOT NULL,
  file_size INTEGER NOT NULL, -- bytes
  sha256 BLOB NOT NULL,
  blob_key TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX attachments_by_conversation ON attachments (conversation_id);
CREATE INDEX attachments_by_uploader ON attachments (uploader_id, file_size);

-- Who may see which attachment: one row for each member who received it.
CREATE TABLE grants (
  user_id TEXT NOT NULL,
  attachment_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL,
  PRIMARY KEY (user_id, attachment_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_by_conversation ON grants (user_id, conversation_id, attachment_id);

-- Bytes that no row has any more and that are still to be erased.
CREATE TABLE tombstones (
  blob_key TEXT NOT NULL PRIMARY KEY,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
