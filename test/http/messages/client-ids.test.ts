// The `client_id` of a message: duplicates at the same time, limits, its 90 days, and what a sender can tell by it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import type { TestApp, TestUser } from "../../support/app.ts";
import { startApp, startOn, testConfig } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { ENGINES, onEachEngine, startOnEngine } from "../../support/on-engines.ts";
import {
  add,
  code,
  done,
  type Person,
  type Place,
  pair,
  person,
  read,
  send,
  used,
} from "../../support/people.ts";

const DAY_MS = 24 * 3600_000;

const post = (server: Place, who: TestUser, fields: object, more = {}) =>
  send(server, who, "POST", "/v1/messages", fields, more);

/** Sends a form with files of these contents. */
function give(server: Place, who: TestUser, fields: Record<string, string>, ...contents: string[]) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  for (const [i, content] of contents.entries()) body.append("file", new File([content], `${i}.txt`));
  return fetch(`${server.url}/v1/messages`, { method: "POST", headers: who.headers, body });
}

async function count(server: TestApp, table: "messages" | "client_ids" | "reservations"): Promise<number> {
  const { db } = server.app.core;
  const rows = { messages: sql`messages`, client_ids: sql`client_ids`, reservations: sql`reservations` };
  return (await db.get<{ count: number }>(sql`SELECT COUNT(*) AS count FROM ${rows[table]}`))!.count;
}

async function textsIn(server: Place, who: TestUser, conversation: string): Promise<unknown[]> {
  const { data } = await read<{ data: Json[] }>(
    send(server, who, "GET", `/v1/messages?conversation_id=${conversation}&limit=100`),
    200,
  );
  return data.map(({ text }) => text);
}

onEachEngine("of 20 equal messages at once one is sent, and all answers have it", async (server) => {
  const { ann, bob, conversation } = await pair(server);
  for (let round = 0; round < 5; round++) {
    const fields = { conversation_id: conversation, text: `round ${round}`, client_id: `round-${round}` };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        i % 4 === 0 && round > 0 ? give(server, ann, fields) : post(server, ann, fields),
      ),
    );
    const shown = await Promise.all(answers.map((answer) => answer.text()));
    assert.deepEqual(new Set(shown).size, 1, shown.join("\n"));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [...Array(19).fill(200), 201]);
  }
  assert.equal((await textsIn(server, bob, conversation)).length, 5);
});

onEachEngine(
  "of different messages with one client_id at once one is sent, the others are 409",
  async (server) => {
    const { ann, conversation } = await pair(server);
    const fields = (i: number) => ({ conversation_id: conversation, text: `text ${i}`, client_id: "one" });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => post(server, ann, fields(i))));
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(statuses.toSorted(), [201, ...Array(19).fill(409)]);
    assert.deepEqual(await textsIn(server, ann, conversation), [`text ${statuses.indexOf(201)}`]);
  },
);

onEachEngine("equal messages with files at once leave one message and its files", async (server) => {
  const { ann, conversation } = await pair(server);
  const fields = { conversation_id: conversation, client_id: "files" };
  const contents = ["small", "x".repeat(50_000)];
  const answers = await Promise.all(Array.from({ length: 8 }, () => give(server, ann, fields, ...contents)));
  const shown = await Promise.all(
    answers.map((answer) => read<{ id: string }>(Promise.resolve(answer), answer.status)),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(7).fill(200), 201]);
  assert.equal(new Set(shown.map(({ id }) => id)).size, 1);
  assert.equal(await used(server, ann), 50_005);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
});

test("two nodes send a message with one client_id once", async (t) => {
  const first = await startOnEngine(t, "PostgreSQL");
  const second = await startOn(t, {
    ...(await testConfig(t)),
    databaseUrl: first.config.databaseUrl,
    secrets: first.config.secrets,
  });
  const { ann, conversation } = await pair(first);
  for (let round = 0; round < 10; round++) {
    const fields = { conversation_id: conversation, text: "once", client_id: `round-${round}` };
    const answers = await Promise.all([first, second, first, second].map((node) => post(node, ann, fields)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 201]);
  }
  assert.equal((await textsIn(first, ann, conversation)).length, 10);
});

test("a message sent again does not count against any limit, and stores nothing", async (t) => {
  const limits = { messagesPerMinute: 2, requestsPerSecond: 10_000, filesPerDay: 2, userQuotaBytes: 60_000 };
  const server = await startApp(t, limits);
  const { ann, conversation } = await pair(server);
  const text = { conversation_id: conversation, text: "text", client_id: "text" };
  const files = { conversation_id: conversation, text: "files", client_id: "files" };
  const contents = ["small", "x".repeat(50_000)];
  await read(post(server, ann, text), 201);
  await read(give(server, ann, files, ...contents), 201);
  const before = await server.app.core.db.all(sql`SELECT * FROM events`);
  for (let i = 0; i < 5; i++) {
    await read(post(server, ann, text), 200);
    await read(give(server, ann, files, ...contents), 200);
  }
  assert.equal(await code(post(server, ann, { ...text, client_id: "other" }), 429), "rate_limited");
  const noText = { conversation_id: conversation, client_id: "no-text" };
  assert.equal(await code(give(server, ann, noText, "a"), 429), "daily_limit_reached");
  assert.deepEqual(await server.app.core.db.all(sql`SELECT * FROM events`), before);
  assert.deepEqual([await count(server, "messages"), await count(server, "reservations")], [2, 0]);
  assert.equal(await used(server, ann), 50_005);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
});

