// Uploads that try to exceed the quota: without Content-Length, many at once, or with a used Idempotency-Key.
import assert from "node:assert/strict";
import { watch } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { startApp, type TestApp, upload } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { onEachEngineWith } from "../support/on-engines.ts";
import { add, code, filesOf, type Person, person, read, used } from "../support/people.ts";
import { beginUpload, FORM_HEAD, FORM_TAIL, readAnswer } from "../support/raw-socket.ts";

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3600_000;

const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

/** Starts a chunked upload and sends the first bytes of its file. */
async function begin(server: TestApp, who: Person, size: number, headers = {}): Promise<Socket> {
  const socket = await beginUpload(server.url, who, { "transfer-encoding": "chunked", ...headers });
  socket.write(chunk(Buffer.from(FORM_HEAD)));
  if (size > 0) send(socket, size);
  return socket;
}

function send(socket: Socket, size: number): void {
  for (let left = size; left > 0; left -= MIB) socket.write(chunk(Buffer.alloc(Math.min(left, MIB), "x")));
}

async function end(socket: Socket): Promise<string> {
  socket.write(Buffer.concat([chunk(Buffer.from(FORM_TAIL)), Buffer.from("0\r\n\r\n")]));
  return answerOf(socket);
}

/** Returns the status, and the code of a problem answer. */
async function answerOf(socket: Socket): Promise<string> {
  const text = await readAnswer(socket);
  socket.destroy();
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return `${text.slice(9, 12)}${code ? ` ${code}` : ""}`;
}

async function reserved(server: TestApp): Promise<number> {
  const row = await server.app.core.db.get<{ bytes: number }>(
    sql`SELECT COALESCE(SUM(bytes), 0) AS bytes FROM reservations`,
  );
  return Number(row!.bytes);
}

/** Asserts that these files are all that is stored, and that nothing is reserved or running. */
async function isSettled(server: TestApp, files: number): Promise<void> {
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === files));
  assert.ok(await eventually(async () => (await reserved(server)) === 0));
  assert.ok(await eventually(async () => server.app.core.runningUploads.size === 0));
}

onEachEngineWith(
  { userQuotaBytes: MIB },
  "a chunked upload is 507 as soon as it exceeds the quota",
  async (server) => {
    const ann = await person(server, "ann");
    // The body never ends, so only a server that counts while receiving can answer.
    assert.equal(await answerOf(await begin(server, ann, MIB + 1)), "507 quota_exceeded");
    await isSettled(server, 0);
    assert.equal(await end(await begin(server, ann, MIB)), "201");
    await isSettled(server, 1);
  },
);

onEachEngineWith(
  { userQuotaBytes: 10 * MIB },
  "a chunked upload reserves quota as it arrives",
  async (server) => {
    const ann = await person(server, "ann");
    const first = await begin(server, ann, 7 * MIB);
    assert.ok(await eventually(async () => (await reserved(server)) > 4 * MIB));
    assert.ok((await reserved(server)) <= 7 * MIB, "no more than has come in");
    const file = new File([Buffer.alloc(6 * MIB)], "b");
    assert.equal(await code(upload(server.url, ann, file), 507), "quota_exceeded");
    assert.equal(await answerOf(await begin(server, ann, 9 * MIB)), "507 quota_exceeded");
    const bob = await person(server, "bob");
    assert.equal(await end(await begin(server, bob, 6 * MIB)), "201", "another user has room");
    send(first, 3 * MIB);
    assert.equal(await end(first), "201", "what fits exactly is taken");
    assert.equal(await used(server, ann), 10 * MIB);
    await isSettled(server, 2);
  },
);

onEachEngineWith(
  { userQuotaBytes: 300_000 },
  "3 of 50 concurrent uploads succeed if 3 fit the quota",
  async (server) => {
    const size = 100_000;
    const ann = await person(server, "ann");
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => end(await begin(server, ann, size))),
    );
    assert.deepEqual(answers.sort(), ["201", "201", "201", ...Array(47).fill("507 quota_exceeded")]);
    assert.equal(await used(server, ann), 3 * size);
    await isSettled(server, 3);
  },
);

