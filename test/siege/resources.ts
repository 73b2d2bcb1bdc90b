// Attacks on a server's limited resources: time, memory, connections, file descriptors. Each returns how often it was
// tried, and must be refused while the attacker still holds on.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { openSocket } from "../support/raw-socket.ts";
import { isLong } from "../support/scale.ts";
import { inMib } from "../support/usage.ts";
import type { Resource, Target } from "./target.ts";

const AT_ONCE = 50;
const MIB = 1024 * 1024;
/**
 * Longer than every timeout of the server under attack. The server also reads a refused request for 6 s, so that its
 * answer arrives.
 */
const HELD_MS = 15_000;

async function each(count: number, one: (i: number) => Promise<unknown>, atOnce = AT_ONCE): Promise<number> {
  for (let i = 0; i < count; i += atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, count - i) }, (_, j) => one(i + j)));
  return count;
}

async function open(target: Target, text = ""): Promise<Socket> {
  const socket = await openSocket(target.url);
  // The server may close the connection with a reset.
  socket.on("error", () => {}).resume();
  if (text !== "") socket.write(text, "latin1");
  return socket;
}

function head(target: Target, line: string, ...headers: string[]): string {
  const lines = [`authorization: ${target.headers.authorization}`, ...headers].join("\r\n");
  return `${line} HTTP/1.1\r\nhost: x\r\n${lines}\r\n\r\n`;
}

/** Asserts that the server closed all of them, and answered others meanwhile. */
async function areEnded(target: Target, sockets: Socket[]): Promise<number> {
  await target.answers();
  const isHeld = (socket: Socket) => !socket.destroyed && !socket.readableEnded;
  const deadline = performance.now() + HELD_MS;
  while (sockets.some(isHeld) && performance.now() < deadline) await sleep(100);
  assert.equal(sockets.filter(isHeld).length, 0, "connections were held");
  for (const socket of sockets) socket.destroy();
  return sockets.length;
}

/** Sends a piece on each open socket again and again. */
function trickle(sockets: Socket[], piece: string): () => void {
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(piece);
  }, 100);
  return () => clearInterval(timer);
}

/** Sends one raw request and returns its status. */
async function status(target: Target, request: string | Buffer): Promise<number> {
  const socket = await openSocket(target.url);
  const first = new Promise((resolve) => socket.on("data", resolve).on("close", resolve));
  // The rest of a refused request may cause a reset after the answer.
  socket.on("error", () => {}).write(request);
  const answer = String(await first);
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}

const slowHeads: Resource = async (target, scaled) => {
  const sockets = await Promise.all(
    Array.from({ length: scaled(100, 1000) }, () => open(target, "GET /v1/me HTTP/1.1\r\nhost: x\r\n")),
  );
  const stop = trickle(sockets, "a: b\r\n");
  return areEnded(target, sockets).finally(stop);
};

const slowBodies: Resource = async (target, scaled) => {
  const upload = head(
    target,
    "POST /v1/attachments",
    "content-type: multipart/form-data; boundary=b",
    "content-length: 1000000",
  );
  const form = '--b\r\nContent-Disposition: form-data; name="file"; filename="slow"\r\n\r\n';
  const sockets = await Promise.all(
    Array.from({ length: scaled(100, 1000) }, () => open(target, upload + form)),
  );
  const stop = trickle(sockets, "x");
  return areEnded(target, sockets).finally(stop);
};

