// Clients that hold a connection with almost no data (slowloris, CVE-2007-6750). Slow bodies are in
// test/http/files/uploads.test.ts and test/faults/clients.test.ts, slow readers in the latter.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { startApp, upload } from "../support/app.ts";
import { beginUpload, FORM_HEAD, openSocket, readAll } from "../support/raw-socket.ts";

const LIMIT_MS = 500;
/** The server checks at most once a second. */
const PATIENCE_MS = 5000;

test("request headers that never end are 408, and delay no other client (slowloris)", async (t) => {
  const server = await startApp(t, { headersTimeoutMs: LIMIT_MS });
  const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(server.url)));
  const answers = sockets.map((socket) => readAll(socket, PATIENCE_MS));
  for (const [i, socket] of sockets.entries())
    socket.write(i % 2 === 0 ? "" : "GET /healthz HTTP/1.1\r\nhost: x\r\n");
  const trickle = setInterval(() => {
    for (const [i, socket] of sockets.entries())
      if (!socket.destroyed) socket.write(i % 2 === 0 ? "G" : "a: b\r\n");
  }, 50);
  t.after(() => clearInterval(trickle));
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1\.1 4(?:08|00) /);
  for (const socket of sockets) assert.ok(socket.destroyed);
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
});

test("a request answered with 408 is not executed when its rest arrives", async (t) => {
  const server = await startApp(t, { headersTimeoutMs: LIMIT_MS });
  const { headers } = await server.user();
  const socket = await openSocket(server.url, true);
  t.after(() => socket.destroy());
  let text = "";
  socket
    .on("error", () => {})
    .on("data", (chunk) => {
      text += chunk;
    });
  const ended = once(socket, "end");
  const body = "username=late&phone_number=555";
  socket.write(
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\ncontent-length: ${body.length}\r\n` +
      "content-type: application/x-www-form-urlencoded\r\n",
  );
  await ended;
  assert.match(text, /^HTTP\/1\.1 408 .*\r\nx-content-type-options: nosniff\r\n/is);
  socket.write(`\r\n${body}`);
  await sleep(300);
  const contacts = await (await fetch(`${server.url}/v1/contacts`, { headers })).json();
  assert.deepEqual((contacts as { data: unknown[] }).data, []);
});

test("a body below the minimum rate is 408, even after a fast start", async (t) => {
  const server = await startApp(t, { bodyIdleTimeoutMs: LIMIT_MS });
  const socket = await beginUpload(server.url, await server.user(), { "content-length": 90_000_000 });
  socket.write(Buffer.concat([Buffer.from(FORM_HEAD), Buffer.alloc(2 * 1024 * 1024)]));
  const trickle = setInterval(() => socket.write("x"), 100);
  t.after(() => clearInterval(trickle));
  const answer = await readAll(socket, 4 * PATIENCE_MS);
  assert.match(answer, /^HTTP\/1\.1 408 /);
});

test("a body that arrives while the event loop is blocked does not count as slow", async (t) => {
  const server = await startApp(t, { bodyIdleTimeoutMs: LIMIT_MS });
  const { headers } = await server.user();
  const socket = await openSocket(server.url);
  const body = JSON.stringify({ username: "held", phone_number: "555" }) + " ".repeat(1000);
  socket.write(
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ${headers.authorization}\r\n` +
      `content-length: ${body.length}\r\ncontent-type: application/json\r\n\r\n${body[0]}`,
  );
  const answer = readAll(socket, PATIENCE_MS);
  await sleep(LIMIT_MS / 10);
  // The server runs in this process: sockets are read after timers, and timers run after immediates.
  await setImmediate();
  socket.write(body.slice(1));
  const end = performance.now() + 2 * LIMIT_MS;
  while (performance.now() < end);
  assert.match(await answer, /^HTTP\/1\.1 201 /);
});

test("a download that nobody reads is closed", async (t) => {
  // On a busy machine an upload pauses for longer than the limit of the other tests.
  const server = await startApp(t, { socketIdleTimeoutMs: 5 * LIMIT_MS });
  const user = await server.user();
  const bytes = 40_000_000;
  const made = await upload(server.url, user, new File([Buffer.alloc(bytes)], "a"));
  const { pathname, search } = new URL(((await made.json()) as { file_url: string }).file_url);
  const socket = await openSocket(server.url);
  socket.pause().write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`);
  await sleep(3 * PATIENCE_MS);
  const text = await readAll(socket.resume(), PATIENCE_MS);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.ok(socket.destroyed, "the connection is held");
  assert.ok(text.length < bytes, "what the kernel had taken, and no more");
});
