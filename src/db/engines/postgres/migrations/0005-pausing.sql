-- Users whom an administrator has paused. Nodes that do not know the column would serve them, so they stop.

ALTER TABLE users ADD COLUMN paused_at BIGINT;
