// Starts the PostgreSQL that tests share, once for a run: `--test-global-setup`.
import { existsSync, statfsSync } from "node:fs";
import { makeTemplate, type PostgresServer, startPostgres } from "./postgres.ts";

const MEMORY = "/dev/shm";
const GIB = 1024 ** 3;

let postgres: PostgresServer | undefined;

export async function globalSetup(): Promise<void> {
  useMemory();
  if (!process.env.PARLEY_TEST_POSTGRES_URL) {
    postgres = await startPostgres();
    process.env.PARLEY_TEST_POSTGRES_URL = postgres.url;
  }
  await makeTemplate(process.env.PARLEY_TEST_POSTGRES_URL);
}

export async function globalTeardown(): Promise<void> {
  await postgres?.remove();
}

/**
 * Moves temporary folders into memory if there is enough: tests create thousands of databases, and on a disk their
 * syncs wait for each other. Long versions of faults stay on the disk, because their files are large.
 */
function useMemory(): void {
  if (process.env.TMPDIR || process.env.PARLEY_FAULTS || !existsSync(MEMORY)) return;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize > 4 * GIB) process.env.TMPDIR = MEMORY;
}
