import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser, upload } from "../../support/app.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { beginUpload, FORM_HEAD, FORM_TAIL, readAll, readAnswer } from "../../support/raw-socket.ts";

/** Returns a text file that is too large for the database. */
function large(beginning: string): File {
  return new File([beginning.padEnd(100_000)], "a.txt");
}

async function rows(server: TestApp, user: TestUser): Promise<unknown[]> {
  const page = await fetch(`${server.url}/v1/attachments`, { headers: user.headers });
  return ((await page.json()) as { data: unknown[] }).data;
}

test("an acknowledged upload is stored unchanged, private to its owner, without a temporary file", async (t) => {
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

test("a file of exactly maxFileBytes is accepted, one byte more is 413 and leaves nothing", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000 });
  const user = await server.user();
  assert.equal((await upload(server.url, user, new File([randomBytes(100_001)], "b"))).status, 413);
  assert.equal((await upload(server.url, user, new File([randomBytes(100_000)], "a"))).status, 201);
  assert.equal((await rows(server, user)).length, 1);
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 1));
});

test("maxFileBytes 0 means no limit", async (t) => {
  const server = await startApp(t, { maxFileBytes: 0 });
  const user = await server.user();
  assert.equal((await upload(server.url, user, new File([randomBytes(300_000)], "a"))).status, 201);
});

test("413 is answered as soon as the limit is exceeded, before the body ends", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000 });
  const user = await server.user();
  const socket = await beginUpload(server.url, user, { "transfer-encoding": "chunked" });
  const chunk = `${FORM_HEAD}${"x".repeat(150_000)}`;
  socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 413 .*"code":"file_too_large"/s);
  socket.destroy();
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
});

test("a Content-Length above the limit is 413 before the body is sent", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000 });
  const user = await server.user();
  const socket = await beginUpload(server.url, user, {
    "content-length": 10_000_000,
    expect: "100-continue",
  });
  const answer = await readAnswer(socket);
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /connection: close/i);
  socket.destroy();
});

test("100 Continue is sent only after the token is checked", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const body = `${FORM_HEAD}hello${FORM_TAIL}`;
  const head = { "content-length": body.length, expect: "100-continue" };
  const stranger = await beginUpload(server.url, { headers: { authorization: "Bearer nobody" } }, head);
  assert.match(await readAnswer(stranger), /^HTTP\/1\.1 401 /);
  stranger.destroy();
  const socket = await beginUpload(server.url, user, head);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 100 Continue/);
  const second = await beginUpload(server.url, user, { ...head, connection: "close" });
  second.write(body);
  assert.match(await readAll(second, 20_000), /HTTP\/1\.1 201 /);
});

test("a stalled body is 408, and a slow but steady one is accepted", async (t) => {
  const server = await startApp(t, { bodyIdleTimeoutMs: 1000, minBodyBytesPerSecond: 1 });
  const user = await server.user();
  const stalled = await beginUpload(server.url, user, { "content-length": 1000 });
  stalled.write(`${FORM_HEAD}half`);
  assert.match(await readAnswer(stalled), /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  stalled.destroy();
  const body = `${FORM_HEAD}steady${FORM_TAIL}`;
  const slow = await beginUpload(server.url, user, { "content-length": body.length });
  // Takes longer than a body may stall.
  for (let at = 0; at < body.length; at += 8) {
    slow.write(body.slice(at, at + 8));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.match(await readAnswer(slow), /^HTTP\/1\.1 201 /);
  slow.destroy();
  assert.equal((await rows(server, user)).length, 1);
});

test("the bytes of a deleted file leave the store right after the 204", async (t) => {
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
