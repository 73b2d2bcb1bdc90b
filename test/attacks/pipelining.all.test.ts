// Pipelined requests: sent on one connection without waiting for the answers (RFC 9112, section 9.3.2).
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { openSocket, readAll } from "../support/raw-socket.ts";

const PIPELINED = 200;
/** More answers than the kernel's buffers take while the client reads none. */
const BUFFERED = 100;

function get(path: string, { headers }: TestUser): string {
  return `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n\r\n`;
}

function create(username: string, { headers }: TestUser): string {
  const body = `{"username":"${username}","phone_number":"555"}`;
  return (
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}

/** Returns how many requests of the route were handled. Unanswered ones count once their connection has closed. */
async function handled(server: TestApp, admin: TestUser, route: string): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
  const counts = text.matchAll(/^parley_http_requests_total\{method="GET",route="([^"]+)".*\} (\d+)$/gm);
  return [...counts].filter(([, of]) => of === route).reduce((sum, [, , count]) => sum + Number(count), 0);
}

async function startWithContacts(t: Parameters<typeof startApp>[0]): Promise<[TestApp, TestUser]> {
  const server = await startApp(t, { maxWaitingRequests: PIPELINED });
  const admin = await server.user({ scopes: ["contacts:read", "contacts:write", "admin"] });
  const avatar_url = `https://a.example/${"a".repeat(2000)}`;
  for (let i = 0; i < 100; i++) {
    const body = new URLSearchParams({ username: `c${i}`, phone_number: "555", avatar_url });
    await fetch(`${server.url}/v1/contacts`, { method: "POST", headers: admin.headers, body });
  }
  return [server, admin];
}

/** Reads until there are this many answers, or the connection has closed. */
async function readAnswers(socket: Socket, count: number): Promise<string> {
  let text = "";
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString("latin1");
    if (text.split("HTTP/1.1 ").length > count && text.endsWith("}")) break;
  }
  return text;
}

for (const [path, route] of [
  ["/openapi.json", "/openapi.json"],
  ["/docs/search.json", "/docs/:name"],
  ["/v1/contacts?limit=100", "/v1/contacts"],
] as const) {
  test(`most of ${PIPELINED} pipelined requests of ${path} wait while the client reads no answers`, async (t) => {
    const [server, admin] = await startWithContacts(t);
    const socket = await openSocket(server.url);
    socket.on("error", () => {}).pause();
    const before = process.memoryUsage().rss;
    socket.write(get(path, admin).repeat(PIPELINED));
    // These requests take long enough for the server to handle all pipelined ones, if it did not make them wait.
    for (let i = 0; i < 50; i++)
      assert.equal((await fetch(`${server.url}/v1/me`, { headers: admin.headers })).status, 200);
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
    socket.resetAndDestroy();
    // The running request ends with its connection.
    assert.ok(await eventually(async () => (await handled(server, admin, route)) > 0));
    const count = await handled(server, admin, route);
    t.diagnostic(`${count} handled, ${grown.toFixed(1)} MiB more`);
    assert.ok(count < BUFFERED, `${count} requests were handled`);
  });
}

test("pipelined requests of a connection run one at a time and are answered in order", async (t) => {
  const server = await startApp(t, { maxWaitingRequests: PIPELINED });
  const user = await server.user();
  const socket = await openSocket(server.url);
  const names = Array.from({ length: PIPELINED }, (_, i) => `pipelined-${i}`);
  socket.write(names.map((name) => create(name, user)).join(""));
  const text = await readAnswers(socket, PIPELINED);
  socket.destroy();
  assert.deepEqual(
    [...text.matchAll(/"username":"([^"]+)"/g)].map(([, name]) => name),
    names,
  );
  assert.equal(text.split("HTTP/1.1 201 ").length - 1, PIPELINED);
});

