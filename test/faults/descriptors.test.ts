// F10: clients use up all file descriptors of the process. It reports that, keeps running, and recovers.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "../support/files-on-disk.ts";
import { openSocket } from "../support/raw-socket.ts";
import { addPart, beginUpload } from "../support/resuming.ts";
import { scaled } from "../support/scale.ts";
import { noProc, openDescriptors } from "../support/usage.ts";
import { isCut, Writes } from "../support/writers.ts";
import { findProblems } from "./oracle.ts";
import { Subject } from "./subject.ts";

const LIMIT = 60;
/** Too large for the database, so it needs a file descriptor. */
const LARGE = Buffer.alloc(50_000);
const skip = noProc || (spawnSync("prlimit", ["--version"]).error ? "prlimit is not installed" : false);

/** Opens connections until one is closed at once, when no descriptor is left. */
async function takeAll(subject: Subject): Promise<Socket[]> {
  const held: Socket[] = [];
  for (;;) {
    const socket = await openSocket(subject.url);
    socket.on("error", () => {}).write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    const isOpen = once(socket, "data").then(
      () => true,
      () => false,
    );
    if (!(await Promise.race([isOpen, once(socket, "close").then(() => false)]))) return held;
    held.push(socket);
    assert.ok(held.length <= LIMIT, "more connections than descriptors");
  }
}

/** Closes connections, and waits until the server has closed them. */
async function release(subject: Subject, held: Socket[]): Promise<void> {
  const pid = subject.server.process.pid!;
  for (const socket of held) socket.destroy();
  // Node reserves one more descriptor to close what it cannot accept.
  assert.ok(await eventually(async () => openDescriptors(pid) <= LIMIT + 1 - held.length));
}

function start(t: TestContext): Promise<Subject> {
  return Subject.start(t, {}, "prlimit", `--nofile=${LIMIT}`);
}

test("F10 without a free file descriptor uploads and downloads are 503, and work again later", {
  skip,
}, async (t) => {
  const subject = await start(t);
  const pid = subject.server.process.pid!;
  const { record, chance } = subject;
  const writes = new Writes(subject, record);
  const { upload } = await beginUpload(subject.client, "parts", LARGE);
  record.begunUploads.add(upload!);
  const file = JSON.parse((await subject.client.upload("a", LARGE)).body.toString());
  const { pathname, search } = new URL(file.file_url);
  subject.client.close();
  assert.ok(await eventually(async () => openDescriptors(pid) < LIMIT - 15));
  const idle = openDescriptors(pid);
  const cycles = scaled(2, 50);
  for (let i = 0; i < cycles; i++) {
    // One connection that was open before.
    const client = subject.newClient(1);
    await client.get("/v1/me");
    const held = await takeAll(subject);
    assert.equal((await client.upload("refused", LARGE)).status, 503);
    const end = Math.floor((LARGE.length * (i + 1)) / cycles);
    assert.equal((await addPart(client, record, upload!, end)).status, 503);
    assert.equal((await client.send("GET", pathname + search)).status, 503);
    assert.equal((await client.send("GET", "/v1/attachments")).status, 200);
    assert.equal((await new Writes({ ...subject, client }, record).makeContact()).status, 201);
    await assert.rejects(subject.newClient(1).send("GET", "/healthz"), isCut, "closed at once, not held");
    await release(subject, held);
    assert.equal((await client.upload(`again ${i}`, LARGE)).status, 201);
    assert.equal((await addPart(client, record, upload!, end)).status, 204);
    client.close();
    assert.ok(await eventually(async () => openDescriptors(pid) <= idle), "descriptors leak");
  }
  t.diagnostic(`limit ${LIMIT}, ${idle} open while idle; ${cycles} times none was left, ${record}`);
  assert.equal((await writes.upload(chance)).status, 201);
  assert.deepEqual(await findProblems(subject), []);
});

test("F10 with very few free file descriptors the first upload of a process is 201 or 503, and later ones are 201", {
  skip,
}, async (t) => {
  for (let free = 0; free < 8; free++) {
    const subject = await start(t);
    const client = subject.newClient(1);
    await client.get("/v1/me");
    const held = await takeAll(subject);
    await release(subject, held.splice(0, free));
    const { status } = await client.upload("first.txt", LARGE);
    assert.ok([201, 503].includes(status), `${status} with ${free} free descriptors`);
    await release(subject, held);
    assert.equal((await client.upload("next.txt", LARGE)).status, 201, `after ${free} were free`);
    assert.deepEqual(await findProblems(subject), []);
    await subject.end("SIGKILL");
  }
});
