import { toSeconds } from "../../../../util/clock.ts";
import { INTO_OUTBOX } from "../../../queries/events/events.ts";
import type { CreateContact, CreatedContact } from "../../../queries/people/contacts.ts";
import { INTO_AUDIT } from "../../../queries/record/audit-trail.ts";
import { type Statement, sql } from "../../../sql.ts";
import { type BulkRow, IS_UNUSED, KEY_INPUT, none } from "./bulk.ts";

/**
 * Selects the owner's contact with this username, in an order that only one index has: while the table is small, PostgreSQL rates
 * all indexes as equally good, and it keeps its plan when the table has grown.
 */
function contactOf(ownerId: Statement, usernameKey: Statement): Statement {
  return sql`SELECT c.username_key FROM contacts c WHERE c.owner_id = ${ownerId}
    AND c.username_key >= ${usernameKey} AND c.username_key <= ${usernameKey} ORDER BY c.username_key`;
}

/**
 * Creates contacts that need no joining: the owner has not blocked the username, and the user of that name, if there is one, neither
 * has the owner as a contact nor accepts everyone. Two users who add each other in the same statement are left out, because neither
 * would see the other's row.
 */
const toStatement = (rows: string): Statement<{ n: number }> =>
  sql`WITH input AS (SELECT * FROM json_to_recordset(${rows}) AS rows (${KEY_INPUT}, owner_id TEXT COLLATE "C",
      id TEXT COLLATE "C", username_key TEXT COLLATE "C", phone_digits TEXT COLLATE "C", search_key TEXT COLLATE "C",
      conversation_id TEXT COLLATE "C", body TEXT, created_at BIGINT, act_id TEXT COLLATE "C", token_id TEXT COLLATE "C",
      acted_by_id TEXT COLLATE "C")),
    found AS MATERIALIZED (
      SELECT input.* FROM input CROSS JOIN users u
        LEFT JOIN users them ON them.username_key = input.username_key AND them.id <> u.id
      WHERE u.id = input.owner_id AND u.username_key <> input.username_key
        AND ${none(contactOf(sql`input.owner_id`, sql`input.username_key`))}
        AND ${none(sql`SELECT b.owner_id FROM blocks b
          WHERE b.owner_id = input.owner_id AND b.username_key = input.username_key`)}
        AND (them.id IS NULL OR (them.accepts_everyone = 0 AND ${none(contactOf(sql`them.id`, sql`u.username_key`))}
          AND ${none(sql`SELECT other.owner_id FROM input other WHERE other.owner_id = them.id`)}
          AND ${none(sql`SELECT i.inviter_id FROM invitations i
            WHERE i.inviter_id = them.id AND i.username_key = u.username_key`)}))
        AND ${IS_UNUSED}),
    new_contacts AS (
      INSERT INTO contacts
        (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body)
      SELECT owner_id, id, username_key, phone_digits, search_key, conversation_id, 1, body FROM found),
    new_members AS (INSERT INTO members (conversation_id, user_id, joined_at, contact_id)
      SELECT conversation_id, owner_id, created_at, id FROM found),
    new_events AS (
      ${INTO_OUTBOX} SELECT owner_id, 'contact.created', conversation_id, created_at, body FROM found),
    new_entries AS (
      ${INTO_AUDIT} SELECT act_id, created_at, owner_id, token_id, acted_by_id, 'contact.created', id, NULL
      FROM found)
    SELECT n FROM found`;

/** Returns the row of a contact that may need no joining; undefined for others. */
export function createContact(input: CreateContact): BulkRow | undefined {
  const { ownerId, id, usernameKey, conversationId, createdAt } = input;
  if (input.blocked || input.maxContacts > 0) return undefined;
  return {
    toStatement,
    values: {
      owner_id: ownerId,
      id,
      username_key: usernameKey,
      phone_digits: input.phoneDigits,
      search_key: input.searchKey,
      conversation_id: conversationId,
      body: input.body,
      created_at: createdAt,
      act_id: input.actId,
      token_id: input.tokenId,
      acted_by_id: input.actedById,
    },
    places: [`${ownerId} ${usernameKey}`],
    toResult: (): CreatedContact => ({
      id,
      conversation_id: conversationId,
      created_at: toSeconds(createdAt),
    }),
  };
}
