import assert from "node:assert/strict";
import { once } from "node:events";
import { statfs } from "node:fs/promises";
import { type IncomingMessage, METHODS, request } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import metadata from "../../package.json" with { type: "json" };
import { Parley } from "../../packages/parley-client/src/index.ts";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp, startOn, testConfig } from "../support/app.ts";
import { listen } from "../support/event-stream.ts";
import { eventually } from "../support/files-on-disk.ts";
import { ENGINES, startOnEngine } from "../support/on-engines.ts";
import { read as done, send } from "../support/people.ts";
import { openSocket } from "../support/raw-socket.ts";

test("health needs no token, metrics need admin", async (t) => {
  const server = await startApp(t);
  for (const path of ["/healthz", "/readyz"]) assert.equal((await fetch(server.url + path)).status, 200);
  assert.equal((await fetch(`${server.url}/metrics`)).status, 401);
  const user = await server.user();
  assert.equal((await fetch(`${server.url}/metrics`, { headers: user.headers })).status, 403);
});

test("while the storage is full, the server is ready unless the settings say otherwise", async (t) => {
  const config = await testConfig(t);
  for (const isReadyWhenFull of [true, false]) {
    const { app, url } = await startOn(t, { ...config, isReadyWhenFull });
    const ready = async () => {
      const response = await fetch(`${url}/readyz`);
      const { status, degraded, code } = (await response.json()) as Record<string, unknown>;
      return [response.status, code ?? status, degraded];
    };
    assert.deepEqual(await ready(), [200, "ready", []]);
    app.core.space.noteRefusal();
    assert.deepEqual(
      await ready(),
      isReadyWhenFull ? [200, "ready", ["storage_full"]] : [503, "unavailable", undefined],
    );
    await app.stop();
  }
});

test("a clock that differs from that of the database server is in /readyz and the metrics", async (t) => {
  for (const [ahead, degraded] of [
    [0, []],
    [-3 * 86_400_000, ["clock_skew"]],
    [60_000, ["clock_skew"]],
  ] as const) {
    const server = await startOnEngine(t, "PostgreSQL", {}, { clock: () => Date.now() + ahead });
    const ready = await (await fetch(`${server.url}/readyz`)).json();
    assert.deepEqual(ready, { degraded, status: "ready" });
    const admin = await server.user({ scopes: SCOPES });
    const metrics = await (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
    const [, skew] = /^parley_clock_skew_seconds (\S+)$/m.exec(metrics)!;
    assert.ok(Math.abs(Number(skew) - ahead / 1000) < 2, skew);
  }
});

test("metrics count requests by route and status, without paths or queries", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const get = (path: string) => fetch(server.url + path, { headers: admin.headers });
  for (const path of "/v1/contacts?limit=5 /v1/contacts/con_secret /nowhere/secret /v1/contacts/%zz /v1/contacts?limit=x".split(
    " ",
  )) {
    await (await get(path)).text();
  }
  const text = await (await get("/metrics")).text();
  assert.match(text, /parley_http_requests_total\{method="GET",route="\/v1\/contacts",status="200"\} 1/);
  assert.match(text, /parley_http_requests_total\{method="GET",route="\/v1\/contacts",status="400"\} 1/);
  assert.match(text, /parley_http_requests_total\{method="GET",route="\/v1\/contacts\/:id",status="404"\} 1/);
  assert.match(text, /parley_http_requests_total\{method="GET",route="none",status="404"\} 2/);
  assert.match(text, /parley_http_request_duration_seconds_count\{method="GET",route="\/v1\/contacts"\} 2/);
  for (const name of `parley_http_connections parley_write_queue_length parley_tombstones
  parley_disk_free_bytes parley_disk_total_bytes process_resident_memory_bytes`.split(/\s+/)) {
    assert.match(text, new RegExp(`^${name} \\d+`, "m"));
  }
  assert.ok(!text.includes("secret"));
});

function blockFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

