-- As the SQLite migration of the same name says.
CREATE TABLE departing (
  conversation_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  until_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
);

CREATE TABLE erasing (
  user_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  username_key TEXT COLLATE "C" NOT NULL,
  conversation_id TEXT COLLATE "C" NOT NULL
);
