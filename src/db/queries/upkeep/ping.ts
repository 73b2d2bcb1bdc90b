import { ParleyError } from "../../../errors.ts";
import { type Reader, sql } from "../../sql.ts";

/** Throws `unavailable` if the database does not answer. It reads a table, because a query without one reads no page. */
export async function ping(db: Reader): Promise<void> {
  try {
    await db.get(sql`SELECT 1 AS one FROM users LIMIT 1`);
  } catch (error) {
    // This server refuses the query itself, and the error has the reason.
    if (error instanceof ParleyError && error.cause === undefined) throw error;
    throw new ParleyError("unavailable", "The database does not answer.", { cause: error });
  }
}
