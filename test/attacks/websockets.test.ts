// WebSockets from hostile clients and pages: handshakes, origins (CWE-1385), frames that break the protocol (RFC 6455),
// floods of handshakes and guesses.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { startApp, startOn, type TestApp, testConfig } from "../support/app.ts";
import {
  credentialsOf,
  openRawWebSocket,
  openWebSocket,
  readCloseCode,
  startSocket,
  toFrame,
  upgradeHead,
} from "../support/event-socket.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, person } from "../support/people.ts";
import { openSocket, readAll, readAnswer } from "../support/raw-socket.ts";
import { attack } from "./attack.ts";

const PATIENCE_MS = 20_000;

/** Returns the whole answer to these bytes, until the server closes the connection. */
async function answerTo(server: TestApp, bytes: string): Promise<string> {
  const socket = await openSocket(server.url);
  socket.write(bytes);
  return readAll(socket, PATIENCE_MS);
}

const codeIn = (answer: string) => /"code":"(\w+)"/.exec(answer)?.[1];

test("a handshake that is not for the stream of events is refused, and the connection closed", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const cases: [head: string, status: number, code: string][] = [
    [upgradeHead({ "sec-websocket-protocol": "chat" }), 400, "malformed_request"],
    [upgradeHead({ "sec-websocket-protocol": "" }), 400, "malformed_request"],
    [upgradeHead({ "sec-websocket-protocol": "parley.10" }), 400, "malformed_request"],
    [upgradeHead({ "sec-websocket-version": "8" }), 400, "malformed_request"],
    [upgradeHead({ "sec-websocket-key": "x" }), 400, "malformed_request"],
    [upgradeHead({}, `GET /v1/events?token=${token}`), 400, "unknown_parameter"],
    [upgradeHead({}, `GET /v1/events?access_token=${token}`), 400, "unknown_parameter"],
    [upgradeHead({}, "GET /v1/events?types=typing"), 400, "unknown_parameter"],
    [upgradeHead({ host: "a b" }), 400, "malformed_request"],
    [upgradeHead({ "transfer-encoding": "gzip" }), 400, "malformed_request"],
    [`${upgradeHead({ "content-length": "5" })}hello`, 400, "malformed_body"],
  ];
  for (const [head, status, code] of cases) {
    const answer = await answerTo(server, head);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), head);
    assert.equal(codeIn(answer), code, head);
    assert.match(answer, /^connection: close\r$/im, head);
    assert.match(answer, /^content-type: application\/problem\+json\r$/im, head);
    assert.ok(!answer.includes(token));
  }
  assert.match(
    await answerTo(server, upgradeHead({ "sec-websocket-version": "8" })),
    /^sec-websocket-version: 13\r$/im,
  );
});

test("an upgrade on any other path, or to another protocol, is ignored", async (t) => {
  const server = await startApp(t);
  const { headers } = await server.user();
  for (const [line, upgrade, status] of [
    ["GET /healthz", "websocket", 200],
    ["GET /v1/contacts", "websocket", 200],
    ["GET /v1/nothing", "websocket", 404],
    ["POST /v1/events", "websocket", 405],
    ["GET /v1/events/", "websocket", 404],
    ["GET /v1/events", "h2c", 200],
    ["GET /v1/events", "tls/1.0, websocket", 200],
  ] as const) {
    const answer = await attack(server, undefined, {
      method: line.split(" ")[0]!,
      path: line.split(" ")[1]!,
      headers: [
        ["connection", "Upgrade"],
        ["upgrade", upgrade],
        ["authorization", headers.authorization],
      ],
    });
    assert.equal(answer.status, status, `${line} ${upgrade}`);
  }
  // Without a token it is not let in either.
  const refused = await attack(server, undefined, {
    method: "GET",
    path: "/v1/contacts",
    headers: [
      ["connection", "Upgrade"],
      ["upgrade", "websocket"],
    ],
  });
  assert.equal(refused.status, 401);
});

