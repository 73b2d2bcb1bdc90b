// Starts the servers that the tests share, once for a run: `--test-global-setup`.
import { installPackages } from "./packages.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { startS3 } from "./s3.ts";

let postgres: PostgresServer | undefined;
let stopS3: (() => void) | undefined;

export async function globalSetup(): Promise<void> {
  installPackages();
  stopS3 = await startS3();
  if (process.env.PARLEY_TEST_POSTGRES_URL) return;
  postgres = await startPostgres();
  process.env.PARLEY_TEST_POSTGRES_URL = postgres.url;
}

export async function globalTeardown(): Promise<void> {
  stopS3?.();
  await postgres?.remove();
}