test("the body of a waiting pipelined request is read when its turn comes", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const socket = await openSocket(server.url);
  const body =
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n' +
    `${"x".repeat(3_000_000)}\r\n--b--\r\n`;
  socket.write(
    get("/openapi.json", user).repeat(20) +
      `POST /v1/attachments HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n` +
      `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${body.length}\r\n\r\n${body}` +
      get("/v1/me", user),
  );
  const text = await readAnswers(socket, 22);
  socket.destroy();
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status),
    [...Array(20).fill("200"), "201", "200"],
  );
  assert.match(text, /"file_size":3000000,/);
});

test("a connection with too many queued requests is closed", async (t) => {
  const server = await startApp(t, { maxWaitingRequests: 10 });
  const user = await server.user();
  for (const [waiting, isClosed] of [
    [10, false],
    [11, true],
  ] as const) {
    const socket = await openSocket(server.url);
    socket.on("error", () => {});
    socket.write(get("/v1/me", user).repeat(1 + waiting));
    const text = await readAnswers(socket, 1 + waiting);
    assert.equal(text.split("HTTP/1.1 200 ").length - 1 < 1 + waiting, isClosed, `${waiting} wait`);
    socket.destroy();
  }
});

test("input that remains after a connection closes is not parsed", async (t) => {
  const server = await startApp(t, { maxWaitingRequests: 10 });
  const user = await server.user();
  let parsed = 0;
  const count = () => void parsed++;
  subscribe("http.server.request.start", count);
  t.after(() => unsubscribe("http.server.request.start", count));
  const socket = await openSocket(server.url);
  socket.on("error", () => {});
  socket.write(get("/v1/me", user).repeat(PIPELINED));
  await readAll(socket, 5000);
  // One request runs, ten wait, and one is too many.
  assert.equal(parsed, 12);
});

test("complete pipelined requests are answered before the 400 for garbage after them", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const rests: Record<string, [text: string, status: string]> = {
    garbage: ["garbage\r\n\r\n", "400"],
    "a stray byte": ["\x01", "400"],
    "a target that is none": ["GET #f HTTP/1.1\r\nhost: x\r\n\r\n", "400"],
    "a head that is too long": [`GET / HTTP/1.1\r\nhost: x\r\na: ${"a".repeat(20_000)}\r\n\r\n`, "431"],
    "a request to a proxy": ["CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", "405"],
  };
  let made = 0;
  for (const [what, [rest, status]] of Object.entries(rests)) {
    for (const apart of [false, true]) {
      const socket = await openSocket(server.url);
      socket.on("error", () => {});
      const names = [1, 2, 3].map(() => `before-${made++}`);
      const whole = names.map((name) => create(name, user)).join("");
      socket.write(apart ? whole : whole + rest);
      if (apart) setTimeout(() => socket.write(rest), 1);
      const text = await readAll(socket, 5000);
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, each]) => each);
      assert.deepEqual(statuses, ["201", "201", "201", status], what);
    }
  }
});

test("data after a request with Connection: close does not truncate its answer", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const last = create("last", user).replace("host: x", "host: x\r\nconnection: close");
  const socket = await openSocket(server.url);
  socket.write(`${last}GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n`);
  const text = await readAll(socket, 5000);
  assert.deepEqual(
    [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status),
    ["201"],
  );
});

test("public pages have an ETag, and If-None-Match with it is 304", async (t) => {
  const server = await startApp(t);
  for (const path of "/ /docs/ /openapi.json /docs/site.js /docs/site.css /docs/errors/invalid_token".split(
    " ",
  )) {
    const first = await fetch(`${server.url}${path}`);
    assert.equal(first.status, 200, path);
    const etag = first.headers.get("etag")!;
    const again = await fetch(`${server.url}${path}`, { headers: { "if-none-match": etag } });
    assert.equal(again.status, 304, path);
    assert.equal(again.headers.get("etag"), etag, path);
    assert.equal(await again.text(), "", path);
  }
});
