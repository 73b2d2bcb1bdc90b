import type { Reader } from "./sql.ts";

/** Throws where the database does not answer. */
export async function ping(db: Reader): Promise<void> {
  await db.get("SELECT 1 AS one");
}