test("a message sent again succeeds with a full quota", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 50_000 });
  const { ann, conversation } = await pair(server);
  const fields = { conversation_id: conversation, client_id: "files" };
  const content = "x".repeat(50_000);
  const made = await read<{ id: string }>(give(server, ann, fields, content), 201);
  assert.equal((await read<{ id: string }>(give(server, ann, fields, content), 200)).id, made.id);
  assert.equal(await code(give(server, ann, { conversation_id: conversation }, "a"), 507), "quota_exceeded");
});

for (const engine of ENGINES)
  test(`a client_id stays taken for 90 days after its message, and is then erased (${engine})`, async (t) => {
    let now = Date.UTC(2026, 0, 1);
    const clock = () => now;
    const server = await startOnEngine(t, engine, {}, { clock });
    const { ann, conversation } = await pair(server);
    const fields = { conversation_id: conversation, text: "old", client_id: "old" };
    const kept = { ...fields, client_id: "kept" };
    const { id } = await read<{ id: string }>(post(server, ann, fields), 201);
    const first = await read<{ id: string }>(post(server, ann, kept), 201);
    now += 200 * DAY_MS;
    assert.equal((await read<{ id: string }>(post(server, ann, fields), 200)).id, id);
    await done(send(server, ann, "DELETE", `/v1/messages/${id}`));
    now += 90 * DAY_MS - 1;
    assert.equal(await code(post(server, ann, fields), 404), "message_not_found");
    now += 1;
    const again = await read<{ id: string }>(post(server, ann, { ...fields, text: "new" }), 201);
    assert.notEqual(again.id, id);
    await done(send(server, ann, "DELETE", `/v1/messages/${again.id}`));
    now += 90 * DAY_MS;
    assert.equal(await count(server, "client_ids"), 2);
    await server.app.stop();
    // A start erases what has expired.
    const restarted = await startOn(t, server.config, { clock });
    assert.ok(await eventually(async () => (await count(restarted, "client_ids")) === 1));
    assert.equal((await read<{ id: string }>(post(restarted, ann, kept), 200)).id, first.id);
  });

test("client_ids belong to the sender: the same of another user, also by acting for them, is another", async (t) => {
  const server = await startApp(t);
  const { ann, bob, conversation } = await pair(server);
  const shop = await server.user({ scopes: ["act_as", "messages:read", "messages:write"] });
  const asAnn = (fields: object) => post(server, shop, fields, { "parley-act-as": ann.id });
  const fields = { conversation_id: conversation, text: "hi", client_id: "1" };
  const { id } = await read<{ id: string }>(asAnn(fields), 201);
  for (const again of [post(server, ann, fields), asAnn(fields)])
    assert.equal((await read<{ id: string }>(again, 200)).id, id);
  const his = await read<{ id: string; client_id: string }>(post(server, bob, fields), 201);
  assert.notEqual(his.id, id);
  const notes = {
    ...fields,
    conversation_id: (await asker(server, shop)("GET", "/v1/me")).body.conversation_id,
  };
  await read(post(server, shop, notes), 201);
  assert.equal((await textsIn(server, bob, conversation)).length, 2);
  const shown = await read<{ client_id: string }>(send(server, bob, "GET", `/v1/messages/${id}`), 200);
  assert.equal(shown.client_id, "1", "everybody who sees the message sees it");
});

for (const engine of ENGINES)
  test(`a sender who lost a message cannot tell by its client_id whether others keep it (${engine})`, async (t) => {
    let now = Date.UTC(2026, 0, 1);
    const server = await startOnEngine(t, engine, {}, { clock: () => now });
    const talks = [await pair(server), await pair(server)];
    const fieldsOf = (conversation: string) =>
      ["hidden", "left"].map((id) => ({ conversation_id: conversation, text: id, client_id: id }));
    for (const [i, { ann, bob, conversation, contact, back }] of talks.entries()) {
      const sent: string[] = [];
      for (const fields of fieldsOf(conversation))
        sent.push((await read<{ id: string }>(post(server, ann, fields), 201)).id);
      await done(send(server, ann, "DELETE", `/v1/messages/${sent[0]}?for=me`));
      await done(send(server, ann, "DELETE", `/v1/contacts/${contact}`));
      // Nobody has the messages of the second pair any more.
      if (i === 1) await done(send(server, bob, "DELETE", `/v1/contacts/${back}`));
    }
    const { db } = server.app.core;
    const held = sql`SELECT 1 AS one FROM client_ids WHERE until IS NULL`;
    assert.ok(await eventually(async () => (await db.all(held)).length === 0));
    const ask = ({ ann, conversation }: (typeof talks)[0]) =>
      Promise.all(
        fieldsOf(conversation).map(async (fields) => {
          const { status, body } = await asker(server, ann)("POST", "/v1/messages", fields);
          return `${status} ${body.code}`;
        }),
      );
    for (const [days, expected] of [
      [0, "404 message_not_found"],
      [89, "404 message_not_found"],
      [2, "404 conversation_not_found"],
    ] as const) {
      now += days * DAY_MS;
      for (const talk of talks) assert.deepEqual(await ask(talk), [expected, expected]);
    }
  });

test("a refused message does not use up its client_id", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const bob: Person = await person(server, "bob");
  const his = (await add(server, bob, "carol")).conversation_id;
  const own = (await add(server, ann, "bob")).conversation_id;
  const fields = { conversation_id: his, text: "a", client_id: "1" };
  assert.equal(await code(post(server, ann, fields), 404), "conversation_not_found");
  assert.equal(await count(server, "client_ids"), 0);
  await read(post(server, ann, { ...fields, conversation_id: own }), 201);
});
