import { ParleyError } from "../../../errors.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { eraseSome, get, run, type Write } from "../../write.ts";

/** How long an id stays taken after the sender no longer sees the message. */
const KEPT_MS = 90 * 24 * 3600 * 1000;

/** The id that a client gives a message, so that sending it again creates no second one. */
export interface ClientId {
  id: string;
  /** SHA-256 of the content of the request. */
  fingerprint: Uint8Array;
}

/** The message that a user has sent with a client id. It may be deleted. */
export interface SentBefore {
  message_id: string;
  fingerprint: Uint8Array;
}

export function findSentBefore(
  db: Reader,
  userId: string,
  clientId: string,
  now: number,
): Promise<SentBefore | undefined> {
  return db.get(
    sql<SentBefore>`SELECT message_id, fingerprint FROM client_ids
      WHERE user_id = ${userId} AND client_id = ${clientId} AND (until IS NULL OR until > ${now})`,
  );
}

interface Taken {
  id: string;
  conversationId: string;
  senderId: string;
}

/** Part of sending a message: takes the id for it. Throws `client_id_conflict` if another message has it. */
export function* takeClientId(
  { id, conversationId, senderId }: Taken,
  clientId: ClientId,
  now: number,
): Write<void> {
  const taken = yield* get(
    sql`INSERT INTO client_ids (user_id, client_id, fingerprint, conversation_id, message_id)
      VALUES (${senderId}, ${clientId.id}, ${clientId.fingerprint}, ${conversationId}, ${id})
      ON CONFLICT (user_id, client_id) DO UPDATE SET fingerprint = excluded.fingerprint,
        conversation_id = excluded.conversation_id, message_id = excluded.message_id, until = NULL
      WHERE client_ids.until <= ${now}
      RETURNING message_id`,
  );
  if (!taken) throw new ParleyError("client_id_conflict", undefined, { param: "client_id" });
}

/** A message with the id that its client gave it, if any. */
export interface IdentifiedMessage {
  id: string;
  sender_id: string;
  client_id: string | null;
}

/**
 * Part of other writes: starts the time after which the client id of a message is free, because its sender no longer sees the message.
 * Whether others still see it must not matter: the sender could find that out by sending with the id again.
 */
export function releaseClientId({ id, sender_id, client_id }: IdentifiedMessage, now: number): Statement[] {
  if (client_id === null) return [];
  return [
    sql`UPDATE client_ids SET until = ${now + KEPT_MS} WHERE user_id = ${sender_id} AND client_id = ${client_id}
      AND message_id = ${id} AND until IS NULL`,
  ];
}

/** Selects the client ids to release when a user leaves a conversation: those of the messages up to `untilId` that the user sent there. */
export function selectClientIds(
  userId: string,
  conversationId: string,
  untilId: string,
  limit: number,
): Statement<IdentifiedMessage> {
  return sql`SELECT message_id AS id, user_id AS sender_id, client_id FROM client_ids
    WHERE user_id = ${userId} AND conversation_id = ${conversationId} AND message_id <= ${untilId} AND until IS NULL
    LIMIT ${limit} + 0`;
}

/** Part of erasing a user. Returns how many were erased; fewer than `limit` means that none are left. */
export function forgetClientIdsOf(userId: string, limit: number): Write<number> {
  return eraseSome("client_ids", ["user_id", "client_id"], sql`user_id = ${userId}`, limit);
}

export async function hasLapsedClientIds(db: Reader, now: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM client_ids WHERE until <= ${now} LIMIT 1`)) !== undefined;
}

/** Erases a few expired ids at a time, so that no other write waits long. */
function* forgetClientIds(input: { now: number; limit: number }): Write<void> {
  yield* run(
    sql`DELETE FROM client_ids WHERE (user_id, client_id) IN (
      SELECT user_id, client_id FROM client_ids WHERE until <= ${input.now} ORDER BY until LIMIT ${input.limit} + 0)`,
  );
}

export const clientIdWrites = { forgetClientIds };
