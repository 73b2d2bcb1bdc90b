import { type Reader, type Statement, sql } from "../../sql.ts";
import { batch, type Write } from "../../write.ts";

/**
 * Lists the keys of deleted bytes that are still to be erased, oldest first. None while a hold is valid at `now`
 * (milliseconds).
 */
export async function listTombstones(db: Reader, now: number, limit: number): Promise<string[]> {
  const rows = await db.all<{ blob_key: string }>(
    // Ordered by the key, so that the index finds a hold.
    sql`SELECT blob_key FROM tombstones
      WHERE (SELECT name FROM holds WHERE until > ${now} ORDER BY name LIMIT 1) IS NULL
      ORDER BY created_at, blob_key LIMIT ${limit} + 0`,
  );
  return rows.map((row) => row.blob_key);
}

export async function countTombstones(db: Reader): Promise<number> {
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM tombstones`))!.count;
}

/** Part of other writes. */
export function createTombstone(blobKey: string, createdAt: number): Statement {
  return sql`INSERT INTO tombstones (blob_key, created_at) VALUES (${blobKey}, ${createdAt})`;
}

/** Call this after their bytes are erased. */
function* dropTombstones(input: { blobKeys: string[] }): Write<void> {
  yield* batch(input.blobKeys.map((key) => sql`DELETE FROM tombstones WHERE blob_key = ${key}`));
}

export const tombstoneWrites = { dropTombstones };
