-- The answers of receivers to deliveries.

ALTER TABLE deliveries ADD COLUMN response_body TEXT; -- the start of the body; null: none, or no answer to the last attempt
