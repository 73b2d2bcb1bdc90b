// Starts the servers that the tests share, once for a run: `--test-global-setup`.
import { type PostgresServer, startPostgres } from "./postgres.ts";

let postgres: PostgresServer | undefined;

export async function globalSetup(): Promise<void> {
  if (process.env.PARLEY_TEST_POSTGRES_URL) return;
  postgres = await startPostgres();
  process.env.PARLEY_TEST_POSTGRES_URL = postgres.url;
}

export async function globalTeardown(): Promise<void> {
  await postgres?.remove();
}
