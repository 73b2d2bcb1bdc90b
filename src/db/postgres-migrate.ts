import { readdirSync, readFileSync } from "node:fs";
import type { ClientBase } from "pg";
import { OperatorError } from "../errors.ts";

const FOLDER = new URL("./migrations/postgres/", import.meta.url);
/** Of the advisory lock under which schemas are brought forward; any number that nothing else takes. */
const LOCK = 7_270_535_921;

/**
 * Runs the migrations (files `NNNN-name.sql`, in order) that the database has not had, in one transaction and one
 * process at a time. Throws where the database is newer than this code.
 */
export async function migratePostgres(client: ClientBase): Promise<void> {
  const files = migrations();
  // Whatever the database's default is: what another node committed while this one waited must be seen.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    await client.query("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)");
    const current = await version(client);
    refuseNewer(current, files.length);
    for (const file of files.slice(current)) await client.query(readFileSync(new URL(file, FOLDER), "utf8"));
    await client.query("DELETE FROM schema_version");
    await client.query("INSERT INTO schema_version (version) VALUES ($1)", [files.length]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** For commands beside a server, which may be of an older version: only a start brings a schema forward. */
export async function requireCurrentPostgres(client: ClientBase): Promise<void> {
  const newest = migrations().length;
  const { rows } = await client.query("SELECT to_regclass('schema_version') AS found");
  const current = rows[0].found === null ? 0 : await version(client);
  refuseNewer(current, newest);
  if (current === newest) return;
  throw new OperatorError(
    current === 0
      ? "There is no Parley in this database. Start the server on it once."
      : `The database has schema version ${current}, and this command needs ${newest}. Back the database up, and ` +
          "start this Parley on it once: that brings it forward. Or use the Parley that it is of.",
  );
}

function migrations(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".sql"))
    .sort();
}

async function version(client: ClientBase): Promise<number> {
  const { rows } = await client.query("SELECT version FROM schema_version");
  return rows[0]?.version ?? 0;
}

function refuseNewer(current: number, newest: number): void {
  if (current <= newest) return;
  throw new OperatorError(
    `The database has schema version ${current}, and this Parley knows versions up to ${newest}. ` +
      "Start the newer Parley that last ran on it.",
  );
}
