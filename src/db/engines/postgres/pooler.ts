import type { Client } from "pg";
import { OperatorError } from "../../../errors.ts";

/** Other clients of the pooler can hide in one round which server connections it uses, but hardly in all. */
const ROUNDS = 5;

/**
 * Throws if a connection pooler gives the transactions of one connection to several server processes. Advisory locks,
 * notifications and prepared statements would then belong to any client, and writes would fail under load.
 */
export async function refuseTransactionPooler(client: Client, other: Client): Promise<void> {
  const first = await processOf(client);
  for (let round = 0; round < ROUNDS; round++) {
    await other.query("BEGIN");
    // If the transaction has our process, a pooler either gives us another one, or waits for its end.
    const isShared = (await processOf(other)) === first || (await processOf(client)) !== first;
    await other.query("ROLLBACK");
    if (isShared) {
      throw new OperatorError(
        "PARLEY_DATABASE_URL leads to a connection pooler that shares sessions, such as PgBouncer with pool_mode = transaction. " +
          "Set pool_mode = session for this database, or use the address of PostgreSQL itself.",
      );
    }
  }
}

async function processOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]!.pid;
}
