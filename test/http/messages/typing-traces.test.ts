// Typing leaves no trace.
import assert from "node:assert/strict";
import { test } from "node:test";
import { raw, sql } from "../../../src/db/sql.ts";
import type { TestApp } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { allEvents, listen, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, hook } from "../../support/hooks.ts";
import { add, code, type Person, pair, read, send } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";
import { onNodes, PAUSE_MS, post, settle, typists } from "./typing.ts";

/** Returns all rows of all tables. */
async function content({ app: { core }, config }: TestApp): Promise<Record<string, unknown[]>> {
  const names = config.databaseUrl
    ? raw("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'")
    : raw("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'");
  const found: Record<string, unknown[]> = {};
  for (const { name } of await core.db.all<{ name: string }>(sql`${names} ORDER BY 1`)) {
    const rows = await core.db.all<object>(sql`SELECT * FROM ${raw(name)}`);
    found[name] = rows.map((row) => JSON.stringify(row)).sort();
  }
  return found;
}

onNodes("typing leaves no row, event, delivery or idempotency key", async (t, places, time) => {
  const [here, there] = places;
  const { ann, bob, conversation } = await pair(here);
  const to = await receiver(t);
  const webhook = await hook(here, bob, to);
  const stream = await listen(t, there, bob);
  await settle(here, ann, conversation, [stream]);
  await to.wait(1);
  const isDelivered = async () => (await deliveries(here, bob, webhook))[0]?.state === "delivered";
  assert.ok(await eventually(isDelivered));
  const eventsBefore = await allEvents(here, bob);
  const key = { "idempotency-key": "the-same" };
  const again = async (count: number) => {
    const answer = await post(here, ann, conversation, key);
    assert.deepEqual([answer.status, answer.headers.get("idempotent-replayed")], [204, null]);
    const isShown = async () => typists(stream.events, ann).length === count;
    assert.ok(await eventually(isShown), "the key has no effect");
  };
  await again(1);
  time.now += PAUSE_MS + 1;
  // Any request updates the time when a user was last seen, once a second. From here on the clock stands still.
  assert.equal(await code(post(here, ann, "nonsense"), 404), "conversation_not_found");
  const lastSeen = sql<{ seen_at: number }>`SELECT seen_at FROM activity WHERE user_id = ${ann.id}`;
  const isSeen = async () => (await here.app.core.db.get(lastSeen))?.seen_at === time.now;
  assert.ok(await eventually(isSeen));
  const before = await content(here);
  await again(2);
  assert.deepEqual(await content(here), before);
  assert.deepEqual(await allEvents(here, bob), eventsBefore);
  assert.equal(to.received.length, 1);
});

test("the log has only the request line of typing", async (t) => {
  const command = await commandLine(t, { PARLEY_LOG_LEVEL: "debug" });
  const server = await command.serve();
  const admin = { id: "", name: "admin", token: tokenOf(server), headers: {} } as unknown as Person;
  admin.headers = { authorization: `Bearer ${admin.token}` };
  assert.equal((await command.run("user", "add", "bob")).code, 0);
  const token = (await command.run("token", "create", "bob")).stdout.trim();
  const bob: Person = { ...admin, name: "bob", headers: { authorization: `Bearer ${token}` } };
  const { username } = await read<{ username: string }>(send(command, admin, "GET", "/v1/me"), 200);
  const { conversation_id: conversation } = await add(command, admin, "bob");
  await add(command, bob, username);
  const stream = await listen(t, command, bob);
  const answer = await post(command, admin, conversation);
  assert.equal(answer.status, 204);
  const [{ payload }] = (await stream.wait(1)) as [TestEvent];
  await server.stop();
  const lines = server.stderr().split("\n");
  const about = lines.filter((line) => line.includes(conversation) || line.includes(String(payload.user_id)));
  assert.equal(about.length, 1, about.join("\n"));
  const { request_id, path, msg } = JSON.parse(about[0]!) as Json;
  assert.deepEqual(
    [request_id, path, msg],
    [answer.headers.get("request-id"), `/v1/conversations/${conversation}/typing`, "answered"],
  );
});
