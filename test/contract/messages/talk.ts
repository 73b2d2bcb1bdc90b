import type { Database } from "../../../src/db/database.ts";
import { NEWEST, OLDEST } from "../../../src/db/page.ts";
import type { SendMessage } from "../../../src/db/queries/messages/message-send.ts";
import { listMessageRows } from "../../../src/db/queries/messages/messages.ts";
import { findSeat } from "../../../src/db/queries/visibility/seats.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { addUser, anEntry, contact, message, messageId } from "../../support/rows.ts";

/** The conversation of a and b. */
export const SHARED = "cnv_a_1";

/** Adds users a and b who have each other as contacts. */
export async function meet(db: Database): Promise<void> {
  for (const name of ["a", "b"]) await addUser(db, name);
  await add(db, "a", "b");
  await add(db, "b", "a");
}

let contacts = 0;

/** Adds a contact. The first one of each user has the number 1. */
export async function add(db: Database, owner: string, name: string, blocked = false): Promise<string> {
  const existing = await db.get(sql`SELECT 1 AS one FROM contacts WHERE id = ${contact(owner, 1).id}`);
  const input = contact(owner, existing ? ++contacts + 1 : 1);
  await db.write("createContact", { ...input, usernameKey: name, blocked, limit: 2 });
  return input.id;
}

export const leave = (db: Database, ownerId: string, id = contact(ownerId, 1).id, limit = 250) =>
  db.write("deleteContact", { ownerId, id, deletedAt: 1, limit, expected: null, entry: anEntry() });

export const block = (db: Database, ownerId: string, usernameKey: string, blockedAt: number | null = 1) =>
  db.write("setBlock", { ownerId, usernameKey, username: usernameKey.toUpperCase(), blockedAt, now: 1 });

/** Sends a message and returns its id. */
export const send = async (
  db: Database,
  sender: string,
  number: number,
  fields: Partial<SendMessage> = {},
): Promise<string> => (await db.write("createMessage", message(sender, number, SHARED, fields))).id;

/** Returns the numbers of the messages that the user sees, oldest first. */
export async function seenBy(db: Database, user: string, conversation = SHARED): Promise<number[]> {
  const seat = await findSeat(db, conversation, user);
  if (!seat) return [];
  const newer = await listMessageRows(db, seat, { cursor: OLDEST, newer: true, limit: 1000 });
  const older = await listMessageRows(db, seat, { cursor: NEWEST, newer: false, limit: 1000 });
  const ids = newer.map(({ id }) => id);
  if (
    older
      .map(({ id }) => id)
      .reverse()
      .join() !== ids.join()
  )
    throw new Error("The directions differ.");
  return ids.map((id) => Array.from({ length: 100 }, (_, n) => messageId(n)).indexOf(id));
}

/** Returns the types and ids of the user's events, oldest first. */
export async function eventsOf(db: Database, user: string): Promise<string[]> {
  while ((await db.write("numberEvents", { limit: 100 })) > 0);
  const rows = await db.all<{ type: string; payload: string }>(
    sql`SELECT type, payload FROM events WHERE recipient_id = ${user} ORDER BY number`,
  );
  return rows.map(({ type, payload }) => `${type} ${JSON.parse(payload).id}`);
}

export async function count(db: Database, from: string): Promise<number> {
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM ${raw(from)}`))!.count;
}

export async function eraseAll(db: Database, limit = 250): Promise<void> {
  for (let steps = 0; await db.write("eraseStep", { limit, now: 1, messageId: "m" }); steps++)
    if (steps > 500) throw new Error("The eraser does not come to an end.");
}
