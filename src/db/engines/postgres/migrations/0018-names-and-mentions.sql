-- The rule by which the search keys of contacts were computed.
CREATE TABLE name_rule (
  rule TEXT PRIMARY KEY
);

-- An edit that mentions somebody is pushed, too.
UPDATE webhooks SET types = 'message.created message.mentioned' WHERE public_key IS NOT NULL;
