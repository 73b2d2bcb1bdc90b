import { type Statement, sql } from "../../sql.ts";
import { get, type Write, write } from "../../write.ts";

/**
 * Selects contacts whose owner is not a member of their conversation. An older release that runs on a newer schema can create
 * them.
 */
export const LOST = sql`FROM contacts c WHERE NOT EXISTS (SELECT 1 FROM members m
    WHERE m.conversation_id = c.conversation_id AND m.user_id = c.owner_id AND m.contact_id = c.id)
  AND NOT EXISTS (SELECT 1 FROM erasing e WHERE e.user_id = c.owner_id)`;

interface ContactKey {
  ownerId: string;
  id: string;
}

export function lostContacts(): Statement<ContactKey> {
  return sql`SELECT c.owner_id AS "ownerId", c.id ${LOST} ORDER BY c.owner_id, c.id`;
}

/**
 * Makes the owner a member of the contact's conversation. The owner sees nothing that others have sent there before. Returns
 * false if that is impossible, or was done meanwhile.
 */
const repairContact = write({}, function* ({ ownerId, id }: ContactKey): Write<boolean> {
  const contact = yield* get(
    sql<{ conversation_id: string; body: string }>`SELECT c.conversation_id, c.body ${LOST}
      AND c.owner_id = ${ownerId} AND c.id = ${id}`,
  );
  if (!contact) return false;
  const { conversation_id: conversationId, body } = contact;
  const joinedAt = (JSON.parse(body) as { created_at: number }).created_at * 1000;
  const repaired = yield* get(
    sql`INSERT INTO members (conversation_id, user_id, joined_at, since_id, contact_id, contact_joined)
      SELECT ${conversationId}, ${ownerId}, CAST(${joinedAt} AS BIGINT),
        COALESCE((SELECT last_id FROM conversations WHERE id = ${conversationId}), ''), ${id},
        CASE WHEN EXISTS (SELECT 1 FROM members o WHERE o.conversation_id = ${conversationId} AND o.user_id <> ${ownerId})
          OR EXISTS (SELECT 1 FROM departures d WHERE d.conversation_id = ${conversationId} AND d.user_id <> ${ownerId})
          THEN 1 ELSE 0 END
      WHERE true
      ON CONFLICT (conversation_id, user_id) DO UPDATE
        SET contact_id = excluded.contact_id, contact_joined = excluded.contact_joined
        WHERE members.contact_id IS NULL AND members.group_id IS NULL
      RETURNING contact_id`,
  );
  return repaired !== undefined;
});

export const repairWrites = { repairContact };