test("a WebSocket does not begin in the middle of earlier answers", async (t) => {
  const server = await startApp(t);
  const { headers } = await server.user();
  const first = `GET /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n\r\n`;
  const answers = await answerTo(server, first + first + upgradeHead());
  assert.equal(answers.match(/HTTP\/1\.1 200 /g)?.length, 2, answers);
  assert.match(answers, /HTTP\/1\.1 400 .*"code":"malformed_request"/s);
  assert.ok(!answers.includes("HTTP/1.1 101"));
});

test("pages of other origins open no WebSocket", async (t) => {
  const origin = "https://app.example";
  const server = await startOn(t, {
    ...(await testConfig(t)),
    corsOrigins: [origin],
    publicUrl: "https://chat.example/parley",
  });
  const url = `http://127.0.0.1:${server.app.port()}`;
  const here = { ...server, url };
  const ann = await person(here as TestApp, "ann");
  const open = async (headers: Record<string, string>) => {
    const socket = await openSocket(url);
    t.after(() => socket.destroy());
    socket.write(upgradeHead(headers));
    const [head] = (await once(socket, "data")) as [Buffer];
    return String(head).split(" ")[1];
  };
  for (const own of [origin, "https://chat.example", "http://x", "http://chat.example:8080"])
    assert.equal(
      await open({ origin: own, host: own === "http://x" ? "x" : "chat.example:8080" }),
      "101",
      own,
    );
  for (const other of [
    "https://evil.example",
    "https://app.example.evil.example",
    "https://app.example:8443",
    "http://app.example",
    "https://chat.example.evil",
    "null",
    "",
    `${origin}, https://evil.example`,
  ])
    assert.equal(await open({ origin: other }), "403", other);
  for (const own of ["null", "file://"]) assert.equal(await open({ origin: own, host: "" }), "403", own);
  const socket = await openWebSocket(t, here, { origin });
  socket.send(credentialsOf(ann));
  await socket.find("ready");
  // Headers of HTTP requests that CORS denies to such pages.
  for (const fields of [{ session: "0".repeat(64) }, { ...credentialsOf(ann), act_as: ann.id }]) {
    const refused = await openWebSocket(t, here, { origin });
    refused.send(fields);
    assert.equal(await refused.closing(), 4403);
    assert.equal(refused.frames[0]!.code, "origin_not_allowed");
  }
});

test("with PARLEY_CORS_ORIGINS=* pages of all origins open WebSockets, without sessions", async (t) => {
  const server = await startOn(t, { ...(await testConfig(t)), corsOrigins: ["*"] });
  const ann = await person(server, "ann");
  const socket = await openWebSocket(t, server, { origin: "https://any.example" });
  socket.send(credentialsOf(ann));
  await socket.find("ready");
  const other = await openWebSocket(t, server, { origin: "https://any.example" });
  other.send({ session: "0".repeat(64) });
  assert.equal(await other.closing(), 4403);
});

test("a session opens a WebSocket with its cookie and its key, and with neither alone", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const session = "0123456789abcdef".repeat(4);
  const started = await fetch(`${server.url}/session`, {
    method: "POST",
    headers: { ...ann.headers, "parley-session": session },
  });
  const cookie = started.headers.get("set-cookie")!.split(";")[0]!;
  const socket = await openWebSocket(t, server, { headers: { cookie }, origin: server.url });
  socket.send({ session });
  await socket.find("ready");
  await add(server, ann, "friend");
  await socket.find("contact.created");
  for (const [headers, frame, code] of [
    [{ cookie }, {}, "missing_token"],
    [{ cookie }, { session: "f".repeat(64) }, "missing_token"],
    [{}, { session }, "missing_token"],
    [{ cookie }, { session, act_as: ann.id }, "insufficient_scope"],
    [{ cookie, "parley-session": session }, {}, "missing_token"],
    [ann.headers, {}, "missing_token"],
  ] as const) {
    const refused = await openWebSocket(t, server, { headers, origin: server.url });
    refused.send(frame);
    await refused.closing();
    assert.equal(refused.frames[0]!.code, code, JSON.stringify(frame));
  }
});

