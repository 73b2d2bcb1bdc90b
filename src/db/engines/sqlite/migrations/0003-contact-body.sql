-- A contact is kept as the JSON text that is served, so that a page is read without being taken apart and put together
-- again; the other columns are what contacts are found by.
CREATE TABLE contacts_with_body (
  owner_id TEXT NOT NULL,
  id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  phone_digits TEXT NOT NULL, -- the form by which phone numbers are searched
  search_key TEXT NOT NULL, -- the words of its names, each behind a space
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

-- Nothing was ever read of it: a conversation is there as long as it has a member.
DROP TABLE conversations;

-- Rises whenever tokens go, so that a process can keep verified ones in memory until then.
CREATE TABLE revocations (
  count INTEGER NOT NULL
) STRICT;
INSERT INTO revocations (count) VALUES (0);
