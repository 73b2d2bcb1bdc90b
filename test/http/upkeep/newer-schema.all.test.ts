// A server on PostgreSQL whose database a newer release migrates: the current one with one more migration.
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { migratePostgres, VERSION } from "../../../src/db/engines/postgres/migrate.ts";
import { readMigrations } from "../../../src/db/migrations.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { settingsOn, testDatabase } from "../../support/engines/postgres.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";

const MIGRATIONS = readMigrations("src/db/engines/postgres/migrations/");

/** Breaks both reads and writes of old nodes. */
const BREAKING = "ALTER TABLE contacts RENAME COLUMN body TO json; ALTER TABLE messages DROP COLUMN type";

test("a server whose database a newer release migrates turns unready, answers 503, ends its streams and logs it", async (t) => {
  const url = await testDatabase(t);
  const command = await commandLine(t, settingsOn(url));
  const server = await command.serve();
  const headers = { authorization: `Bearer ${tokenOf(server)}` };
  const me = (await (await fetch(`${command.url}/v1/me`, { headers })).json()) as { conversation_id: string };
  const stream = await listen(t, { url: command.url }, { headers });
  const statuses = new Map<string, Set<number>>();
  let stopped = false;
  t.after(() => {
    stopped = true;
  });
  const ask = async (name: string, path: string, fields?: () => Record<string, string>) => {
    const seen = new Set<number>();
    statuses.set(name, seen);
    while (!stopped) {
      const body = fields && new URLSearchParams(fields());
      const answer = await fetch(command.url + path, { headers, ...(body ? { method: "POST", body } : {}) });
      const text = await answer.text();
      seen.add(answer.status);
      if (answer.status === 503) assert.ok(Number(answer.headers.get("retry-after")) > 0, text);
    }
  };
  let names = 0;
  const asking = [
    ask("list", "/v1/contacts"),
    ask("read", `/v1/messages?conversation_id=${me.conversation_id}`),
    ask("create", "/v1/contacts", () => ({ username: `name ${++names}`, phone_number: "555" })),
    ask("send", "/v1/messages", () => ({ conversation_id: me.conversation_id, text: "text" })),
  ];
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await migratePostgres(client, [...MIGRATIONS, BREAKING]).finally(() => client.end());
  const isUnready = async () => (await fetch(`${command.url}/readyz`)).status === 503;
  assert.ok(await eventually(isUnready));
  let hasEnded = false;
  void stream.ended.then(() => {
    hasEnded = true;
  });
  assert.ok(await eventually(async () => hasEnded));
  stopped = true;
  await Promise.all(asking);
  for (const [name, seen] of statuses)
    assert.ok(
      [...seen].every((status) => [200, 201, 503].includes(status)),
      `${name}: ${[...seen]}`,
    );
  const ready = (await (await fetch(`${command.url}/readyz`)).json()) as { detail: string };
  assert.match(ready.detail, /A newer release has migrated the database/);
  for (const method of ["GET", "POST"]) {
    const body = method === "POST" ? new URLSearchParams({ username: "late", phone_number: "555" }) : null;
    const { status } = await fetch(`${command.url}/v1/contacts`, { headers, method, body });
    assert.equal(status, 503, method);
  }
  assert.equal((await fetch(`${command.url}/healthz`)).status, 200);
  const lines = server.stderr().match(/^.*a newer release has migrated the database.*$/gm) ?? [];
  assert.equal(lines.length, 1, "it says so once");
  assert.equal(JSON.parse(lines[0]!).schema, VERSION + 1);
});