/** Opens a raw WebSocket whose stream has started. */
async function openStarted(t: TestContext, server: TestApp) {
  const socket = await openRawWebSocket(t, server);
  socket.write(toFrame(JSON.stringify(credentialsOf(await server.user()))));
  await once(socket, "data");
  return socket;
}

const BROKEN: [name: string, bytes: Buffer, code: number][] = [
  ["unmasked", toFrame('{"type":"ping"}', { isMasked: false }), 1002],
  ["reserved bit", toFrame('{"type":"ping"}', { reserved: 0x40 }), 1002],
  ["reserved opcode", toFrame("x", { opcode: 3 }), 1002],
  ["reserved control opcode", toFrame("x", { opcode: 0xb }), 1002],
  ["continuation of nothing", toFrame("x", { opcode: 0 }), 1002],
  ["message inside another", Buffer.concat([toFrame("x", { isFinal: false }), toFrame("x")]), 1002],
  ["control frame in fragments", toFrame("x", { opcode: 9, isFinal: false }), 1002],
  ["control frame that is too long", toFrame("x".repeat(126), { opcode: 9 }), 1002],
  ["close frame of one byte", toFrame("x", { opcode: 8 }), 1002],
  ["close frame with a reserved code", toFrame(Buffer.from([0x03, 0xed]), { opcode: 8 }), 1002],
  ["invalid UTF-8", toFrame(Buffer.from([0xc3, 0x28])), 1007],
  ["half a character", toFrame(Buffer.from([0xf0, 0x9f])), 1007],
  ["one byte too long", toFrame("x".repeat(16 * 1024 + 1)), 1009],
  ["huge length", toFrame("", { length: 2 ** 40 }), 1009],
  [
    "length beyond 2^53",
    Buffer.from([0x81, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]),
    1009,
  ],
  [
    "fragments too long together",
    Buffer.concat([toFrame("x".repeat(9000), { isFinal: false }), toFrame("x".repeat(9000), { opcode: 0 })]),
    1009,
  ],
  [
    "too many fragments",
    Buffer.concat([
      toFrame("", { isFinal: false }),
      ...Array.from({ length: 400 }, () => toFrame("", { opcode: 0, isFinal: false })),
    ]),
    1008,
  ],
  ["binary", toFrame('{"type":"ping"}', { opcode: 2 }), 4400],
];

test("frames that break the protocol close the WebSocket, before and after its token", async (t) => {
  const server = await startApp(t);
  for (const [name, bytes, code] of BROKEN) {
    for (const open of [openRawWebSocket, openStarted]) {
      const socket = await open(t, server);
      socket.write(bytes);
      assert.equal(await readCloseCode(socket), code, name);
      socket.destroy();
    }
  }
  const { eventHub } = server.app.core;
  assert.ok(await eventually(async () => eventHub.countListeners("websocket") === 0));
});

test("a frame may come in fragments, byte by byte, and with the handshake", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const text = JSON.stringify(credentialsOf(user));
  const fragments = [
    toFrame(text.slice(0, 5), { isFinal: false }),
    toFrame(text.slice(5, 9), { opcode: 0, isFinal: false }),
    toFrame(text.slice(9), { opcode: 0 }),
  ];
  for (const bytes of [toFrame(text), Buffer.concat(fragments)]) {
    const { hostname, port } = new URL(server.url);
    const together = connect({ host: hostname, port: Number(port) });
    t.after(() => together.destroy());
    together.write(Buffer.concat([Buffer.from(upgradeHead()), bytes, toFrame('{"type":"ping"}')]));
    let answer = "";
    together.on("data", (chunk) => (answer += chunk.toString("latin1")));
    assert.ok(await eventually(async () => answer.includes('{"type":"pong"}')));
    assert.ok(answer.includes('{"type":"ready"'));
    const slow = await openRawWebSocket(t, server);
    for (const byte of bytes) {
      slow.write(Buffer.from([byte]));
      await new Promise(setImmediate);
    }
    const [ready] = (await once(slow, "data")) as [Buffer];
    assert.ok(String(ready).includes('{"type":"ready"'));
  }
});

