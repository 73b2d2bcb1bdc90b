import { ParleyError } from "../../../errors.ts";
import { roundedSize } from "../../../util/sizes.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { get, run, type Write, write } from "../../write.ts";

// The used storage of a user is the sum of the files that the user has uploaded and still sees. It is kept as a counter, and
// `parley check` compares that with the rows.

/** Users compared at a time. */
const PAGE = 20;

/** Bytes. */
export async function storageUsed(db: Reader, userId: string): Promise<number> {
  const row = await db.get<{ used: number }>(sql`SELECT used FROM storage WHERE user_id = ${userId}`);
  return row?.used ?? 0;
}

/** Adds up the storage of the next users after this one, at most `limit`. `last` is the last of them; null if there are none. */
export async function sumStorage(
  db: Reader,
  after: string,
  limit: number,
): Promise<{ bytes: number; last: string | null }> {
  const row = await db.get<{ bytes: number; last: string | null }>(
    sql`SELECT CAST(COALESCE(SUM(used), 0) AS BIGINT) AS bytes, MAX(user_id) AS last
      FROM (SELECT user_id, used FROM storage WHERE user_id > ${after} ORDER BY user_id LIMIT ${limit} + 0) AS part`,
  );
  return row!;
}

/** Part of other writes: negative bytes for a deleted file. */
export function addStorage(userId: string, bytes: number): Statement {
  return sql`UPDATE storage SET used = used + ${bytes} WHERE user_id = ${userId}`;
}

/** Part of other writes: subtracts an erased file, unless its uploader no longer has a grant: then it does not count. */
export function returnStorage(file: { id: string; uploader_id: string; file_size: number }): Statement[] {
  const isTheirs = sql`user_id = ${file.uploader_id} AND attachment_id = ${file.id}`;
  return [
    sql`UPDATE storage SET used = used - ${file.file_size} WHERE user_id = ${file.uploader_id}
      AND EXISTS (SELECT 1 FROM grants WHERE ${isTheirs})`,
    sql`DELETE FROM grants WHERE ${isTheirs}`,
  ];
}

/** An upload's claim on its user's quota. */
export interface Reservation {
  id: string;
  userId: string;
  bytes: number;
  /** The limit for all files of the user, in bytes. */
  quota: number;
  /** Milliseconds. */
  now: number;
}

/**
 * Reserves quota for the bytes until this time (milliseconds), replacing the reservation of the same upload. If they exceed the
 * quota, returns the reason and drops the reservation, so that other uploads can use it.
 */
export const reserveStorage = write(
  { serializeBy: ({ userId }) => userId },
  function* (input: Reservation & { until: number }): Write<string | null> {
    const refusal = yield* findRefusal(input);
    yield* run(refusal === null ? reserve(input) : dropReservation(input));
    return refusal;
  },
);

/** Part of other writes. */
export function reserve({ userId, id, bytes, until }: Reservation & { until: number }): Statement {
  return sql`INSERT INTO reservations (user_id, id, bytes, until) VALUES (${userId}, ${id}, ${bytes}, ${until})
    ON CONFLICT (user_id, id) DO UPDATE SET bytes = excluded.bytes, until = excluded.until`;
}

/** Call this if the upload failed. */
function* releaseStorage(input: { userId: string; id: string }): Write<void> {
  yield* run(dropReservation(input));
}

/** Part of other writes. */
export function dropReservation({ userId, id }: { userId: string; id: string }): Statement {
  return sql`DELETE FROM reservations WHERE user_id = ${userId} AND id = ${id}`;
}

/** Part of other writes. Throws `quota_exceeded`. */
export function* checkQuota(reservation: Reservation): Write<void> {
  const refusal = yield* findRefusal(reservation);
  if (refusal !== null) throw new ParleyError("quota_exceeded", refusal);
}

