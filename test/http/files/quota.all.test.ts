// What a user's files may take, as limits.userQuotaBytes says: to the byte, and with nothing kept of what is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limits } from "../../../src/config/limits.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { startApp, startOn, type TestApp, testConfig, upload } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { add, code, filesOf, type Person, person, read, send, used } from "../../support/people.ts";
import { openSocket, readAnswer } from "../../support/raw-socket.ts";

const HOUR_MS = 3600_000;
const PROMISE_MS = 15 * 60_000;
const BOUNDARY = "frontier";
const HEAD = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
const TAIL = `\r\n--${BOUNDARY}--\r\n`;

const bytes = (size: number) => new File([Buffer.alloc(size, "x")], `of ${size}`);

const give = (server: TestApp, who: Person, size: number, fields = {}) =>
  upload(server.url, who, bytes(size), fields);

/** With a body whose length is not announced. */
function stream(server: TestApp, who: Person, size: number): Promise<Response> {
  const body = new Blob([HEAD, Buffer.alloc(size, "x"), TAIL]).stream();
  const headers = { ...who.headers, "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
  const request = { method: "POST", headers, body, duplex: "half" as const };
  return fetch(`${server.url}/v1/attachments`, request);
}

async function count(server: TestApp, table: string): Promise<number> {
  const row = await server.app.core.db.get<{ count: number }>(
    sql`SELECT COUNT(*) AS count FROM ${raw(table)}`,
  );
  return row!.count;
}

/** The service has so many files, in rows and in the store, and promises room to nobody. */
async function holds(server: TestApp, small: number, large: number): Promise<void> {
  assert.equal(await count(server, "attachments"), small + large);
  assert.equal(await count(server, "small_files"), small);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === large));
  assert.ok(await eventually(async () => (await count(server, "reservations")) === 0));
  assert.equal(await count(server, "intents"), 0);
}

// A file that is kept in the database, and one that is kept in the store.
for (const size of [1000, 50_000]) {
  test(`of ${size} bytes: what fits exactly is taken, one byte more is 507 and nothing of it is kept`, async (t) => {
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

test("without a quota the caller is told so", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  await read(give(server, ann, 7), 201);
  const me = await read<{ storage: object }>(send(server, ann, "GET", "/v1/me"), 200);
  assert.deepEqual(me.storage, { used: 7, quota: null });
});

test("room comes back by deleting a file, and by leaving a conversation although the other keeps the file", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 1000 });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toBob = await add(server, ann, "bob");
  await add(server, bob, "ann");
  const { id } = await read<{ id: string }>(give(server, ann, 1000), 201);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
  assert.equal((await send(server, ann, "DELETE", `/v1/attachments/${id}`)).status, 204);
  assert.equal(await used(server, ann), 0);
  await read(give(server, ann, 1000, { conversation_id: toBob.conversation_id }), 201);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  assert.equal((await filesOf(server, bob)).length, 1);
  assert.equal(await used(server, bob), 0, "what was received takes nothing");
  await read(give(server, ann, 1000), 201);
});

test("a quota that was lowered refuses, and takes nothing away", async (t) => {
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
  assert.equal((await send(server, ann, "DELETE", `/v1/attachments/${id}`)).status, 204);
  await read(give(server, ann, 500), 201);
});

/** Sends the head of an upload of this size, and the first bytes of its file. */
async function begin(server: TestApp, who: Person, size: number) {
  const socket = await openSocket(server.url);
  const length = HEAD.length + size + TAIL.length;
  socket.write(
    `POST /v1/attachments HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${who.token}\r\n` +
      `content-type: multipart/form-data; boundary=${BOUNDARY}\r\ncontent-length: ${length}\r\n\r\n${HEAD}xx`,
  );
  assert.ok(await eventually(async () => (await count(server, "reservations")) === 1));
  return socket;
}

test("an upload under way has its room promised, and gives it back when it is broken off", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 100_000 });
  const ann = await person(server, "ann");
  const socket = await begin(server, ann, 60_000);
  assert.equal(await used(server, ann), 0, "what is promised is not used");
  assert.equal(await code(give(server, ann, 40_001), 507), "quota_exceeded");
  assert.equal(await code(stream(server, ann, 40_001), 507), "quota_exceeded");
  await read(give(server, ann, 20_000), 201);
  await read(stream(server, ann, 20_000), 201);
  socket.destroy();
  await holds(server, 2, 0);
  await read(give(server, ann, 60_000), 201);
  await holds(server, 2, 1);
});

test("a promise lapses after a quarter of an hour: it counts no longer, and the upload has to find room at its end", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, { userQuotaBytes: 100_000 }, { clock: () => now });
  const ann = await person(server, "ann");
  const socket = await begin(server, ann, 60_000);
  now += PROMISE_MS - 1;
  assert.equal(await code(give(server, ann, 40_001), 507), "quota_exceeded");
  now += 1;
  await read(give(server, ann, 40_001), 201);
  socket.write(`${"x".repeat(60_000 - 2)}${TAIL}`);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 507 .*"code":"quota_exceeded"/s);
  socket.destroy();
  await holds(server, 0, 1);
});

test("a promise that a crash left is dropped at the next start, where nobody else can have made it", async (t) => {
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

test("a promise that a node left is swept once it has lapsed", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const config = {
    ...(await testConfig(t, { userQuotaBytes: 1000 })),
    databaseUrl: await testDatabase(t),
    secrets: ["s".repeat(32)],
  };
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

test("on PostgreSQL two hundred uploads of one user at once all find room, and are counted", async (t) => {
  const config = {
    ...(await testConfig(t, { userQuotaBytes: 200, uploadsPerUser: 200 })),
    databaseUrl: await testDatabase(t),
    secrets: ["s".repeat(32)],
  };
  const server = await startOn(t, config);
  const ann = await person(server, "ann");
  await Promise.all(Array.from({ length: 200 }, async () => read(give(server, ann, 1), 201)));
  await holds(server, 200, 0);
  assert.equal(await code(give(server, ann, 1), 507), "quota_exceeded");
});

test("what is refused for the quota is told in sizes that people read", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 1_048_576 });
  const ann = await person(server, "ann");
  await read(give(server, ann, 888_860), 201);
  const { detail } = await read<{ detail: string }>(give(server, ann, 300_000), 507);
  assert.equal(
    detail,
    "Your files and uploads take 868.0 KiB of 1.0 MiB, and this one has 293.0 KiB. Delete some first.",
  );
});