test("control frames before the token close the WebSocket", async (t) => {
  const server = await startApp(t);
  for (const opcode of [9, 10]) {
    const socket = await openRawWebSocket(t, server);
    socket.write(toFrame("", { opcode }));
    assert.equal(await readCloseCode(socket), 4400);
  }
});

test("control frames in one read with the token leave the WebSocket open", async (t) => {
  const server = await startApp(t);
  for (const opcode of [9, 10]) {
    const token = toFrame(JSON.stringify(credentialsOf(await server.user())));
    const socket = await openRawWebSocket(t, server);
    let received = "";
    socket.on("data", (chunk) => (received += chunk.toString("latin1")));
    socket.write(Buffer.concat([token, toFrame("", { opcode }), toFrame('{"type":"ping"}')]));
    assert.ok(await eventually(async () => received.includes('{"type":"pong"}')), received);
  }
});

test("a client that ends its side, or resets the connection, leaves nothing", async (t) => {
  const server = await startApp(t, { pendingSocketsPerAddress: 8 });
  for (let i = 0; i < 20; i++) {
    for (const open of [openRawWebSocket, openStarted]) {
      const socket = await open(t, server);
      if (i % 2 === 0) socket.end();
      else socket.resetAndDestroy();
      await once(socket.resume(), "close");
    }
    // The handshake itself is cut off.
    const cut = await openSocket(server.url);
    cut.on("error", () => {});
    cut.write(upgradeHead());
    cut.resetAndDestroy();
  }
  const { eventHub } = server.app.core;
  assert.ok(await eventually(async () => eventHub.countListeners("websocket") === 0));
  assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  await startSocket(t, server, await server.user());
});

test("an address has a limit of WebSockets without a token", async (t) => {
  const limits = { pendingSocketsPerAddress: 2 };
  const server = await startOn(t, { ...(await testConfig(t, limits)), trustedProxies: ["loopback"] });
  const first = await openWebSocket(t, server);
  await openWebSocket(t, server);
  const socket = await openSocket(server.url);
  socket.write(upgradeHead());
  const refused = await readAnswer(socket);
  assert.match(refused, /^HTTP\/1\.1 429 .*retry-after: 1\r\n.*"code":"rate_limited"/is);
  const other = await openSocket(server.url);
  t.after(() => other.destroy());
  other.write(upgradeHead({ "x-forwarded-for": "192.0.2.7" }));
  const [head] = (await once(other, "data")) as [Buffer];
  assert.match(String(head), /^HTTP\/1\.1 101 /, "another address");
  first.send(credentialsOf(await server.user()));
  await first.find("ready");
  await openWebSocket(t, server);
});

test("guesses of tokens in WebSockets count as those of requests", async (t) => {
  const limits = { requestsPerSecond: 100, failuresPerSecond: 2, failuresBurst: 4 };
  const server = await startOn(t, await testConfig(t, limits), { clock: () => Date.UTC(2026, 0, 1) });
  const user = await server.user();
  await startSocket(t, server, user);
  for (const close of [4401, 4401, 4401, 4401, 4429]) {
    const socket = await openWebSocket(t, server);
    socket.send({ token: `parley_${"0".repeat(43)}` });
    assert.equal(await socket.closing(), close);
  }
  const guess = await fetch(`${server.url}/v1/me`, {
    headers: { authorization: `Bearer parley_${"1".repeat(43)}` },
  });
  assert.equal(guess.status, 429);
  await startSocket(t, server, user);
});