onEachEngineWith(
  { userQuotaBytes: 10 },
  "a reservation that cannot grow leaves its room to others",
  async (server) => {
    const { id: userId } = await person(server, "ann");
    const now = Date.now();
    const raise = (id: string, bytes: number) =>
      server.app.core.db.write("reserveStorage", { id, userId, bytes, quota: 10, now, until: now + DAY_MS });
    assert.deepEqual([await raise("att_1", 4), await raise("att_2", 4)], [null, null]);
    const refusals = await Promise.all([raise("att_1", 8), raise("att_2", 8)]);
    assert.equal(refusals.filter((each) => each === null).length, 1);
    assert.equal(await reserved(server), 8);
  },
);

test("large concurrent chunked uploads never exceed the quota, and at least one succeeds", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 18 * MIB });
  const ann = await person(server, "ann");
  const answers = await Promise.all(
    Array.from({ length: 10 }, async () => end(await begin(server, ann, 6 * MIB))),
  );
  const taken = answers.filter((each) => each === "201").length;
  assert.ok(taken >= 1 && taken <= 3, `${taken} were taken`);
  assert.deepEqual(
    answers.filter((each) => each !== "201"),
    Array(10 - taken).fill("507 quota_exceeded"),
  );
  assert.equal(await used(server, ann), taken * 6 * MIB);
  await isSettled(server, taken);
});

test("one concurrent upload over the limit is 429 before its body is sent", async (t) => {
  const server = await startApp(t, { uploadsPerUser: 3 });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const running = () => server.app.core.runningUploads.get(ann.id) ?? 0;
  const begun = await Promise.all([1, 2, 3].map(() => begin(server, ann, 1000)));
  assert.ok(await eventually(async () => running() === 3));
  const waiting = await begin(server, ann, 0, { expect: "100-continue" });
  const answer = await readAnswer(waiting);
  waiting.destroy();
  assert.match(answer, /^HTTP\/1\.1 429 .*\r\nretry-after: 1\r\n.*"code":"rate_limited"/is);
  assert.equal(running(), 3, "a refused upload takes no slot");
  await read(upload(server.url, bob, new File(["x"], "bob's")), 201);
  const [hungUp, broken, whole] = begun as [Socket, Socket, Socket];
  hungUp.resetAndDestroy();
  assert.ok(await eventually(async () => running() === 2), "the client hung up");
  await read(upload(server.url, ann, new File(["x"], "ann's")), 201);
  broken.write("0\r\n\r\n");
  assert.equal(await answerOf(broken), "400 malformed_body");
  assert.equal(await end(whole), "201");
  assert.ok(await eventually(async () => running() === 0));
  assert.equal((await filesOf(server, ann)).length, 2);
  await isSettled(server, 0);
});

test("an upload with a used Idempotency-Key writes nothing to the store", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 10 * MIB });
  const ann = await person(server, "ann");
  const key = { "idempotency-key": "used" };
  assert.equal(await end(await begin(server, ann, MIB, key)), "201");
  await isSettled(server, 1);
  const seen: (string | null)[] = [];
  const watcher = watch(join(server.config.dataFolder, "tmp"), (_, name) => seen.push(name));
  t.after(() => watcher.close());
  assert.equal(await end(await begin(server, ann, MIB, key)), "201", "a replay");
  assert.equal(await end(await begin(server, ann, 30 * MIB, key)), "422 idempotency_key_reused");
  await add(server, ann, "bob");
  assert.equal(await used(server, ann), MIB);
  await isSettled(server, 1);
  assert.deepEqual(seen, []);
  // Shows that the watcher notices writes.
  assert.equal(await end(await begin(server, ann, MIB)), "201");
  assert.ok(await eventually(async () => seen.length > 0));
});

test("an upload whose Idempotency-Key expires meanwhile is 503, and its retry creates the file", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ann = await person(server, "ann");
  const key = { "idempotency-key": "used" };
  assert.equal(await end(await begin(server, ann, MIB, key)), "201");
  now += DAY_MS - 1;
  const socket = await begin(server, ann, 1000, { ...key, expect: "100-continue" });
  // The answer comes after the key was looked up.
  assert.match(await new Promise((resolve) => socket.once("data", (data) => resolve(`${data}`))), / 100 /);
  now += 1;
  send(socket, MIB - 1000);
  assert.equal(await end(socket), "503 unavailable");
  assert.equal((await filesOf(server, ann)).length, 1);
  await isSettled(server, 1);
  assert.equal(await end(await begin(server, ann, MIB, key)), "201");
  assert.equal((await filesOf(server, ann)).length, 2);
  await isSettled(server, 2);
});
