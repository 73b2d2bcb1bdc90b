// The quota of a user, exact to the byte; refused files leave nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limits } from "../../../src/config/limits.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { startApp, startOn, type TestApp, testConfig, upload } from "../../support/app.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { postgresConfig, startOnEngine } from "../../support/on-engines.ts";
import { code, done, filesOf, type Person, pair, person, read, send, used } from "../../support/people.ts";
import { beginUpload, FORM_HEAD, FORM_TAIL, readAnswer } from "../../support/raw-socket.ts";

const HOUR_MS = 3600_000;
const PROMISE_MS = 15 * 60_000;

const bytes = (size: number) => new File([Buffer.alloc(size, "x")], `of ${size}`);

const give = (server: TestApp, who: Person, size: number, fields = {}) =>
  upload(server.url, who, bytes(size), fields);

/** Sends a body without Content-Length. */
function stream(server: TestApp, who: Person, size: number): Promise<Response> {
  const body = new Blob([FORM_HEAD, Buffer.alloc(size, "x"), FORM_TAIL]).stream();
  const headers = { ...who.headers, "content-type": "multipart/form-data; boundary=frontier" };
  const request = { method: "POST", headers, body, duplex: "half" as const };
  return fetch(`${server.url}/v1/attachments`, request);
}

async function count(server: TestApp, table: string): Promise<number> {
  const row = await server.app.core.db.get<{ count: number }>(
    sql`SELECT COUNT(*) AS count FROM ${raw(table)}`,
  );
  return row!.count;
}

/** Asserts how many files the service has, as rows and in the store, and that nothing is reserved. */
async function holds(server: TestApp, small: number, large: number): Promise<void> {
  assert.equal(await count(server, "attachments"), small + large);
  assert.equal(await count(server, "small_files"), small);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === large));
  assert.ok(await eventually(async () => (await count(server, "reservations")) === 0));
  assert.equal(await count(server, "intents"), 0);
}

// One size is stored in the database, the other in the store.
for (const size of [1000, 50_000]) {
  test(`a file of ${size} bytes that fits the quota exactly is accepted, one byte more is 507 and leaves nothing`, async (t) => {
    const server = await startApp(t, { userQuotaBytes: 2 * size });
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    for (const send of [give, stream]) {
      assert.equal(await code(send(server, ann, 2 * size + 1), 507), "quota_exceeded");
    }
    await holds(server, 0, 0);
    await read(give(server, ann, size), 201);
    for (const send of [give, stream]) {
      assert.equal(await code(send(server, ann, size + 1), 507), "quota_exceeded");
    }
    await read(stream(server, ann, size), 201);
    assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
    await read(give(server, ann, 0), 201);
    await read(give(server, bob, size), 201);
    const isSmall = size < 32 * 1024;
    await holds(server, isSmall ? 4 : 1, isSmall ? 0 : 3);
    const me = await read<{ storage: object }>(send(server, ann, "GET", "/v1/me"), 200);
    assert.deepEqual(me.storage, { used: 2 * size, quota: 2 * size });
  });
}

test("deleting a file or leaving a conversation frees quota", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 1000 });
  const { ann, bob, conversation: conversation_id, contact } = await pair(server);
  const { id } = await read<{ id: string }>(give(server, ann, 1000), 201);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
  await done(send(server, ann, "DELETE", `/v1/attachments/${id}`));
  assert.equal(await used(server, ann), 0);
  await read(give(server, ann, 1000, { conversation_id }), 201);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
  await done(send(server, ann, "DELETE", `/v1/contacts/${contact}`));
  assert.equal((await filesOf(server, bob)).length, 1);
  assert.equal(await used(server, bob), 0, "what was received takes nothing");
  await read(give(server, ann, 1000), 201);
});

