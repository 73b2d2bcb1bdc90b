import { type Reader, run, statement, type Write } from "./sql.ts";

/**
 * Keys of bytes that no row has any more and that are still to be erased, oldest first. None while a hold is in
 * force at `now` (milliseconds).
 */
export async function listTombstones(db: Reader, now: number, limit: number): Promise<string[]> {
  const rows = await db.all<{ blob_key: string }>(
    `SELECT blob_key FROM tombstones WHERE NOT EXISTS (SELECT 1 FROM holds WHERE until > ?)
     ORDER BY created_at, blob_key LIMIT ? + 0`,
    now,
    limit,
  );
  return rows.map((row) => row.blob_key);
}

export async function countTombstones(db: Reader): Promise<number> {
  return (await db.get<{ count: number }>("SELECT COUNT(*) AS count FROM tombstones"))!.count;
}

/** Part of other writes. */
export function* createTombstone(blobKey: string, createdAt: number): Write<void> {
  yield* run("INSERT INTO tombstones (blob_key, created_at) VALUES (?, ?)", blobKey, createdAt);
}

/** After their bytes are gone. */
export function* dropTombstones(input: { blobKeys: string[] }): Write<void> {
  yield input.blobKeys.map((key) => statement("DELETE FROM tombstones WHERE blob_key = ?", key));
}
