-- Profiles, bots, acting for users. sqlite/migrations/0002-identity.sql explains the columns.

ALTER TABLE users
  ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT 'person',
  ADD COLUMN accepts_everyone BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN message_limit BIGINT,
  ADD COLUMN data TEXT COLLATE "C",
  ADD COLUMN avatar_id TEXT COLLATE "C",
  ADD COLUMN set_fields TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN version BIGINT NOT NULL DEFAULT 1,
  ADD COLUMN folded_key TEXT COLLATE "C";
UPDATE users SET folded_key = username_key WHERE username_key ~ '^[ -~]*$';
CREATE UNIQUE INDEX users_by_folded_key ON users (folded_key);

-- Until now only admins have set profiles.
UPDATE users SET set_fields = TRIM(CASE WHEN display_name IS NULL THEN '' ELSE 'display_name ' END
  || CASE WHEN avatar_url IS NULL THEN '' ELSE 'avatar_url ' END
  || CASE WHEN phone_number IS NULL THEN '' ELSE 'phone_number' END);

CREATE TABLE avatars (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  id TEXT COLLATE "C" NOT NULL,
  file_type TEXT COLLATE "C" NOT NULL,
  file_size BIGINT NOT NULL,
  sha256 BYTEA NOT NULL,
  crc32 BIGINT NOT NULL,
  blob_key TEXT COLLATE "C" NOT NULL,
  width INTEGER NOT NULL,
  height INTEGER NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX avatars_by_id ON avatars (id);
CREATE INDEX avatars_by_blob ON avatars (blob_key);

CREATE TABLE profile_changes (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  after_id TEXT COLLATE "C" NOT NULL DEFAULT ''
);

-- The contacts whose conversation a user has left are informed of changes of the profile, too.
CREATE INDEX departures_by_user ON departures (user_id);

ALTER TABLE members ADD COLUMN inviter_id TEXT COLLATE "C";
CREATE INDEX members_by_inviter ON members (inviter_id) WHERE inviter_id IS NOT NULL;

ALTER TABLE audit ADD COLUMN acted_by_id TEXT COLLATE "C";
