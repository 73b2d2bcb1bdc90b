// F8: clients that close, reset, stall or read slowly must leave no file, file descriptor or buffer.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startApp, upload } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { openSocket, readAnswer } from "../support/raw-socket.ts";
import { scaled } from "../support/scale.ts";
import { inMib, noProc, openDescriptors, residentBytes } from "../support/usage.ts";
import { Subject } from "./subject.ts";

const MIB = 1024 * 1024;
const AT_ONCE = 20;
const FORM_END = "\r\n--b--\r\n";

/** Too large for the database. */
const LARGE = 50_000;

/** Each file has a different name, because two files of one name would count as one created twice. */
function uploadHead(authorization: string, fileBytes: number, name: string): string {
  const formHead = `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
  const length = formHead.length + fileBytes + FORM_END.length;
  return (
    `POST /v1/attachments HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n` +
    `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${length}\r\n\r\n${formHead}`
  );
}

/** Runs many of the same in groups. */
async function each(count: number, one: (i: number) => Promise<void>): Promise<void> {
  for (let i = 0; i < count; i += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, j) => one(i + j)));
  }
}

/** Runs the work. Afterwards the server's process must be as before, and its memory limited. */
async function leavesNothing(t: TestContext, subject: Subject, work: () => Promise<void>): Promise<void> {
  const pid = subject.server.process.pid!;
  const [descriptors, memory] = [openDescriptors(pid), residentBytes(pid)];
  let peak = memory;
  const watch = setInterval(() => {
    peak = Math.max(peak, residentBytes(pid));
  }, 20);
  await work();
  clearInterval(watch);
  const isBack = await eventually(async () => openDescriptors(pid) <= descriptors);
  t.diagnostic(
    `descriptors ${descriptors} before, ${openDescriptors(pid)} after; RSS ${inMib(memory)} before, peak ${inMib(peak)}`,
  );
  assert.ok(isBack, `${openDescriptors(pid)} descriptors, and ${descriptors} before`);
  assert.ok(peak - memory < 100 * MIB, `RSS grew by ${inMib(peak - memory)}`);
}

const cuts: Record<string, (socket: Socket) => void> = {
  closed: (socket) => socket.destroy(),
  reset: (socket) => socket.resetAndDestroy(),
  "half-closed": (socket) => socket.end(),
};

test("F8 uploads cut off by close, reset and half-close leave nothing", {
  skip: noProc,
}, async (t) => {
  const subject = await Subject.start(t);
  const { client, data, chance } = subject;
  assert.equal((await client.upload("kept", Buffer.alloc(LARGE))).status, 201);
  const count = scaled(200, 1000);
  await leavesNothing(t, subject, () =>
    each(count, async (i) => {
      const socket = await openSocket(subject.url);
      const answer: Buffer[] = [];
      socket.on("data", (chunk) => answer.push(chunk)).on("error", () => {});
      const ended = once(socket, "close");
      const size = Math.floor(chance() * MIB);
      const sent =
        uploadHead(subject.authorization, size, `cut ${i}`) + "x".repeat(Math.floor(size * chance()));
      socket.write(sent.slice(0, sent.length - 1));
      await sleep(chance() * 20);
      Object.values(cuts)[i % 3]!(socket);
      await ended;
      assert.match(Buffer.concat(answer).toString(), /^(HTTP\/1\.1 4\d\d .*)?$/s);
    }),
  );
  const stored = () => storedFiles({ dataFolder: data });
  assert.ok(await eventually(async () => (await stored()).length === 1), "files are left");
  assert.equal((await client.get<{ data: unknown[] }>("/v1/attachments")).data.length, 1);
  t.diagnostic(`${count} uploads were cut off`);
});

test("F8 clients that half-close after a whole request: the file is stored whole, or not at all", async (t) => {
  const subject = await Subject.start(t);
  await each(scaled(40, 400), async (i) => {
    const socket = await openSocket(subject.url);
    socket.end(`${uploadHead(subject.authorization, 5, `half ${i}`)}12345${FORM_END}`);
    await once(socket.resume(), "close");
  });
  // Uploads may still be running, and a graceful stop lets them finish.
  await subject.end("SIGTERM");
  assert.deepEqual(await subject.begin(), []);
});

test("F8 downloads that are read slowly or reset keep no buffers and no file descriptors", {
  skip: noProc,
}, async (t) => {
  const subject = await Subject.start(t);
  const bytes = randomBytes(scaled(64, 100) * MIB);
  const made = await subject.client.upload("large", bytes);
  const { pathname, search } = new URL(JSON.parse(made.body.toString()).file_url);
  const ask = async () => {
    const socket = await openSocket(subject.url);
    socket.on("error", () => {});
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    return socket;
  };
  await subject.client.get("/v1/contacts");
  await leavesNothing(t, subject, async () => {
    // Nobody reads from these paused sockets, so they take only what fits into the kernel's buffers.
    const slow = await Promise.all(Array.from({ length: scaled(10, 50) }, ask));
    await sleep(500);
    await subject.client.get("/v1/contacts");
    const [first, ...others] = slow;
    for (const socket of others) socket.resetAndDestroy();
    const whole = Buffer.concat(await first!.toArray());
    const body = whole.subarray(whole.indexOf("\r\n\r\n") + 4);
    const hash = (of: Uint8Array) => createHash("sha256").update(of).digest("hex");
    assert.equal(hash(body), hash(bytes), "a slow reader gets all, and all right");
    await each(scaled(100, 1000), async () => {
      const socket = await ask();
      await once(socket, "readable");
      socket.resetAndDestroy();
    });
  });
});

test("F8 stalled bodies are closed, and leave nothing", async (t) => {
  const server = await startApp(t, { bodyIdleTimeoutMs: 200 });
  const user = await server.user();
  assert.equal((await upload(server.url, user, new File(["x".repeat(LARGE)], "kept"))).status, 201);
  await each(scaled(40, 200), async () => {
    const socket = await openSocket(server.url);
    socket.write(uploadHead(user.headers.authorization, 2 * LARGE, "stalled") + "x".repeat(LARGE));
    assert.match(await readAnswer(socket), /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
    socket.destroy();
  });
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
});