const slowReaders: Resource = async (target, scaled) => {
  const form = new FormData();
  form.set("file", new File([randomBytes(20 * MIB)], "large"));
  const { headers } = target;
  const made = await fetch(`${target.url}/v1/attachments`, { method: "POST", headers, body: form });
  const { id, file_url } = (await made.json()) as { id: string; file_url: string };
  const { pathname, search } = new URL(file_url);
  const before = target.memory;
  const sockets = await Promise.all(
    Array.from({ length: scaled(50, 500) }, async () => {
      const socket = await openSocket(target.url);
      socket.on("error", () => {}).write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`);
      return socket.pause();
    }),
  );
  await sleep(1000);
  await target.answers();
  assert.ok(target.memory - before < 200 * MIB, `${target.memory - before} bytes for ${sockets.length}`);
  for (const socket of sockets) socket.resetAndDestroy();
  assert.equal(
    (await fetch(`${target.url}/v1/attachments/${id}`, { method: "DELETE", headers })).status,
    204,
  );
  return sockets.length;
};

const idleConnections: Resource = async (target, scaled) => {
  const sockets: Socket[] = [];
  const count = await each(scaled(1000, 10_000), async () => {
    const socket = await openSocket(target.url);
    socket.on("error", () => {}).write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
    sockets.push(socket);
  });
  await target.answers();
  assert.ok(sockets.every((socket) => !socket.destroyed));
  for (const socket of sockets) socket.destroy();
  return count;
};

const abortedUploads: Resource = (target, scaled) =>
  each(scaled(200, 1000), async (i) => {
    const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="cut"\r\n\r\n`;
    const length = 2 * MIB;
    const request = head(
      target,
      "POST /v1/attachments",
      "content-type: multipart/form-data; boundary=b",
      `content-length: ${length}`,
    );
    const socket = await open(target, request + form);
    const closed = once(socket, "close");
    socket.write(Buffer.alloc((i % 20) * 50_000));
    await sleep(i % 30);
    if (i % 2 === 0) socket.resetAndDestroy();
    else socket.end();
    await closed;
  });

const churn: Resource = (target, scaled) =>
  each(scaled(1000, 20_000), async (i) => {
    const socket = await open(target, i % 2 === 0 ? "" : "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    socket.resetAndDestroy();
  });

const LONG = "a".repeat(15_000);
const form = "content-type: application/x-www-form-urlencoded";
const json = "content-type: application/json";
const create = (target: Target, type: string, body: string | Buffer, ...more: string[]) =>
  Buffer.concat([
    Buffer.from(
      head(target, "POST /v1/contacts", type, `content-length: ${Buffer.byteLength(body)}`, ...more),
    ),
    Buffer.from(body),
  ]);
const parts = (count: number) =>
  `${Array.from({ length: count }, (_, i) => `--b\r\nContent-Disposition: form-data; name="f${i}"\r\n\r\n\r\n`).join("")}--b--\r\n`;
const upload = (target: Target, body: string) =>
  head(
    target,
    "POST /v1/attachments",
    "content-type: multipart/form-data; boundary=b",
    `content-length: ${body.length}`,
  ) + body;

/** Each has far more of something than a real request needs. */
const FLOODS: Record<string, (target: Target) => string | Buffer> = {
  "many headers": (target) =>
    head(target, "GET /v1/me", ...Array.from({ length: 1900 }, (_, i) => `a${i}: b`)),
  "long headers": (target) => head(target, "GET /v1/me", `a: ${"b".repeat(MIB)}`),
  "a long path": (target) => head(target, `GET /v1/contacts/${"a".repeat(MIB)}`),
  "a long id": (target) => head(target, `GET /v1/contacts/${LONG}`),
  "a long cursor": (target) => head(target, `GET /v1/contacts?starting_after=${LONG}`),
  "a long position": (target) => head(target, `GET /v1/events?after=${LONG}`),
  "many parameters": (target) => head(target, `GET /v1/contacts?${"a=&".repeat(5000)}`),
  "the same parameter": (target) => head(target, `GET /v1/contacts?${"limit=1&".repeat(1500)}`),
  "many fields": (target) => create(target, form, "a=&".repeat(21_000)),
  "many fields of JSON": (target) =>
    create(target, json, `{${Array.from({ length: 5000 }, (_, i) => `"a${i}":0`).join(",")}}`),
  "deep JSON": (target) => create(target, json, `{"username":${"[".repeat(30_000)}${"]".repeat(30_000)}}`),
  "deep JSON without an end": (target) => create(target, json, '{"a":'.repeat(12_000)),
  "a long number": (target) => create(target, json, `{"username":${"9".repeat(60_000)}}`),
  "a long body": (target) => create(target, json, `"${"a".repeat(2 * MIB)}"`),
  "a compressed body": (target) =>
    create(target, json, gzipSync("a".repeat(10 * MIB)), "content-encoding: gzip"),
  "a body compressed twice": (target) =>
    create(target, form, gzipSync(gzipSync("a".repeat(10 * MIB))), "content-encoding: gzip, gzip"),
  "a compressed transfer": (target) =>
    head(target, "POST /v1/contacts", json, "transfer-encoding: gzip, chunked"),
  "many parts": (target) => upload(target, parts(50_000)),
  "a part of many headers": (target) =>
    upload(target, `--b\r\n${"a: b\r\n".repeat(50_000)}\r\n\r\n--b--\r\n`),
  "a preamble without an end": (target) => upload(target, "x".repeat(MIB)),
  "a long boundary": (target) =>
    head(
      target,
      "POST /v1/attachments",
      `content-type: multipart/form-data; boundary=${"b".repeat(5000)}`,
      "content-length: 9",
    ),
  "extensions of chunks": (target) =>
    `${head(target, "POST /v1/contacts", form, "transfer-encoding: chunked")}1;${"a".repeat(MIB)}\r\nx\r\n0\r\n\r\n`,
  trailers: (target) =>
    `${head(target, "POST /v1/contacts", form, "transfer-encoding: chunked")}0\r\n${"a: b\r\n".repeat(50_000)}\r\n`,
};

const floods: Resource = async (target, scaled) => {
  const rounds = scaled(2, 50);
  for (const [name, request] of Object.entries(FLOODS)) {
    await Promise.all(
      Array.from({ length: rounds }, async () => {
        const code = await status(target, request(target));
        assert.ok(code >= 400 && code < 500, `${name}: ${code}`);
      }),
    );
  }
  return rounds * Object.keys(FLOODS).length;
};

/** A file in chunks of one byte: slow for both sides, but valid. */
const tinyChunks: Resource = async (target, scaled) => {
  const text = `--b\r\nContent-Disposition: form-data; name="file"; filename="tiny"\r\n\r\n${"x".repeat(20_000)}\r\n--b--\r\n`;
  const chunks = [...text].map((each) => `1\r\n${each}\r\n`).join("");
  const request = `${head(target, "POST /v1/attachments", "content-type: multipart/form-data; boundary=b", "transfer-encoding: chunked")}${chunks}0\r\n\r\n`;
  return each(scaled(5, 100), async () => assert.equal(await status(target, request), 201), 5);
};

/** Answers of a few bytes to more than a megabyte. */
const PIPELINED = ["/openapi.json", "/docs/search.json", "/v1/contacts?limit=100", "/healthz"];

/** Very many requests on one connection whose answers are not read. Some connections exceed the queue limit. */
const pipelines: Resource = async (target, scaled) => {
  const before = target.memory;
  const prober = probe(target);
  let sent = 0;
  const sockets: Socket[] = [];
  const opened = async (i: number) => {
    const count = i % 3 === 0 ? 2000 : 90;
    const socket = await openSocket(target.url);
    socket.on("error", () => {}).pause();
    socket.write(head(target, `GET ${PIPELINED[i % PIPELINED.length]}`).repeat(count));
    sockets.push(socket);
    sent += count;
    // The next connections open once the server has read these requests.
    await sleep(100);
  };
  await each(scaled(12, 120), opened, 6);
  await sleep(2000);
  const grown = target.memory - before;
  const slowest = await prober.stop();
  await target.answers();
  for (const socket of sockets) socket.resetAndDestroy();
  const held = `${sockets.length} connections whose answers nobody reads`;
  target.say(`${inMib(grown)} more with ${held}; /healthz after ${slowest.toFixed(0)} ms at most`);
  assert.ok(grown < sockets.length * 2 * MIB + 64 * MIB, `${inMib(grown)} more with ${held}`);
  if (isLong) assert.ok(slowest <= 100, `/healthz took ${slowest.toFixed(0)} ms`);
  return sent;
};

/** Requests /healthz repeatedly. `stop` resolves with the longest answer time, in milliseconds. */
function probe(target: Target): { stop(): Promise<number> } {
  let slowest = 0;
  let stopped = false;
  const run = async () => {
    while (!stopped) {
      const begun = performance.now();
      await (await fetch(`${target.url}/healthz`)).arrayBuffer();
      slowest = Math.max(slowest, performance.now() - begun);
      await sleep(10);
    }
    return slowest;
  };
  const done = run();
  return {
    stop() {
      stopped = true;
      return done;
    },
  };
}

export const RESOURCES: Record<string, Resource> = {
  "heads that never end": slowHeads,
  "bodies that trickle": slowBodies,
  "readers that do not read": slowReaders,
  "idle connections": idleConnections,
  "uploads that are aborted": abortedUploads,
  "connections opened and reset": churn,
  "floods of headers, parameters, parts and depth": floods,
  "chunks of one byte": tinyChunks,
  "requests without a look at the answers": pipelines,
};
