// Idempotency-Key: a repeated request returns the first answer and changes nothing.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { startApp, startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import {
  add,
  code,
  fieldsOf,
  filesOf,
  type Person,
  type Place,
  person,
  read,
  send,
  used,
} from "../../support/people.ts";
import { beginUpload, FORM_HEAD } from "../../support/raw-socket.ts";

const DAY_MS = 24 * 3600_000;
const KEY = "11111111-2222";
const withKey = (key: string) => ({ "idempotency-key": key });

function create(server: Place, who: Person, name: string, key = KEY): Promise<Response> {
  return send(server, who, "POST", "/v1/contacts", fieldsOf(name), withKey(key));
}

interface Sent {
  content?: string;
  name?: string;
  type?: string;
  fields?: Record<string, string>;
  query?: string;
  key?: string;
}

function give(server: Place, who: Person, sent: Sent = {}): Promise<Response> {
  const {
    content = "content",
    name = "a.txt",
    type = "text/plain",
    fields = {},
    query = "",
    key = KEY,
  } = sent;
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.set(field, value);
  form.set("file", new File([content], name, { type }));
  const headers = { ...who.headers, ...withKey(key) };
  return fetch(`${server.url}/v1/attachments${query}`, { method: "POST", headers, body: form });
}

/** Asserts a 201, as first answer or as replay, and returns its JSON. */
async function made(
  answering: Promise<Response>,
  isReplay: boolean,
): Promise<{ id: string; message_id: string }> {
  const answer = await answering;
  assert.equal(answer.headers.get("idempotent-replayed"), isReplay ? "true" : null);
  const body = await read<{ id: string; message_id: string }>(Promise.resolve(answer), 201);
  assert.ok(answer.headers.get("location")!.endsWith(`/${body.id}`));
  return body;
}

/** Asserts that both kinds of request return on `there` what they returned on `here`, and create nothing again. */
async function answersAgain(here: TestApp, there: () => Promise<TestApp>): Promise<void> {
  const ann = await person(here, "ann");
  const large = { content: "x".repeat(50_000), key: "large" };
  const contact = await made(create(here, ann, "bob"), false);
  const small = await made(give(here, ann, { key: "small" }), false);
  const file = await made(give(here, ann, large), false);
  const other = await there();
  // URLs of files contain the address of the node that answers.
  const asThere = (shown: object) => JSON.parse(JSON.stringify(shown).replace(here.url, other.url));
  assert.deepEqual(await made(create(other, ann, "bob"), true), contact);
  assert.deepEqual(await made(give(other, ann, { key: "small" }), true), asThere(small));
  assert.deepEqual(await made(give(other, ann, large), true), asThere(file));
  assert.equal((await filesOf(other, ann)).length, 2);
  assert.equal(await used(other, ann), 50_007);
}

async function nodeConfig(t: TestContext) {
  return { ...(await testConfig(t)), secrets: ["s".repeat(32)] };
}

const parts = { clock: () => Date.UTC(2026, 0, 1) };

test("a replay after a restart returns the first answer", async (t) => {
  const config = await nodeConfig(t);
  const server = await startOn(t, config, parts);
  await answersAgain(server, async () => {
    await server.app.stop();
    return startOn(t, config, parts);
  });
  assert.ok(await eventually(async () => (await storedFiles(config)).length === 1));
});

test("a replay on another node returns the first answer", async (t) => {
  const databaseUrl = await testDatabase(t);
  const here = await nodeConfig(t);
  const there = await nodeConfig(t);
  await answersAgain(await startOn(t, { ...here, databaseUrl }, parts), () =>
    startOn(t, { ...there, databaseUrl }, parts),
  );
  assert.ok(await eventually(async () => (await storedFiles(here)).length === 1));
  assert.ok(await eventually(async () => (await storedFiles(there)).length === 0));
});

