import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { truncate } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startApp, startOn, testConfig, upload } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { openSocket, readAll, readAnswer } from "../support/raw-socket.ts";

test("CONNECT is 405 and closes the connection, and resets of it are harmless", async (t) => {
  const server = await startApp(t);
  const asked = await openSocket(server.url);
  asked.write("CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n");
  assert.match(await readAll(asked, 20_000), /^HTTP\/1\.1 405 .*"code":"method_not_allowed"/s);
  assert.ok(asked.destroyed || (await eventually(async () => asked.destroyed)));
  for (let i = 0; i < 20; i++) {
    const socket = await openSocket(server.url);
    socket.on("error", () => {});
    socket.write("CONNECT x:1 HTTP/1.1\r\n\r\n");
    socket.resetAndDestroy();
  }
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
});

test("garbage after a request is answered 400 after the whole answer", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const bytes = Buffer.alloc(30_000_000, "a");
  const { file_url } = (await (await upload(server.url, user, new File([bytes], "a"))).json()) as {
    file_url: string;
  };
  const socket = await openSocket(server.url);
  const { pathname, search } = new URL(file_url);
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`);
  await new Promise((resolve) => socket.once("readable", resolve));
  socket.write("garbage\r\n\r\n");
  const text = await readAll(socket, 20_000);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(text.indexOf("HTTP/1.1 400"), text.indexOf("\r\n\r\n") + 4 + bytes.length);
});

/**
 * Sends headers that are too long and reads the error. The returned function sends more, and reports whether the server
 * resets the connection.
 */
async function refusedHead(t: TestContext, url: string): Promise<() => Promise<boolean>> {
  const socket = await openSocket(url, true);
  t.after(() => socket.destroy());
  let text = "";
  let reset = false;
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {
    reset = true;
  });
  const ended = once(socket, "end");
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\na: ${"a".repeat(20_000)}`);
  await ended;
  assert.match(text, /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
  return async () => {
    // The second write detects a reset.
    for (let i = 0; i < 2; i++) {
      socket.write("a".repeat(20_000));
      await sleep(50);
    }
    return reset;
  };
}

test("431 reaches a client that continues to send", async (t) => {
  const server = await startApp(t);
  let isReset = await refusedHead(t, server.url);
  let isCut = await isReset();
  // The machine may have paused for longer than the time limit.
  for (let tries = 0; tries < 2 && isCut; tries++) {
    isReset = await refusedHead(t, server.url);
    isCut = await isReset();
  }
  assert.equal(isCut, false, "while the answer may be on its way");
  assert.ok(await eventually(isReset), "it is held for good");
});

test("an early refusal reaches a client that sends its whole body first and asks to close", async (t) => {
  const server = await startApp(t, { maxFileBytes: 1_000_000 });
  const user = await server.user();
  for (const [authorization, status] of [
    [user.headers.authorization, 413],
    ["Bearer nobody", 401],
  ] as const) {
    const socket = await openSocket(server.url);
    socket.write(
      `POST /v1/attachments HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ${authorization}\r\n` +
        "content-type: multipart/form-data; boundary=b\r\ncontent-length: 10000000\r\n\r\n",
    );
    const chunk = randomBytes(100_000);
    for (let i = 0; i < 100; i++) {
      if (!socket.write(chunk)) await new Promise((resolve) => socket.once("drain", resolve));
    }
    assert.match(await readAnswer(socket), new RegExp(`^HTTP/1.1 ${status} `));
    socket.destroy();
  }
});

test("a file truncated on disk is 500 without the file's headers", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const made = await upload(server.url, user, new File([randomBytes(300_000)], "a"));
  const { file_url } = (await made.json()) as { file_url: string };
  await truncate((await storedFiles(server.config)).find((path) => path.includes("blobs"))!, 100_000);
  const response = await fetch(file_url);
  assert.equal(response.status, 500);
  for (const name of ["etag", "last-modified", "content-disposition", "content-range"]) {
    assert.equal(response.headers.get(name), null, name);
  }
  assert.equal(((await response.json()) as { code: string }).code, "internal_error");
});

test("Location and links have the path of PARLEY_PUBLIC_URL", async (t) => {
  const server = await startOn(t, { ...(await testConfig(t)), publicUrl: "https://example.org/parley" });
  const user = await server.user();
  const address = `http://127.0.0.1:${server.app.port()}`;
  const made = await upload(address, user, new File(["x"], "a"));
  assert.match(made.headers.get("location")!, /^https:\/\/example\.org\/parley\/v1\/attachments\/att_/);
  const { file_url } = (await made.json()) as { file_url: string };
  assert.match(file_url, /^https:\/\/example\.org\/parley\/files\/att_/);
});

test("PARLEY_HOST may be a name", async (t) => {
  const server = await startOn(t, { ...(await testConfig(t)), host: "localhost" });
  assert.equal((await fetch(`http://localhost:${server.app.port()}/healthz`)).status, 200);
});

test("a stop closes idle new connections", async (t) => {
  const server = await startApp(t, { shutdownTimeoutMs: 200_000, headersTimeoutMs: 200_000 });
  const socket = await openSocket(server.url);
  const ended = once(socket, "close");
  // Its connection is accepted, and so are later ones.
  await fetch(`${server.url}/healthz`);
  await server.app.stop();
  await ended;
});

test("a stop waits for running downloads, not for kept-alive connections", async (t) => {
  const server = await startApp(t, { shutdownTimeoutMs: 60_000 });
  const user = await server.user();
  const bytes = Buffer.alloc(20_000_000);
  const { file_url } = (await (await upload(server.url, user, new File([bytes], "a"))).json()) as {
    file_url: string;
  };
  const download = await fetch(file_url);
  const stopped = server.app.stop();
  assert.equal((await download.arrayBuffer()).byteLength, bytes.length);
  await stopped;
});
