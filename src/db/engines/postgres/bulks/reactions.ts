import { INTO_OUTBOX } from "../../../queries/events/events.ts";
import { MAX_EMOJI, type React } from "../../../queries/messages/reactions.ts";
import { sees } from "../../../queries/visibility/visibility.ts";
import { raw, type Statement, sql } from "../../../sql.ts";
import { type BulkRow, IS_UNUSED, KEY_INPUT, none, some } from "./bulk.ts";

const input = (rows: string) => sql`input AS (SELECT * FROM json_to_recordset(${rows}) AS rows (${KEY_INPUT},
  user_id TEXT COLLATE "C", message_id TEXT COLLATE "C", emoji TEXT COLLATE "C", emoji_json TEXT, now BIGINT))`;
const OWN_REACTION = sql`SELECT r.user_id FROM reactions r
  WHERE r.user_id = input.user_id AND r.message_id = input.message_id AND r.emoji = input.emoji`;
const OF_MESSAGE = sql`FROM reactions r WHERE r.message_id = input.message_id`;
/** Selects the message, if the user sees it, and the user, who may be erased. */
const FROM_SEEN = sql`FROM input CROSS JOIN messages m CROSS JOIN users u
  WHERE m.id = input.message_id AND u.id = input.user_id AND ${some(sql`SELECT s.user_id FROM members s
    WHERE s.conversation_id = m.conversation_id AND s.user_id = input.user_id AND ${sees(sql`m.id`)}`)}
    AND ${IS_UNUSED}`;

/** Publishes the change to everybody who sees the message and has not blocked the user. */
function publish(type: "reaction.created" | "reaction.deleted"): Statement {
  return sql`new_events AS (
    ${INTO_OUTBOX} SELECT s.user_id, ${raw(`'${type}'`)}, found.conversation_id, found.now,
      '{"message_id":"' || found.message_id || '","conversation_id":"' || found.conversation_id
      || '","emoji":' || found.emoji_json || ',"user_id":"' || found.user_id || '"}'
    FROM found, members s WHERE s.conversation_id = found.conversation_id AND ${sees(sql`found.message_id`)}
      AND (s.user_id = found.user_id OR ${none(sql`SELECT b.owner_id FROM users u JOIN blocks b
        ON b.owner_id = s.user_id AND b.username_key = u.username_key WHERE u.id = found.user_id`)})
    ORDER BY found.message_id)`;
}

const toAdded = (rows: string): Statement<{ n: number }> =>
  sql`WITH ${input(rows)},
    found AS MATERIALIZED (
      SELECT input.*, m.conversation_id,
        COALESCE((SELECT MIN(r.place) ${OF_MESSAGE} AND r.emoji = input.emoji),
          (SELECT COALESCE(MAX(r.place), 0) + 1 ${OF_MESSAGE})) AS place,
        (SELECT COALESCE(MAX(r.nth), 0) + 1 ${OF_MESSAGE} AND r.emoji = input.emoji) AS nth
      ${FROM_SEEN} AND ${none(OWN_REACTION)}
        AND (${some(sql`SELECT r.place ${OF_MESSAGE} AND r.emoji = input.emoji`)}
          OR (SELECT COUNT(DISTINCT r.place) ${OF_MESSAGE}) < ${raw(String(MAX_EMOJI))})),
    new_reactions AS (INSERT INTO reactions (message_id, place, nth, emoji, user_id)
      SELECT message_id, place, nth, emoji, user_id FROM found),
    new_flags AS (UPDATE messages SET has_reactions = 1 FROM found
      WHERE messages.id = found.message_id AND messages.has_reactions = 0),
    ${publish("reaction.created")}
    SELECT n FROM found`;

const toRemoved = (rows: string): Statement<{ n: number }> =>
  sql`WITH ${input(rows)},
    found AS MATERIALIZED (SELECT input.*, m.conversation_id ${FROM_SEEN} AND ${some(OWN_REACTION)}),
    removed AS (DELETE FROM reactions WHERE (user_id, message_id, emoji) IN
      (SELECT user_id, message_id, emoji FROM found)),
    ${publish("reaction.deleted")}
    SELECT n FROM found`;

function toRow(toStatement: BulkRow["toStatement"], { userId, messageId, emoji, now }: React): BulkRow {
  return {
    toStatement,
    values: { user_id: userId, message_id: messageId, emoji, emoji_json: JSON.stringify(emoji), now },
    places: [messageId],
    toResult: () => undefined,
  };
}

export const addReaction = (input: React): BulkRow => toRow(toAdded, input);
export const removeReaction = (input: React): BulkRow => toRow(toRemoved, input);
