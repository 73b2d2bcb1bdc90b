-- Profiles, bots, acting for users.

ALTER TABLE users ADD COLUMN kind TEXT NOT NULL DEFAULT 'person'; -- or 'bot'
ALTER TABLE users ADD COLUMN accepts_everyone INTEGER NOT NULL DEFAULT 0; -- 1: has everybody back who adds it
ALTER TABLE users ADD COLUMN message_limit INTEGER; -- per minute; null: that of the server
ALTER TABLE users ADD COLUMN data TEXT; -- JSON
ALTER TABLE users ADD COLUMN avatar_id TEXT; -- of the picture stored here, which then is shown instead of avatar_url
ALTER TABLE users ADD COLUMN set_fields TEXT NOT NULL DEFAULT ''; -- set by the user or an admin: claims leave them alone
ALTER TABLE users ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
-- The form in which the names of new users differ from all others. Null: not computed yet, or another user has the same.
ALTER TABLE users ADD COLUMN folded_key TEXT;
-- Folding does not change ASCII. A start computes the others.
UPDATE users SET folded_key = username_key WHERE username_key NOT GLOB '*[^ -~]*';
CREATE UNIQUE INDEX users_by_folded_key ON users (folded_key);

-- Until now only admins have set profiles.
UPDATE users SET set_fields = TRIM(CASE WHEN display_name IS NULL THEN '' ELSE 'display_name ' END
  || CASE WHEN avatar_url IS NULL THEN '' ELSE 'avatar_url ' END
  || CASE WHEN phone_number IS NULL THEN '' ELSE 'phone_number' END);

-- The stored picture of each user.
CREATE TABLE avatars (
  user_id TEXT NOT NULL PRIMARY KEY,
  id TEXT NOT NULL, -- unguessable; also in users
  file_type TEXT NOT NULL,
  file_size INTEGER NOT NULL, -- bytes
  sha256 BLOB NOT NULL,
  crc32 INTEGER NOT NULL,
  blob_key TEXT NOT NULL, -- the id if the bytes are in small_files
  width INTEGER NOT NULL, -- pixels of the picture as it is shown
  height INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX avatars_by_id ON avatars (id);
CREATE INDEX avatars_by_blob ON avatars (blob_key);

-- Users whose profile has changed, with readers left to inform.
CREATE TABLE profile_changes (
  user_id TEXT NOT NULL PRIMARY KEY,
  after_id TEXT NOT NULL DEFAULT '' -- readers up to this one are done
) STRICT, WITHOUT ROWID;

-- The contacts whose conversation a user has left are informed of changes of the profile, too.
CREATE INDEX departures_by_user ON departures (user_id);

-- The user who has invited or added this member; null: nobody, a user who was erased, or one who did so before this migration.
ALTER TABLE members ADD COLUMN inviter_id TEXT;
CREATE INDEX members_by_inviter ON members (inviter_id) WHERE inviter_id IS NOT NULL;

-- The user whose token acted as actor_id; null: the actor's own.
ALTER TABLE audit ADD COLUMN acted_by_id TEXT;
