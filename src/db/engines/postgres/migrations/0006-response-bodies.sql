-- Oldest version beside it: 23
-- The answers of receivers to deliveries. sqlite/migrations/0006-response-bodies.sql explains the column. Older nodes do not write it,
-- so after their attempts it has the answer to an earlier one.

ALTER TABLE deliveries ADD COLUMN response_body TEXT COLLATE "C";
