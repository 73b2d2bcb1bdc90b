import { ParleyError } from "../errors.ts";
import { roundedSize } from "../util/sizes.ts";
import { get, type Reader, type Statement, statement, type Write } from "./sql.ts";

// What a user's files take: the sum of those that the user has uploaded and still sees. It is a count, not asked of all
// rows each time; `parley check` compares the two.

/** Users that are compared at a time. */
const PAGE = 20;

/** Bytes. */
export async function storageUsed(db: Reader, userId: string): Promise<number> {
  const row = await db.get<{ used: number }>("SELECT used FROM storage WHERE user_id = ?", userId);
  return row?.used ?? 0;
}

/** Part of other writes: negative bytes where a file goes. */
export function addStorage(userId: string, bytes: number): Statement {
  return statement("UPDATE storage SET used = used + ? WHERE user_id = ?", bytes, userId);
}

const SENT = `FROM grants g JOIN attachments a ON a.id = g.attachment_id AND a.uploader_id = g.user_id
  WHERE g.user_id = ? AND g.conversation_id = ?`;

/** Part of other writes, before the grants go: what the user has sent in this conversation counts no longer. */
export function releaseSent(userId: string, conversationId: string): Statement {
  return statement(
    `UPDATE storage SET used = used - (SELECT SUM(a.file_size) ${SENT})
     WHERE user_id = ? AND EXISTS (SELECT 1 ${SENT})`,
    userId,
    conversationId,
    userId,
    userId,
    conversationId,
  );
}

/** An upload's claim on its user's quota. */
export interface Reservation {
  id: string;
  userId: string;
  bytes: number;
  /** Of all files of the user, bytes. */
  quota: number;
  /** Milliseconds. */
  now: number;
}

/** Promises room for the bytes until then (milliseconds). Throws `quota_exceeded`. */
export function* reserveStorage(input: Reservation & { until: number }): Write<void> {
  yield* checkQuota(input);
  yield [
    statement(
      "INSERT INTO reservations (user_id, id, bytes, until) VALUES (?, ?, ?, ?)",
      input.userId,
      input.id,
      input.bytes,
      input.until,
    ),
  ];
}

/** Where the upload came to nothing. */
export function* releaseStorage(input: { userId: string; id: string }): Write<void> {
  yield [dropReservation(input)];
}

/** Part of other writes. */
export function dropReservation({ userId, id }: { userId: string; id: string }): Statement {
  return statement("DELETE FROM reservations WHERE user_id = ? AND id = ?", userId, id);
}

/** Part of other writes. Throws `quota_exceeded` where the bytes have no room beside all else that is there or promised. */
export function* checkQuota({ id, userId, bytes, quota, now }: Reservation): Write<void> {
  const row = yield* get<{ used: number; promised: number }>(
    `SELECT s.used, COALESCE((SELECT SUM(r.bytes) FROM reservations r
       WHERE r.user_id = s.user_id AND r.id <> ? AND r.until > ?), 0) AS promised
     FROM storage s WHERE s.user_id = ?`,
    id,
    now,
    userId,
  );
  const taken = (row?.used ?? 0) + (row?.promised ?? 0);
  if (taken + bytes <= quota) return;
  throw new ParleyError(
    "quota_exceeded",
    `Your files and uploads take ${roundedSize(taken)} of ${roundedSize(quota)}, and this one has ${roundedSize(bytes)}. Delete some first.`,
  );
}

/** A user whose count is not the sum of the files. */
export interface Miscount {
  user_id: string;
  username: string;
  /** Bytes, as is `found`. */
  used: number;
  found: number;
}

/** Right also beside a running server: each user is asked for in one statement. */
export async function* findMiscounts(db: Reader): AsyncGenerator<Miscount> {
  for (let last = ""; ; ) {
    const users = await db.all<Miscount>(
      `SELECT u.id AS user_id, u.username, COALESCE(s.used, 0) AS used, COALESCE((
         SELECT SUM(a.file_size) FROM grants g JOIN attachments a ON a.id = g.attachment_id AND a.uploader_id = g.user_id
         WHERE g.user_id = u.id), 0) AS found
       FROM users u LEFT JOIN storage s ON s.user_id = u.id WHERE u.id > ? ORDER BY u.id LIMIT ? + 0`,
      last,
      PAGE,
    );
    yield* users.filter(({ used, found }) => used !== found);
    if (users.length < PAGE) return;
    last = users.at(-1)!.user_id;
  }
}

/** Reservations of uploads that a crash cut off. */
export function* lapseReservations(input: { now: number }): Write<void> {
  yield [statement("DELETE FROM reservations WHERE until <= ?", input.now)];
}

export async function hasLapsedReservations(db: Reader, now: number): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM reservations WHERE until <= ? LIMIT 1", now)) !== undefined;
}