test("metrics show backlogs, and connections to PostgreSQL", async (t) => {
  for (const engine of ENGINES) {
    const server = await startOnEngine(t, engine);
    const admin = await server.user({ scopes: SCOPES });
    const read = async () => (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
    const metric = async (name: string) =>
      Number(
        (await read())
          .split("\n")
          .find((line) => line.startsWith(`${name} `))
          ?.split(" ")[1],
      );
    // The receiver does not exist, so the delivery waits.
    const hook = { url: "https://receiver.invalid/hook" };
    const { id } = await done<{ id: string }>(send(server, admin, "POST", "/v1/webhooks", hook), 201);
    await done(send(server, admin, "POST", `/v1/webhooks/${id}/test`), 200);
    assert.equal(await metric('parley_backlog{work="deliveries"}'), 1);
    assert.ok(await eventually(async () => (await metric('parley_backlog{work="events"}')) === 0));
    assert.equal(await metric('parley_backlog{work="search"}'), 0);
    const delay = () => metric("parley_event_loop_delay_seconds");
    assert.ok(
      await eventually(async () => {
        const seconds = await delay();
        return seconds > 0 && seconds < 0.015;
      }),
      "an idle event loop has hardly any delay",
    );
    assert.ok(
      await eventually(async () => {
        await sleep(50);
        blockFor(100);
        await sleep(50);
        return (await delay()) > 0.05;
      }),
    );
    assert.ok((await metric("process_heap_bytes")) > 1_000_000);
    if (engine === "SQLite") assert.doesNotMatch(await read(), /parley_database_connections/);
    else {
      assert.ok((await metric('parley_database_connections{state="idle"}')) > 0);
      assert.equal(await metric("parley_write_conflicts_total"), 0);
      assert.equal(await metric("parley_lost_sessions_total"), 0);
    }
  }
});

test("metrics show version, state of each part, disk and streams", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user({ scopes: SCOPES });
  const parley = new Parley({ url: server.url, token });
  const read = async () => {
    const text = await parley.metrics();
    return (name: string) => {
      const line = text.split("\n").find((each) => each.startsWith(`${name} `));
      assert.ok(line, name);
      return Number(line.slice(name.length + 1));
    };
  };
  const { version } = metadata;
  const before = await read();
  assert.equal(before(`parley_build_info{version="${version}"}`), 1);
  for (const part of ["disk", "database", "store"]) assert.equal(before(`parley_up{part="${part}"}`), 1);
  const { blocks, bsize } = await statfs(server.config.dataFolder);
  assert.equal(before("parley_disk_total_bytes"), blocks * bsize);
  assert.ok(before("parley_disk_free_bytes") > 0);
  const streams = ["sse", "websocket"].map((transport) => `parley_event_streams{transport="${transport}"}`);
  for (const name of streams) assert.equal(before(name), 0);
  await listen(t, server, { headers: { authorization: `Bearer ${token}` } });
  server.app.core.fuse.blow(new Error("EIO"));
  const after = await read();
  for (const name of streams) assert.equal(after(name), 1);
  assert.equal(after('parley_up{part="disk"}'), 0);
  assert.equal(after('parley_up{part="database"}'), 1);
});

