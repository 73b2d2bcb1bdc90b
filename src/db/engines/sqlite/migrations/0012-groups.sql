-- What the members of a group share beside its conversation. It exists as long as it has a member.
CREATE TABLE groups (
  id TEXT NOT NULL PRIMARY KEY,
  conversation_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  avatar_url TEXT,
  history TEXT NOT NULL, -- what a new member sees: 'joined' (from then on) or 'all'
  created_at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE members ADD COLUMN group_id TEXT;
ALTER TABLE members ADD COLUMN member_id TEXT; -- mem_…, in a group
CREATE UNIQUE INDEX members_by_group ON members (user_id, group_id) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX members_by_id ON members (group_id, member_id) WHERE group_id IS NOT NULL;

-- Who is invited into a group, by name, because whether somebody has that name is disclosed to nobody.
CREATE TABLE invitations (
  group_id TEXT NOT NULL,
  member_id TEXT NOT NULL, -- the same for all who invite the same name
  inviter_id TEXT NOT NULL,
  username_key TEXT NOT NULL,
  username TEXT NOT NULL, -- as the first of them typed it
  created_at INTEGER NOT NULL,
  declined_at INTEGER,
  PRIMARY KEY (group_id, member_id, inviter_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX invitations_by_name ON invitations (username_key, group_id, inviter_id);
CREATE INDEX invitations_by_inviter ON invitations (inviter_id, username_key);

-- Who is about to join a group, while that is being withheld which users have sent whom the new member has blocked.
CREATE TABLE preparing (
  conversation_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  blocks TEXT NOT NULL, -- changes with every block of theirs
  after_id TEXT NOT NULL, -- messages up to this one were looked at
  PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX preparing_by_user ON preparing (user_id);
CREATE INDEX erasing_by_name ON erasing (username_key);
