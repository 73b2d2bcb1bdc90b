import { ParleyError } from "../../../errors.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { eraseSome, get, run, type Write } from "../../write.ts";

/** A request with an Idempotency-Key: a replay gets the result of the first. */
export interface IdempotentRequest {
  userId: string;
  /** SHA-256 of the key. */
  keyHash: Uint8Array;
  /** SHA-256 of the content of the request. */
  fingerprint: Uint8Array;
  /** Milliseconds, as is `until`. */
  now: number;
  until: number;
  /** Set if the request began as a replay, so that it has not stored what a first request needs. */
  replayOnly: boolean;
}

interface StoredResult {
  fingerprint: Uint8Array;
  result: string;
  until: number;
}

function selectResult(userId: string, keyHash: Uint8Array): Statement<StoredResult> {
  return sql`SELECT fingerprint, result, until FROM idempotency WHERE user_id = ${userId} AND key_hash = ${keyHash}`;
}

/** Reports whether the key has been used, for any request. */
export async function isKeyUsed(
  db: Reader,
  userId: string,
  keyHash: Uint8Array,
  now: number,
): Promise<boolean> {
  const stored = await db.get(selectResult(userId, keyHash));
  return stored !== undefined && stored.until > now;
}

/**
 * Part of other writes: returns the result of the first request as JSON, undefined if this is the first. Throws
 * `idempotency_key_reused` if the first request was a different one, and `unavailable` if the key of a replay has expired meanwhile.
 */
export function* findResult(request: IdempotentRequest): Write<string | undefined> {
  const stored = yield* get(selectResult(request.userId, request.keyHash));
  if (!stored || stored.until <= request.now) {
    if (request.replayOnly) throw new ParleyError("unavailable");
    return undefined;
  }
  if (Buffer.compare(stored.fingerprint, request.fingerprint) !== 0)
    throw new ParleyError("idempotency_key_reused");
  return stored.result;
}

/** Part of other writes. */
export function* storeResult(request: IdempotentRequest, result: string): Write<void> {
  const { userId, keyHash, fingerprint, until } = request;
  yield* run(
    sql`INSERT INTO idempotency (user_id, key_hash, fingerprint, result, until)
      VALUES (${userId}, ${keyHash}, ${fingerprint}, ${result}, ${until})
      ON CONFLICT (user_id, key_hash) DO UPDATE SET fingerprint = excluded.fingerprint, result = excluded.result,
        until = excluded.until`,
  );
}

/** Part of erasing a user. Returns how many were erased; fewer than `limit` means that none are left. */
export function forgetKeysOf(userId: string, limit: number): Write<number> {
  return eraseSome("idempotency", ["user_id", "key_hash"], sql`user_id = ${userId}`, limit);
}

export async function hasLapsedKeys(db: Reader, now: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM idempotency WHERE until <= ${now} LIMIT 1`)) !== undefined;
}

/** Erases a few expired keys at a time, so that no other write waits long. */
function* forgetKeys(input: { now: number; limit: number }): Write<void> {
  yield* run(
    sql`DELETE FROM idempotency WHERE (user_id, key_hash) IN (
      SELECT user_id, key_hash FROM idempotency WHERE until <= ${input.now} ORDER BY until LIMIT ${input.limit} + 0)`,
  );
}

export const idempotencyWrites = { forgetKeys };
