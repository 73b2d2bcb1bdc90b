import { ParleyError } from "../errors.ts";
import type { Reader } from "./sql.ts";

/** Throws `unavailable` where the database does not answer. It reads a table: without one no page would be read. */
export async function ping(db: Reader): Promise<void> {
  try {
    await db.get("SELECT 1 AS one FROM users LIMIT 1");
  } catch (error) {
    throw new ParleyError("unavailable", "The database does not answer.", { cause: error });
  }
}
