import { get, type Reader, run, type Write } from "./sql.ts";

interface Intent {
  blobKey: string;
  /** Milliseconds. */
  until: number;
}

/** Committed before any byte of a blob comes to a store that cannot tell an upload that was cut off from a file. */
export function* createIntent(input: Intent): Write<void> {
  yield* run("INSERT INTO intents (blob_key, until) VALUES (?, ?)", input.blobKey, input.until);
}

/** False where the intent has lapsed meanwhile. */
export function* renewIntent(input: Intent): Write<boolean> {
  const sql = "UPDATE intents SET until = ? WHERE blob_key = ? RETURNING blob_key";
  return (yield* get(sql, input.until, input.blobKey)) !== undefined;
}

/** After the blob was discarded. */
export function* dropIntent(input: { blobKey: string }): Write<void> {
  yield* run("DELETE FROM intents WHERE blob_key = ?", input.blobKey);
}

/** Makes tombstones of the intents that nobody has renewed: from then on no row can be committed for their bytes. */
export function* lapseIntents(input: { now: number }): Write<void> {
  const gone = (yield [
    { sql: "DELETE FROM intents WHERE until < ? RETURNING blob_key", params: [input.now] },
  ])[0] as { blob_key: string }[];
  yield gone.map(({ blob_key }) => ({
    sql: "INSERT INTO tombstones (blob_key, created_at) VALUES (?, ?)",
    params: [blob_key, input.now],
  }));
}

export async function hasIntent(db: Reader, blobKey: string): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM intents WHERE blob_key = ?", blobKey)) !== undefined;
}

export async function countIntents(db: Reader): Promise<number> {
  return (await db.get<{ count: number }>("SELECT COUNT(*) AS count FROM intents"))!.count;
}

export async function hasLapsedIntents(db: Reader, now: number): Promise<boolean> {
  return (await db.get("SELECT 1 AS one FROM intents WHERE until < ? LIMIT 1", now)) !== undefined;
}
