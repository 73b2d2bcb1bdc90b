import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser, upload } from "../../support/app.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { openSocket, readAll, readAnswer } from "../../support/raw-socket.ts";

const BOUNDARY = "frontier";

function formHead(name = "a.bin"): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`;
}

function requestHead(user: TestUser, headers: Record<string, string | number>): string {
  const all = {
    host: "localhost",
    ...user.headers,
    "content-type": `multipart/form-data; boundary=${BOUNDARY}`,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /v1/attachments HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** A text file that is too large for the database. */
function large(beginning: string): File {
  return new File([beginning.padEnd(100_000)], "a.txt");
}

async function rows(server: TestApp, user: TestUser): Promise<unknown[]> {
  const page = await fetch(`${server.url}/v1/attachments`, { headers: user.headers });
  return ((await page.json()) as { data: unknown[] }).data;
}

test("an acknowledged upload lies in the store byte for byte, with no temporary file beside it", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const bytes = randomBytes(3_000_000);
  const response = await upload(server.url, user, new File([bytes], "a.bin"));
  assert.equal(response.status, 201);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
  const [path] = await storedFiles(server.config);
  assert.equal(
    createHash("sha256")
      .update(await readFile(path!))
      .digest("hex"),
    createHash("sha256").update(bytes).digest("hex"),
  );
  assert.equal((await stat(path!)).mode & 0o777, 0o600);
});

test("a file of exactly the limit is taken, one byte more is 413 and leaves nothing", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000 });
  const user = await server.user();
  assert.equal((await upload(server.url, user, new File([randomBytes(100_001)], "b"))).status, 413);
  assert.equal((await upload(server.url, user, new File([randomBytes(100_000)], "a"))).status, 201);
  assert.equal((await rows(server, user)).length, 1);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
});

test("a limit of 0 is none", async (t) => {
  const server = await startApp(t, { maxFileBytes: 0 });
  const user = await server.user();
  assert.equal((await upload(server.url, user, new File([randomBytes(300_000)], "a"))).status, 201);
});

test("413 comes as soon as the limit is passed, while the body is still on its way", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000 });
  const user = await server.user();
  const socket = await openSocket(server.url);
  socket.write(requestHead(user, { "transfer-encoding": "chunked" }));
  const chunk = `${formHead()}${"x".repeat(150_000)}`;
  socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 413 .*"code":"file_too_large"/s);
  socket.destroy();
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
});

test("a request that announces too large a body is refused before the body is sent", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000 });
  const user = await server.user();
  const socket = await openSocket(server.url);
  socket.write(requestHead(user, { "content-length": 10_000_000, expect: "100-continue" }));
  const answer = await readAnswer(socket);
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /connection: close/i);
  socket.destroy();
});

test("a body that waits for 100 Continue is asked for only after the token was checked", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const body = `${formHead()}hello\r\n--${BOUNDARY}--\r\n`;
  const head = { "content-length": body.length, expect: "100-continue" };
  const stranger = await openSocket(server.url);
  stranger.write(requestHead({ ...user, headers: { authorization: "Bearer nobody" } }, head));
  assert.match(await readAnswer(stranger), /^HTTP\/1\.1 401 /);
  stranger.destroy();
  const socket = await openSocket(server.url);
  socket.write(requestHead(user, head));
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 100 Continue/);
  const second = await openSocket(server.url);
  second.write(requestHead(user, { ...head, connection: "close" }));
  second.write(body);
  assert.match(await readAll(second, 20_000), /HTTP\/1\.1 201 /);
});

test("aborted uploads leave no row, no file and no temporary file", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (const cut of [0, 10, 100, 50_000]) {
    const socket = await openSocket(server.url);
    socket.write(requestHead(user, { "content-length": 200_000 }));
    socket.write(`${formHead()}${"x".repeat(100_000)}`.slice(0, cut));
    await new Promise((resolve) => setTimeout(resolve, 30));
    if (cut % 100 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
  assert.deepEqual(await rows(server, user), []);
});

test("a body that ends before its closing boundary is 400, whatever its length says, and leaves nothing", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  for (const tail of ["", "\r\n", `\r\n--${BOUNDARY}`, `\r\n--${BOUNDARY}-`, `\r\n--${BOUNDARY}x--\r\n`]) {
    const response = await fetch(`${server.url}/v1/attachments`, {
      method: "POST",
      headers: { ...user.headers, "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
      body: `${formHead()}${"cut".repeat(30_000)}${tail}`,
    });
    assert.equal(response.status, 400, tail);
  }
  assert.deepEqual(await rows(server, user), []);
  assert.deepEqual(await storedFiles(server.config), []);
});

test("a stalled body is answered 408, and a slow but steady one is taken", async (t) => {
  const server = await startApp(t, { bodyIdleTimeoutMs: 1000, minBodyBytesPerSecond: 1 });
  const user = await server.user();
  const stalled = await openSocket(server.url);
  stalled.write(`${requestHead(user, { "content-length": 1000 })}${formHead()}half`);
  assert.match(await readAnswer(stalled), /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  stalled.destroy();
  const body = `${formHead()}steady\r\n--${BOUNDARY}--\r\n`;
  const slow = await openSocket(server.url);
  slow.write(requestHead(user, { "content-length": body.length }));
  // Longer than a body may stall.
  for (let at = 0; at < body.length; at += 8) {
    slow.write(body.slice(at, at + 8));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.match(await readAnswer(slow), /^HTTP\/1\.1 201 /);
  slow.destroy();
  assert.equal((await rows(server, user)).length, 1);
});

test("a body slower than the minimum rate is answered 408", async (t) => {
  const server = await startApp(t, { bodyIdleTimeoutMs: 200, minBodyBytesPerSecond: 100_000 });
  const user = await server.user();
  const socket = await openSocket(server.url);
  socket.write(`${requestHead(user, { "content-length": 100_000 })}${formHead()}`);
  const trickle = setInterval(() => socket.write("x"), 20);
  t.after(() => clearInterval(trickle));
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 408 /);
  socket.destroy();
});

test("deleting erases the bytes right after the 204", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { id, file_url } = (await (await upload(server.url, user, large("secret"))).json()) as {
    id: string;
    file_url: string;
  };
  assert.equal((await storedFiles(server.config)).length, 1);
  const gone = await fetch(`${server.url}/v1/attachments/${id}`, { method: "DELETE", headers: user.headers });
  assert.equal(gone.status, 204);
  assert.equal((await fetch(file_url)).status, 404);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
});

test("deleting a contact erases the files of its conversation, and no others", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const created = await fetch(`${server.url}/v1/contacts`, {
    method: "POST",
    headers: user.headers,
    body: new URLSearchParams({ username: "ada", phone_number: "555-0100" }),
  });
  const contact = (await created.json()) as { id: string; conversation_id: string };
  await upload(server.url, user, large("kept"));
  for (let i = 0; i < 3; i++) {
    const form = { conversation_id: contact.conversation_id };
    assert.equal((await upload(server.url, user, large(`gone ${i}`), form)).status, 201);
  }
  await fetch(`${server.url}/v1/contacts/${contact.id}`, { method: "DELETE", headers: user.headers });
  assert.equal((await rows(server, user)).length, 1);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
  const [path] = await storedFiles(server.config);
  assert.match(await readFile(path!, "utf8"), /^kept/);
});
