// F5: the clock jumps back and forth by hours and days while the service runs, and between two starts.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { isBlobLive } from "../../src/db/queries/upkeep/integrity.ts";
import { startApp, startOn, type TestApp, type TestUser, upload } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { openSocket, readAnswer } from "../support/raw-socket.ts";
import { type Chance, scaled, seededChance } from "../support/scale.ts";

const HOUR = 3600_000;
const DAY = 24 * HOUR;

/** A clock that a test can set, in milliseconds. */
function settableClock() {
  const clock = Object.assign(() => clock.now, { now: Date.UTC(2026, 0, 1) });
  return clock;
}

/** Up to ten days in either direction, often only seconds or hours. */
function step(chance: Chance): number {
  return Math.round((chance() * 2 - 1) * [1000, HOUR, DAY, 10 * DAY][Math.floor(chance() * 4)]!);
}

async function json<T>(answered: Promise<Response>): Promise<T> {
  const answer = await answered;
  assert.ok(answer.ok, `${answer.url}: ${answer.status}`);
  return (await answer.json()) as T;
}

async function makeContact({ url }: TestApp, { headers }: TestUser): Promise<string> {
  const body = new URLSearchParams({ username: randomBytes(8).toString("hex"), phone_number: "+15550100" });
  return (await json<{ id: string }>(fetch(`${url}/v1/contacts`, { method: "POST", headers, body }))).id;
}

interface Page {
  data: { id: string }[];
  has_more: boolean;
}

test("F5 ids increase, and paging neither skips nor repeats anything, however the clock jumps", async (t) => {
  const chance = seededChance(t);
  const clock = settableClock();
  const server = await startApp(t, {}, { clock });
  const user = await server.user();
  const page = (query: string) =>
    json<Page>(fetch(`${server.url}/v1/contacts?limit=7${query}`, { headers: user.headers }));
  const made: string[] = [];
  const add = async () => {
    clock.now += step(chance);
    made.push(await makeContact(server, user));
  };
  const count = scaled(100, 2000);
  while (made.length < count) await add();
  assert.deepEqual(made, [...made].sort(), "ids increase");
  assert.equal(new Set(made).size, made.length);
  const before = [...made].reverse();
  const walked: string[] = [];
  for (let after = ""; ; after = `&starting_after=${walked.at(-1)}`) {
    const { data, has_more } = await page(after);
    walked.push(...data.map(({ id }) => id));
    await add();
    if (!has_more) break;
  }
  assert.deepEqual(walked, before, "what was there when the walk began, newest first");
  const newer: string[] = [];
  for (let last = before[0]; ; last = newer.at(-1)) {
    const { data, has_more } = await page(`&ending_before=${last}`);
    newer.push(...data.map(({ id }) => id).reverse());
    if (!has_more) break;
  }
  assert.deepEqual(newer, made.slice(count), "what came since, from the same cursor");
  t.diagnostic(`${made.length} contacts, made at steps of up to ten days`);
});

test("F5 a link created with a fast clock expires, and no link expires within an hour, however the clock jumps", async (t) => {
  const clock = settableClock();
  const server = await startApp(t, {}, { clock });
  const user = await server.user();
  const link = async () =>
    (await json<{ file_url: string }>(upload(server.url, user, new File(["12345"], "a.txt")))).file_url;
  const statusAt = async (url: string, now: number) => {
    clock.now = now;
    const answer = await fetch(url);
    await answer.arrayBuffer();
    return answer.status;
  };
  const start = clock.now;
  const first = await link();
  assert.equal(await statusAt(first, start + HOUR), 200, "after an hour");
  assert.equal(await statusAt(first, start + 2 * HOUR), 403, "after two hours");
  assert.equal(
    await statusAt(first, start - HOUR + 1000),
    200,
    "the clock was set back by less than an hour",
  );
  clock.now = start + 10 * DAY;
  const ahead = await link();
  assert.equal(await statusAt(ahead, clock.now), 200);
  assert.equal(
    await statusAt(ahead, start),
    403,
    "the clock was set right: the link would live for ten days",
  );
  assert.equal(await statusAt(await link(), start), 200, "a link of now");
});

/** Too large for the database. Bytes. */
const LARGE = 50_000;

const FORM = [
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'.padEnd(LARGE),
  "late\r\n--b--\r\n",
];

test("F5 nothing is swept or erased early, and deleted data is erased, however the clock jumps", async (t) => {
  const chance = seededChance(t);
  const clock = settableClock();
  const server = await startApp(t, {}, { clock });
  const user = await server.user();
  const { core } = server.app;
  const kept = new Set<string>();
  const send = async () =>
    (await json<{ id: string }>(upload(server.url, user, new File([randomBytes(LARGE)], "a")))).id;
  const cycles = scaled(5, 300);
  for (let i = 0; i < cycles; i++) {
    const socket = await openSocket(server.url);
    socket.write(
      `POST /v1/attachments HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n` +
        `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${FORM.join("").length}\r\n\r\n${FORM[0]}`,
    );
    const underway = async () => (await storedFiles(server.config)).length > kept.size;
    assert.ok(await eventually(underway), "the upload has begun");
    const answered = readAnswer(socket);
    kept.add(await send());
    const gone = await send();
    clock.now += step(chance);
    const headers = user.headers;
    assert.equal(
      (await fetch(`${server.url}/v1/attachments/${gone}`, { method: "DELETE", headers })).status,
      204,
    );
    clock.now += step(chance);
    await core.blobs.intents!.sweep(
      (key) => isBlobLive(core.db, key),
      assert.ifError,
      () => false,
    );
    socket.write(FORM[1]!);
    const answer = await answered;
    assert.match(answer, /^HTTP\/1\.1 201 /, "an upload that was under way while the sweep ran");
    kept.add(/att_\w+/.exec(answer)![0]);
    socket.destroy();
    assert.ok(await eventually(async () => (await storedFiles(server.config)).length === kept.size));
  }
  await server.app.stop();
  for (const years of [-10, 10]) {
    clock.now += years * 365 * DAY;
    const again = await startOn(t, server.config, { clock });
    for (const id of kept) {
      const answer = fetch(`${again.url}/v1/attachments/${id}`, { headers: user.headers });
      const { file_url } = await json<{ file_url: string }>(answer);
      assert.equal((await fetch(file_url)).status, 200, `${id}, ${years} years from then`);
    }
    await again.app.stop();
  }
  assert.equal((await storedFiles(server.config)).length, kept.size);
  t.diagnostic(`${cycles} cycles, ${kept.size} files kept, ${cycles} erased, lost = 0`);
});