test("a lowered quota refuses new files and keeps the old ones", async (t) => {
  const config = await testConfig(t);
  const withQuota = (userQuotaBytes: number) =>
    startOn(t, { ...config, limits: { ...config.limits, userQuotaBytes } satisfies Limits });
  const before = await withQuota(1000);
  const ann = await person(before, "ann");
  const { id } = await read<{ id: string }>(give(before, ann, 1000), 201);
  await before.app.stop();
  const server = await withQuota(500);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
  assert.equal(await code(stream(server, ann, 1), 507), "quota_exceeded");
  assert.equal((await filesOf(server, ann)).length, 1);
  const me = await read<{ storage: object }>(send(server, ann, "GET", "/v1/me"), 200);
  assert.deepEqual(me.storage, { used: 1000, quota: 500 });
  await done(send(server, ann, "DELETE", `/v1/attachments/${id}`));
  await read(give(server, ann, 500), 201);
});

/** Sends the head of an upload of this size, and the first bytes of its file. */
async function begin(server: TestApp, who: Person, size: number) {
  const length = FORM_HEAD.length + size + FORM_TAIL.length;
  const socket = await beginUpload(server.url, who, { "content-length": length });
  socket.write(`${FORM_HEAD}xx`);
  assert.ok(await eventually(async () => (await count(server, "reservations")) === 1));
  return socket;
}

test("a running upload reserves its size, and an aborted one releases it", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 100_000 });
  const ann = await person(server, "ann");
  const socket = await begin(server, ann, 60_000);
  assert.equal(await used(server, ann), 0, "a reservation is not used storage");
  assert.equal(await code(give(server, ann, 40_001), 507), "quota_exceeded");
  assert.equal(await code(stream(server, ann, 40_001), 507), "quota_exceeded");
  await read(give(server, ann, 20_000), 201);
  await read(stream(server, ann, 20_000), 201);
  socket.destroy();
  await holds(server, 2, 0);
  await read(give(server, ann, 60_000), 201);
  await holds(server, 2, 1);
});

test("a reservation expires after 15 minutes, and the upload needs room again at its end", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, { userQuotaBytes: 100_000 }, { clock: () => now });
  const ann = await person(server, "ann");
  const socket = await begin(server, ann, 60_000);
  now += PROMISE_MS - 1;
  assert.equal(await code(give(server, ann, 40_001), 507), "quota_exceeded");
  now += 1;
  await read(give(server, ann, 40_001), 201);
  socket.write(`${"x".repeat(60_000 - 2)}${FORM_TAIL}`);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 507 .*"code":"quota_exceeded"/s);
  socket.destroy();
  await holds(server, 0, 1);
});

test("the next start drops the reservations that a crash left", async (t) => {
  const config = await testConfig(t, { userQuotaBytes: 1000 });
  const before = await startOn(t, config);
  const ann = await person(before, "ann");
  const now = Date.now();
  const promise = { id: "att_1", userId: ann.id, bytes: 500, quota: 1000, now, until: now + HOUR_MS };
  await before.app.core.db.write("reserveStorage", promise);
  assert.equal(await code(give(before, ann, 501), 507), "quota_exceeded");
  await before.app.stop();
  const server = await startOn(t, config);
  await read(give(server, ann, 1000), 201);
});

test("the sweep drops expired reservations of another node", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const config = { ...(await testConfig(t, { userQuotaBytes: 1000 })), ...(await postgresConfig(t)) };
  const before = await startOn(t, config, { clock: () => now });
  const ann = await person(before, "ann");
  for (const [id, hours] of [
    ["att_1", 1],
    ["att_2", 2],
  ] as const) {
    const promise = { id, userId: ann.id, bytes: 500, quota: 1000, now, until: now + hours * HOUR_MS };
    await before.app.core.db.write("reserveStorage", promise);
  }
  assert.equal(await code(give(before, ann, 1), 507), "quota_exceeded");
  await before.app.stop();
  now += HOUR_MS;
  const server = await startOn(t, config, { clock: () => now });
  assert.ok(await eventually(async () => (await count(server, "reservations")) === 1));
  assert.equal(await code(give(server, ann, 501), 507), "quota_exceeded");
  await read(give(server, ann, 500), 201);
});

test("200 concurrent uploads of one user on PostgreSQL are all counted against the quota", async (t) => {
  const server = await startOnEngine(t, "PostgreSQL", { userQuotaBytes: 200, uploadsPerUser: 200 });
  const ann = await person(server, "ann");
  await Promise.all(Array.from({ length: 200 }, async () => read(give(server, ann, 1), 201)));
  await holds(server, 200, 0);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
});
