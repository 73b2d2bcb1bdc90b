-- Users whom an administrator has paused.

ALTER TABLE users ADD COLUMN paused_at INTEGER; -- milliseconds; null: not paused
