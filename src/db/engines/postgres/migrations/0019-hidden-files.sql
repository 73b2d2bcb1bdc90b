-- A file does not count in its uploader's storage once the uploader has deleted the message for themselves. Until now it did as
-- long as somebody else saw it, by a grant that the uploader kept.
UPDATE storage SET used = used - hidden.bytes
  FROM (SELECT w.user_id, SUM(a.file_size) AS bytes FROM withheld w
    JOIN attachments a ON a.conversation_id = w.conversation_id AND a.message_id >= w.from_id AND a.message_id <= w.to_id
      AND a.uploader_id = w.user_id
    JOIN grants g ON g.user_id = w.user_id AND g.attachment_id = a.id
    GROUP BY w.user_id) AS hidden
  WHERE hidden.user_id = storage.user_id;
DELETE FROM grants WHERE (user_id, attachment_id) IN (
  SELECT w.user_id, a.id FROM withheld w
    JOIN attachments a ON a.conversation_id = w.conversation_id AND a.message_id >= w.from_id AND a.message_id <= w.to_id
      AND a.uploader_id = w.user_id);
