// Servers whose PostgreSQL is behind PgBouncer.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { commandLine, freePort, tokenOf } from "../../support/command.ts";
import { without } from "../../support/engines/packages.ts";
import { settingsOn, startPostgres } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";

const PGBOUNCER = "/usr/sbin/pgbouncer";

/** Starts a PostgreSQL and PgBouncer for it. Returns the URL of the database through PgBouncer. */
async function startPooler(t: TestContext, mode: string, connections = 30): Promise<string> {
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const folder = await mkdtemp(join(tmpdir(), "parley-pgbouncer-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [port, from] = [await freePort(), new URL(postgres.url)];
  const file = join(folder, "pgbouncer.ini");
  const settings = {
    ...{ listen_addr: "127.0.0.1", listen_port: port, unix_socket_dir: "", auth_type: "any" },
    ...{ pool_mode: mode, default_pool_size: connections, ignore_startup_parameters: "extra_float_digits" },
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const database = `postgres = host=127.0.0.1 port=${from.port} dbname=postgres user=postgres`;
  await writeFile(file, ["[databases]", database, "[pgbouncer]", ...lines, ""].join("\n"));
  // PgBouncer refuses to run as root.
  await chmod(folder, 0o755);
  const child = spawn(PGBOUNCER, ["-u", "nobody", file], { stdio: "ignore" });
  t.after(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  assert.ok(await eventually(() => answers(url)), "PgBouncer does not answer");
  return url;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client(url);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Uses connections of the pooler all the time while `act` runs. */
async function whileBusy(url: string, act: () => Promise<void>): Promise<void> {
  const ending = new AbortController();
  const working = Array.from({ length: 4 }, async () => {
    const client = new pg.Client(url);
    await client.connect();
    while (!ending.signal.aborted) await client.query("SELECT pg_sleep(0.001)");
    await client.end();
  });
  await act().finally(() => ending.abort());
  await Promise.all(working);
}

const REFUSED = {
  transaction: /Set pool_mode = session/,
  statement: /not allowed in statement pooling mode/,
};

for (const [mode, message] of Object.entries(REFUSED)) {
  test(`a pooler with pool_mode = ${mode} is refused at the start`, {
    skip: without(PGBOUNCER),
  }, async (t) => {
    const url = await startPooler(t, mode);
    const command = await commandLine(t, settingsOn(url));
    const refuse = async () => {
      const { code, stderr } = await command.run("serve");
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    };
    await refuse();
    await whileBusy(url, refuse);
    assert.match((await command.run("user", "list")).stderr, message);
  });
}

test("a pooler that shares its only connection is refused at once", {
  skip: without(PGBOUNCER),
}, async (t) => {
  const command = await commandLine(t, settingsOn(await startPooler(t, "transaction", 1)));
  const { code, stderr } = await command.run("serve");
  assert.equal(code, 2, stderr);
  assert.match(stderr, REFUSED.transaction);
});

test("a pooler with pool_mode = session works", { skip: without(PGBOUNCER) }, async (t) => {
  const command = await commandLine(t, settingsOn(await startPooler(t, "session")));
  const served = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(served)}`, "content-type": "application/json" };
  const create = (username: string) =>
    fetch(`${command.url}/v1/contacts`, {
      ...{ method: "POST", headers },
      body: JSON.stringify({ username, phone_number: "+15550100" }),
    });
  const answered = await Promise.all(Array.from({ length: 50 }, (_, i) => create(`user-${i}`)));
  assert.deepEqual([...new Set(answered.map(({ status }) => status))], [201]);
  assert.equal(await served.stop(), 0);
});
