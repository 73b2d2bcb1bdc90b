import { toSeconds } from "../../../util/clock.ts";
import { JsonObject } from "../../../util/json-object.ts";
import { list, padded, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";

/**
 * The JSON text of a contact as it was created, when the contact was last active, in milliseconds (null if the owner may not see
 * that), and the profile.
 */
export type ListedContact = [body: string, activeAt: number | null, profile: string | null];
export type ContactRow = [...ListedContact, version: number];

/** Returns the contact as JSON text without its profile. */
export function toContact(body: string, activeAt: number | null): string {
  // A contact is stored as it is served, except for its activity.
  return activeAt === null
    ? body
    : new JsonObject(body).setNull("last_active_at", `${toSeconds(activeAt)}`).text;
}

/**
 * The profile of the peer of a contact `c`: id, avatar_id, avatar_url and display_name, with a space after each but the last. Only
 * the last may contain spaces, and those that are null are empty. One text, because each column would be another lookup: a join
 * may read all users.
 */
export const PEER_PROFILE = sql<string | null>`CASE WHEN c.peer_id IS NOT NULL THEN (SELECT
  u.id || ' ' || COALESCE(u.avatar_id, '') || ' ' || COALESCE(u.avatar_url, '') || ' ' || COALESCE(u.display_name, '')
  FROM users u WHERE u.id = c.peer_id) END`;

/** When a user was active: the start of the minute, in milliseconds. */
const ACTIVE_MINUTE = sql`(a.seen_at - a.seen_at % 60000)`;

/**
 * The columns of a listed contact `c`. Includes the activity and the profile only of a user who also has the owner as a contact,
 * and has not blocked the owner. Rounding to the minute gives no time before `peer_since`.
 */
export const LISTED = sql`c.body, CASE WHEN c.peer_id IS NOT NULL THEN (SELECT
  CASE WHEN ${ACTIVE_MINUTE} > c.peer_since THEN ${ACTIVE_MINUTE} ELSE c.peer_since END
  FROM activity a WHERE a.user_id = c.peer_id AND a.seen_at > c.peer_since) END AS active_at, ${PEER_PROFILE} AS profile`;

export function ofContact(ownerId: string, id: string): Statement {
  return sql`FROM contacts c WHERE c.owner_id = ${ownerId} AND c.id = ${id}`;
}

/** Returns the profiles of the peers of the owner's contacts, by the ids of the contacts. */
export async function findPeerProfiles(
  db: Reader,
  ownerId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const rows = await db.all(
    sql<{ id: string; profile: string | null }>`SELECT c.id, ${PEER_PROFILE} AS profile FROM contacts c
      WHERE c.owner_id = ${ownerId} AND c.id IN (${list(padded(ids))})`,
  );
  return new Map(rows.map(({ id, profile }) => [id, profile]));
}

/** Returns those of the ids that belong to contacts of the owner. */
export function findContacts(
  db: QuickReader,
  ownerId: string,
  ids: readonly string[],
): Promise<ListedContact[]> {
  return db.allValues(
    sql`SELECT ${LISTED} FROM contacts c WHERE c.owner_id = ${ownerId} AND c.id IN (${list(padded(ids))})`,
  );
}

export function findContact(db: QuickReader, ownerId: string, id: string): Promise<ContactRow | undefined> {
  return db.getValues(sql`SELECT ${LISTED}, c.version ${ofContact(ownerId, id)}`);
}