/** Returns the reason if the bytes, stored files and other reservations exceed the quota; otherwise null. */
function* findRefusal({ id, userId, bytes, quota, now }: Reservation): Write<string | null> {
  const row = yield* get<{ used: number; promised: number }>(
    sql`SELECT s.used, COALESCE((SELECT SUM(r.bytes) FROM reservations r
        WHERE r.user_id = s.user_id AND r.id <> ${id} AND r.until > ${now}), 0) AS promised
      FROM storage s WHERE s.user_id = ${userId}`,
  );
  const taken = (row?.used ?? 0) + (row?.promised ?? 0);
  if (taken + bytes <= quota) return null;
  return `Your files and uploads take ${roundedSize(taken)} of ${roundedSize(quota)}, and this one has ${roundedSize(bytes)}. Delete some first.`;
}

const DAY_MS = 24 * 3600 * 1000;

function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}

/** Throws `daily_limit_reached` if the user has uploaded `limit` files today. The commit of a file checks this again. */
export async function checkDailyLimit(db: Reader, userId: string, limit: number, now: number): Promise<void> {
  const reached = await db.get(
    sql`SELECT 1 AS one FROM storage WHERE user_id = ${userId} AND day = ${dayOf(now)} AND files >= ${limit}`,
  );
  if (reached) throw dailyLimitReached(limit, now);
}

/** Part of other writes: counts a file for today. Throws `daily_limit_reached`. */
export function* countFile(userId: string, limit: number, now: number): Write<void> {
  const day = dayOf(now);
  const counted = yield* get(
    sql`UPDATE storage SET files = CASE WHEN day = ${day} THEN files + 1 ELSE 1 END, day = ${day}
      WHERE user_id = ${userId} AND (day <> ${day} OR files < ${limit}) RETURNING files`,
  );
  if (!counted) throw dailyLimitReached(limit, now);
}

function dailyLimitReached(limit: number, now: number): ParleyError {
  const seconds = Math.ceil(((dayOf(now) + 1) * DAY_MS - now) / 1000);
  const detail = `You can upload ${limit} files per day (UTC). Retry after the time in the Retry-After header.`;
  return new ParleyError("daily_limit_reached", detail, { header: String(seconds) });
}

/** A user whose counter differs from the sum of the files. */
export interface Miscount {
  user_id: string;
  username: string;
  /** Bytes, as is `found`. */
  used: number;
  found: number;
}

/** Yields the users with wrong counters. Uses one statement per user, so that it is also correct while a server runs. */
export async function* findMiscounts(db: Reader): AsyncGenerator<Miscount> {
  for (let last = ""; ; ) {
    const users = await db.all<Miscount>(
      sql`SELECT u.id AS user_id, u.username, COALESCE(s.used, 0) AS used, COALESCE((
          SELECT SUM(a.file_size) FROM grants g JOIN attachments a ON a.id = g.attachment_id
            AND a.uploader_id = g.user_id
          WHERE g.user_id = u.id), 0) AS found
        FROM users u LEFT JOIN storage s ON s.user_id = u.id WHERE u.id > ${last} ORDER BY u.id LIMIT ${PAGE} + 0`,
    );
    yield* users.filter(({ used, found }) => used !== found);
    if (users.length < PAGE) return;
    last = users.at(-1)!.user_id;
  }
}

// A resumable upload keeps its reservation.
const ENDS_WITH_PROCESS = sql`NOT EXISTS (SELECT 1 FROM uploads u WHERE u.id = reservations.id)`;

/** Deletes reservations of uploads that a crash interrupted. */
function* lapseReservations(input: { now: number }): Write<void> {
  yield* run(sql`DELETE FROM reservations WHERE until <= ${input.now}`);
}

export async function hasLapsedReservations(db: Reader, now: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM reservations WHERE until <= ${now} LIMIT 1`)) !== undefined;
}

/** Deletes the reservations of all uploads that end with the process. */
function* dropReservations(): Write<void> {
  yield* run(sql`DELETE FROM reservations WHERE ${ENDS_WITH_PROCESS}`);
}

export async function hasReservations(db: Reader): Promise<boolean> {
  return (
    (await db.get(sql`SELECT 1 AS one FROM reservations WHERE ${ENDS_WITH_PROCESS} LIMIT 1`)) !== undefined
  );
}

export const storageWrites = { reserveStorage, releaseStorage, lapseReservations, dropReservations };
