-- What the members of a group share beside its conversation. It exists as long as it has a member.
CREATE TABLE groups (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  conversation_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  description TEXT COLLATE "C",
  avatar_url TEXT COLLATE "C",
  history TEXT COLLATE "C" NOT NULL, -- what a new member sees: 'joined' (from then on) or 'all'
  created_at BIGINT NOT NULL,
  version BIGINT NOT NULL
);

ALTER TABLE members ADD COLUMN group_id TEXT COLLATE "C";
ALTER TABLE members ADD COLUMN member_id TEXT COLLATE "C"; -- mem_…, in a group
CREATE UNIQUE INDEX members_by_group ON members (user_id, group_id) WHERE group_id IS NOT NULL;
CREATE UNIQUE INDEX members_by_id ON members (group_id, member_id) WHERE group_id IS NOT NULL;

-- Who is invited into a group, by name, because whether somebody has that name is disclosed to nobody.
CREATE TABLE invitations (
  group_id TEXT COLLATE "C" NOT NULL,
  member_id TEXT COLLATE "C" NOT NULL, -- the same for all who invite the same name
  inviter_id TEXT COLLATE "C" NOT NULL,
  username_key TEXT COLLATE "C" NOT NULL,
  username TEXT COLLATE "C" NOT NULL, -- as the first of them typed it
  created_at BIGINT NOT NULL,
  declined_at BIGINT,
  PRIMARY KEY (group_id, member_id, inviter_id)
);
CREATE UNIQUE INDEX invitations_by_name ON invitations (username_key, group_id, inviter_id);
CREATE INDEX invitations_by_inviter ON invitations (inviter_id, username_key);

-- Who is about to join a group, while that is being withheld which users have sent whom the new member has blocked.
CREATE TABLE preparing (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  blocks TEXT COLLATE "C" NOT NULL, -- changes with every block of theirs
  after_id TEXT COLLATE "C" NOT NULL, -- messages up to this one were looked at
  PRIMARY KEY (conversation_id, user_id)
);
CREATE INDEX preparing_by_user ON preparing (user_id);
CREATE INDEX erasing_by_name ON erasing (username_key);