test("a client that disconnects counts as aborted, once", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const socket = await openSocket(server.url);
  socket.write(
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${admin.headers.authorization}\r\n` +
      "content-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n",
  );
  const [answer] = (await once(socket, "data")) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 100 /);
  socket.resetAndDestroy();
  const aborted = /parley_http_requests_total\{method="POST",route="\/v1\/contacts",status="aborted"\} 1/;
  let text = "";
  const isCounted = async () => {
    text = await (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
    return aborted.test(text);
  };
  assert.ok(await eventually(isCounted), text);
  assert.equal(text.match(/requests_total\{method="POST"/g)?.length, 1);
});

test("a path answers 405 with Allow to every other method", async (t) => {
  const server = await startApp(t);
  const { headers } = await server.user();
  const ask = async (method: string, path: string) => {
    const asked = request(server.url + path, { method, headers }).end();
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.resume();
    return [response.statusCode, response.headers.allow];
  };
  const others = METHODS.filter((method) => !["CONNECT", "GET", "HEAD", "POST"].includes(method));
  assert.ok(others.length > 25);
  for (const method of others) {
    assert.deepEqual(await ask(method, "/v1/contacts?limit=1"), [405, "GET, HEAD, POST"], method);
    assert.deepEqual(await ask(method, "/v1/contact"), [404, undefined], method);
  }
  assert.deepEqual(await ask("POST", "/v1/%63ontacts/con_1"), [405, "DELETE, GET, HEAD, PUT"]);
  assert.deepEqual(await ask("POST", "/v1/contacts/"), [404, undefined]);
});

test("without PARLEY_CORS_ORIGINS no other origin is allowed", async (t) => {
  const server = await startApp(t);
  const headers = { origin: "https://app.example", "access-control-request-method": "POST" };
  const preflight = await fetch(`${server.url}/v1/contacts`, { method: "OPTIONS", headers });
  assert.equal(preflight.headers.get("access-control-allow-origin"), null);
});

test("PARLEY_CORS_ORIGINS allows its origins only, errors included", async (t) => {
  const config = { ...(await testConfig(t)), corsOrigins: ["https://app.example"] };
  const server = await startOn(t, config);
  const user = await server.user();
  const ask = {
    "access-control-request-method": "PUT",
    "access-control-request-headers": "authorization,if-match",
  };
  const preflight = await fetch(`${server.url}/v1/contacts`, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", ...ask },
  });
  assert.equal(preflight.status, 204);
  assert.match(preflight.headers.get("request-id")!, /^req_/);
  const plain = await fetch(`${server.url}/v1/contacts`, { method: "OPTIONS", headers: user.headers });
  assert.equal(plain.status, 405);
  assert.equal(plain.headers.get("content-type"), "application/problem+json");
  assert.equal((await fetch(`${server.url}/v1/nothing`, { method: "OPTIONS" })).status, 401);
  // Paths that need no token need none for this method either.
  for (const [path, status] of [
    ["/healthz", 405],
    ["/nothing", 404],
  ] as const) {
    const open = await fetch(server.url + path, { method: "OPTIONS" });
    assert.deepEqual([open.status, open.headers.get("allow")], [status, status === 405 ? "GET, HEAD" : null]);
  }
  assert.equal(preflight.headers.get("access-control-allow-origin"), "https://app.example");
  assert.match(preflight.headers.get("access-control-allow-methods")!, /PUT/);
  const from = (origin: string, headers: object = user.headers) =>
    fetch(`${server.url}/v1/contacts`, { headers: { origin, ...headers } });
  const allowed = await from("https://app.example");
  assert.equal(allowed.headers.get("access-control-allow-origin"), "https://app.example");
  assert.match(allowed.headers.get("access-control-expose-headers")!, /Request-Id/);
  const refused = await from("https://app.example", {});
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get("access-control-allow-origin"), "https://app.example");
  assert.equal((await from("https://evil.example")).headers.get("access-control-allow-origin"), null);
});

test("CORS allows every header that a preflight names", async (t) => {
  const server = await startOn(t, { ...(await testConfig(t)), corsOrigins: ["https://app.example"] });
  const allowed = async (asked: string) => {
    const headers = {
      origin: "https://app.example",
      "access-control-request-method": "PUT",
      "access-control-request-headers": asked,
    };
    const preflight = await fetch(`${server.url}/v1/contacts`, { method: "OPTIONS", headers });
    assert.equal(preflight.status, 204);
    return preflight.headers.get("access-control-allow-headers")!.split(", ");
  };
  const tracing = "traceparent tracestate baggage sentry-trace x-request-id".split(" ");
  for (const asked of [tracing, "authorization cache-control content-type if-match tus-resumable".split(" ")])
    assert.deepEqual(await allowed(asked.join(",")), asked);
  assert.deepEqual(await allowed(" Authorization , *,a b,<x>,,Cookie"), ["authorization"]);
  assert.equal((await allowed("x,".repeat(1000))).length, 50);
});
