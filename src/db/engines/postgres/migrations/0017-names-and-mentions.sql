-- The rule by which the search keys of contacts were computed.
CREATE TABLE name_rule (
  rule TEXT PRIMARY KEY
);
