import { ParleyError } from "../errors.ts";
import { get, type Reader, run, type Write } from "./sql.ts";

/** A request with an Idempotency-Key: the same again is answered as the first was. */
export interface Once {
  userId: string;
  /** SHA-256 of the key. */
  keyHash: Uint8Array;
  /** SHA-256 of all that the request asks for. */
  fingerprint: Uint8Array;
  /** Milliseconds, as is `until`. */
  now: number;
  until: number;
}

interface Kept {
  fingerprint: Uint8Array;
  result: string;
  until: number;
}

const FIND = "SELECT fingerprint, result, until FROM idempotency WHERE user_id = ? AND key_hash = ?";

/** Whether the key has been used, for whatever request. */
export async function isKeyUsed(
  db: Reader,
  userId: string,
  keyHash: Uint8Array,
  now: number,
): Promise<boolean> {
  const kept = await db.get<Kept>(FIND, userId, keyHash);
  return kept !== undefined && kept.until > now;
}

/** Part of other writes: what the first request has come to, as JSON. Throws `idempotency_key_reused` for another request. */
export function* findResult(once: Once): Write<string | undefined> {
  const kept = yield* get<Kept>(FIND, once.userId, once.keyHash);
  if (!kept || kept.until <= once.now) return undefined;
  if (Buffer.compare(kept.fingerprint, once.fingerprint) !== 0)
    throw new ParleyError("idempotency_key_reused");
  return kept.result;
}

/** Part of other writes. */
export function* keepResult(once: Once, result: string): Write<void> {
  yield* run(
    `INSERT INTO idempotency (user_id, key_hash, fingerprint, result, until) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (user_id, key_hash) DO UPDATE SET fingerprint = excluded.fingerprint,
       result = excluded.result, until = excluded.until`,
    once.userId,
    once.keyHash,
    once.fingerprint,
    result,
    once.until,
  );
}

export async function hasLapsedKeys(db: Reader, now: number): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM idempotency WHERE until <= ? LIMIT 1", now)) !== undefined;
}

/** Some at a time, so that no other write waits for long. */
export function* forgetKeys(input: { now: number; limit: number }): Write<void> {
  yield* run(
    `DELETE FROM idempotency WHERE (user_id, key_hash) IN (
       SELECT user_id, key_hash FROM idempotency WHERE until <= ? ORDER BY until LIMIT ? + 0)`,
    input.now,
    input.limit,
  );
}
