import { type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, get, run, type Write } from "../../write.ts";
import { createTombstone } from "./tombstones.ts";

interface Intent {
  blobKey: string;
  /** Milliseconds. */
  until: number;
}

/** Records an upload before its first byte reaches a store that cannot distinguish interrupted uploads from files. */
export function* createIntent(input: Intent): Write<void> {
  yield* run(insertIntent(input));
}

/** Part of other writes. */
export function insertIntent({ blobKey, until }: Intent): Statement {
  return sql`INSERT INTO intents (blob_key, until) VALUES (${blobKey}, ${until})`;
}

/** Extends an intent. Returns false if it has expired. */
function* renewIntent(input: Intent): Write<boolean> {
  const renewed = yield* get(
    sql`UPDATE intents SET until = ${input.until} WHERE blob_key = ${input.blobKey} RETURNING blob_key`,
  );
  return renewed !== undefined;
}

/** Removes an intent. Call this after the blob was discarded. */
function* dropIntent(input: { blobKey: string }): Write<void> {
  yield* run(sql`DELETE FROM intents WHERE blob_key = ${input.blobKey}`);
}

/** Turns expired intents into tombstones: from then on no row can be committed for their bytes. */
function* lapseIntents(input: { now: number }): Write<void> {
  const gone = yield* all<{ blob_key: string }>(
    sql`DELETE FROM intents WHERE until < ${input.now} RETURNING blob_key`,
  );
  yield* batch(gone.map(({ blob_key }) => createTombstone(blob_key, input.now)));
}

/**
 * Part of the write that commits the blob's row. Returns no row if the intent has expired, so that its bytes are
 * erased.
 */
export function settleIntent(blobKey: string): Statement {
  return sql`DELETE FROM intents WHERE blob_key = ${blobKey} RETURNING blob_key`;
}

export async function hasIntent(db: Reader, blobKey: string): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM intents WHERE blob_key = ${blobKey}`)) !== undefined;
}

export async function countIntents(db: Reader): Promise<number> {
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM intents`))!.count;
}

export async function hasLapsedIntents(db: Reader, now: number): Promise<boolean> {
  return (await db.get(sql`SELECT 1 AS one FROM intents WHERE until < ${now} LIMIT 1`)) !== undefined;
}

export const intentWrites = { createIntent, renewIntent, dropIntent, lapseIntents };