test("a form and JSON of the same fields are the same request, other fields are 422", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const first = await made(create(server, ann, "bob"), false);
  for (const fields of [
    { username: "bob", phone_number: "555" },
    { phone_number: "555", username: "bob" },
  ]) {
    const post = { method: "POST", headers: { ...ann.headers, ...withKey(KEY) } };
    const form = fetch(`${server.url}/v1/contacts`, { ...post, body: new URLSearchParams(fields) });
    assert.deepEqual(await made(form, true), first);
    const json = send(server, ann, "POST", "/v1/contacts", fields, withKey(KEY));
    assert.deepEqual(await made(json, true), first);
  }
  const others = [
    { username: "cyd" },
    { username: "Bob" },
    { phone_number: "556" },
    { display_name: "Bob" },
    { avatar_url: "http://a.test/" },
  ];
  for (const other of others) {
    const asked = send(server, ann, "POST", "/v1/contacts", { ...fieldsOf("bob"), ...other }, withKey(KEY));
    assert.equal(await code(asked, 422), "idempotency_key_reused");
  }
  assert.equal(await code(give(server, ann), 422), "idempotency_key_reused", "another operation");
  assert.deepEqual(await filesOf(server, ann), []);
});

test("an Idempotency-Key expires after 24 hours, and the next start erases it", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const config = await testConfig(t);
  const before = await startOn(t, config, { clock: () => now });
  const ann = await person(before, "ann");
  const { id } = await made(create(before, ann, "bob"), false);
  now += DAY_MS - 1;
  assert.equal((await made(create(before, ann, "bob"), true)).id, id);
  await made(create(before, ann, "cyd", "later"), false);
  now += 1;
  assert.equal(await code(create(before, ann, "bob"), 409), "contact_exists");
  assert.equal((await send(before, ann, "DELETE", `/v1/contacts/${id}`)).status, 204);
  const again = await made(create(before, ann, "bob"), false);
  assert.notEqual(again.id, id);
  await before.app.stop();
  now += DAY_MS - 1;
  const server = await startOn(t, config, { clock: () => now });
  const kept = () => server.app.core.db.all(sql`SELECT 1 AS one FROM idempotency`);
  assert.ok(await eventually(async () => (await kept()).length === 1), "the one that has lapsed is gone");
  assert.deepEqual(await made(create(server, ann, "bob"), true), again);
});

