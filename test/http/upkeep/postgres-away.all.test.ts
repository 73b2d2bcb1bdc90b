// Servers and commands whose PostgreSQL is down or hangs.
import assert from "node:assert/strict";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { commandLine } from "../../support/command.ts";
import { PASSWORD, settingsOn, startPostgres, testDatabase } from "../../support/engines/postgres.ts";
import { startProxy } from "../../support/engines/postgres-proxy.ts";

const NOWHERE = "postgres://postgres@127.0.0.1:1/postgres";

test("a command without PostgreSQL names the setting, not the password, and ends", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  proxy.stall(true);
  for (const url of [NOWHERE, "postgres://postgres@127.0.0.1:1/%zz", proxy.url]) {
    const command = await commandLine(t, settingsOn(url));
    for (const args of [["serve"], ["user", "list"]]) {
      const { code, stdout, stderr } = await command.run(...args);
      assert.equal(code, 2);
      assert.match(stderr, /PARLEY_DATABASE_URL/);
      assert.ok(!(stdout + stderr).includes(PASSWORD), stderr);
      assert.ok(!/\n {4}at /.test(stderr), `a stack is no help here: ${stderr}`);
    }
  }
});

test("a server that cannot open its files ends", async (t) => {
  const command = await commandLine(t, settingsOn(await testDatabase(t)));
  const first = await command.serve();
  assert.equal(await first.stop(), 0);
  await rm(join(command.env.PARLEY_DATA!, "blobs"), { recursive: true });
  await writeFile(join(command.env.PARLEY_DATA!, "blobs"), "not a folder");
  assert.equal((await command.run("serve")).code, 2);
});

/** The longest stop, in any state of the database. */
const STOP_MS = 10_000;

async function endsInTime(t: TestContext, server: { stop(): Promise<number | null> }): Promise<void> {
  const code = await Promise.race([server.stop(), sleep(STOP_MS, "late", { ref: false })]);
  assert.equal(code, 0);
  t.diagnostic("it ended in time");
}

test("a server whose PostgreSQL is down stops in time, with a short log without the password", async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const command = await commandLine(t, settingsOn(postgres.url));
  const server = await command.serve();
  await postgres.stop("fast");
  assert.equal((await fetch(`${command.url}/readyz`)).status, 503);
  // The eraser runs every two seconds.
  await sleep(7000);
  const lines = server.stderr().match(/^.*background work failed.*$/gm) ?? [];
  const jobs = lines.map((line) => (JSON.parse(line) as { job: string }).job);
  assert.ok(jobs.includes("eraser"));
  assert.deepEqual(jobs, [...new Set(jobs)], "one line of each kind of work, however often it is tried");
  await endsInTime(t, server);
  assert.ok(!server.stderr().includes(PASSWORD));
});

test("a server whose PostgreSQL hangs stops in time, even during requests", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const command = await commandLine(t, settingsOn(proxy.url));
  const server = await command.serve();
  proxy.stall(true);
  const asked = fetch(`${command.url}/readyz`).then(
    ({ status }) => status,
    () => "cut",
  );
  await sleep(3000);
  await endsInTime(t, server);
  assert.ok([503, "cut"].includes(await asked));
});

test("a server whose PostgreSQL goes down during its stop ends normally", async (t) => {
  const postgres = await startPostgres();
  t.after(() => postgres.remove());
  const command = await commandLine(t, settingsOn(postgres.url));
  const server = await command.serve();
  const closed = once(server.process, "close");
  server.process.kill("SIGTERM");
  await postgres.stop("immediate");
  assert.equal((await closed)[0], 0);
});