test("a failed request does not use up its Idempotency-Key", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const there = await add(server, ann, "bob");
  for (let i = 0; i < 2; i++) assert.equal(await code(create(server, ann, "bob"), 409), "contact_exists");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${there.id}`)).status, 204);
  const { id } = await made(create(server, ann, "bob"), false);
  assert.equal((await made(create(server, ann, "bob"), true)).id, id);
  const [to] = [(await add(server, ann, "cyd")).conversation_id];
  const foreign = { fields: { conversation_id: to }, key: "upload" };
  const bob = await person(server, "bob");
  assert.equal(await code(give(server, bob, foreign), 404), "conversation_not_found");
  await made(give(server, bob, { key: "upload" }), false);
});

// One size is stored in the database, the other in the store.
for (const size of [1000, 50_000]) {
  test(`a replay of an upload of ${size} bytes leaves one file, and another upload with its key is 422`, async (t) => {
    const server = await startApp(t);
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    const { conversation_id } = await add(server, ann, "bob");
    await add(server, bob, "ann");
    const sent = { content: "x".repeat(size), fields: { conversation_id } };
    const first = await made(give(server, ann, sent), false);
    const asQuery = { content: sent.content, query: `?conversation_id=${conversation_id}` };
    for (const same of [sent, asQuery]) assert.deepEqual(await made(give(server, ann, same), true), first);
    const others: Sent[] = [
      { ...sent, content: "y".repeat(size) },
      { ...sent, content: "x".repeat(size + 1) },
      { ...sent, name: "b.txt" },
      { ...sent, type: "image/png" },
      { content: sent.content },
    ];
    for (const other of others) {
      assert.equal(await code(give(server, ann, other), 422), "idempotency_key_reused");
    }
    assert.equal((await filesOf(server, ann)).length, 1);
    assert.equal((await filesOf(server, bob)).length, 1);
    assert.equal(await used(server, ann), size);
    const stored = size > 32 * 1024 ? 1 : 0;
    assert.ok(await eventually(async () => (await storedFiles(server.config)).length === stored));
    const { db } = server.app.core;
    assert.equal((await db.all(sql`SELECT 1 AS one FROM messages`)).length, 1);
    assert.equal((await db.all(sql`SELECT 1 AS one FROM small_files`)).length, 1 - stored);
  });
}

test("a replay of an upload succeeds with a full quota, and is 404 once the file is deleted", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 1000 });
  const ann = await person(server, "ann");
  const toBob = await add(server, ann, "bob");
  // In the query, where the target is checked before the file arrives.
  const sent = { content: "x".repeat(1000), query: `?conversation_id=${toBob.conversation_id}` };
  const first = await made(give(server, ann, sent), false);
  assert.deepEqual(await made(give(server, ann, sent), true), first, "the quota is full");
  assert.equal(await code(give(server, ann, { key: "more" }), 507), "quota_exceeded");
  assert.equal((await send(server, ann, "DELETE", `/v1/attachments/${first.id}`)).status, 204);
  assert.equal(await code(give(server, ann, sent), 404), "attachment_not_found");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  assert.equal(await code(give(server, ann, sent), 404), "attachment_not_found", "the conversation is gone");
  const stored = sql<{ result: string }>`SELECT result FROM idempotency`;
  assert.deepEqual(
    (await server.app.core.db.all(stored)).map(({ result }) => JSON.parse(result)),
    [{ id: first.id, message_id: first.message_id }],
    "of a file ids are stored, and not its name",
  );
  assert.deepEqual(await filesOf(server, ann), []);
  assert.equal(await used(server, ann), 0);
  assert.deepEqual(await server.app.core.db.all(sql`SELECT 1 AS one FROM reservations`), []);
});

test("a request with the key of a running one is 409, and may be repeated if that one is aborted", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const socket = await beginUpload(server.url, ann, { "content-length": 1000, ...withKey(KEY) });
  socket.write(`${FORM_HEAD}beginning`);
  const { runningKeys } = server.app.core;
  assert.ok(await eventually(async () => runningKeys.size === 1));
  assert.equal(await code(give(server, ann), 409), "idempotency_in_progress");
  assert.equal(
    await code(create(server, ann, "bob"), 409),
    "idempotency_in_progress",
    "for another operation, too",
  );
  await made(give(server, ann, { key: "another" }), false);
  await made(give(server, bob), false);
  socket.destroy();
  assert.ok(await eventually(async () => runningKeys.size === 0));
  await made(give(server, ann), false);
  assert.equal((await filesOf(server, ann)).length, 2);
});

test("a malformed Idempotency-Key is 400 for POST, and ignored otherwise", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  for (const key of ["", "two words", "x".repeat(256), "\u00e9", "a\tb"]) {
    for (const asked of [create(server, ann, "bob", key), give(server, ann, { key })]) {
      const problem = await read<{ code: string; param: string }>(asked, 400);
      assert.deepEqual([problem.code, problem.param], ["invalid_parameter", "Idempotency-Key"]);
    }
  }
  const longest = `${"!".repeat(254)}~`;
  const { id } = await made(create(server, ann, "bob", longest), false);
  const path = `/v1/contacts/${id}`;
  for (const key of [longest, "two words"]) {
    for (const name of ["one", "two"]) {
      const put = await send(server, ann, "PUT", path, { display_name: name }, withKey(key));
      assert.equal(put.headers.get("idempotent-replayed"), null);
      assert.equal((await read<{ display_name: string }>(Promise.resolve(put), 200)).display_name, name);
    }
    const got = await send(server, ann, "GET", path, undefined, withKey(key));
    assert.deepEqual([got.status, got.headers.get("idempotent-replayed")], [200, null]);
  }
});
