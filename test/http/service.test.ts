import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../src/core/access/tokens.ts";
import { startApp, startOn, testConfig } from "../support/app.ts";
import { eventually } from "../support/files-on-disk.ts";
import { openSocket } from "../support/raw-socket.ts";

test("health is told without a token, metrics only to admin", async (t) => {
  const server = await startApp(t);
  for (const path of ["/healthz", "/readyz"]) assert.equal((await fetch(server.url + path)).status, 200);
  assert.equal((await fetch(`${server.url}/metrics`)).status, 401);
  const user = await server.user();
  assert.equal((await fetch(`${server.url}/metrics`, { headers: user.headers })).status, 403);
});

test("metrics count requests by route and status, never by what is in a path or query", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const get = (path: string) => fetch(server.url + path, { headers: admin.headers });
  for (const path of [
    "/v1/contacts?limit=5",
    "/v1/contacts/con_secret",
    "/nowhere/secret",
    "/v1/contacts?limit=x",
  ]) {
    await (await get(path)).text();
  }
  const text = await (await get("/metrics")).text();
  assert.match(text, /parley_http_requests_total\{method="GET",route="\/v1\/contacts",status="200"\} 1/);
  assert.match(text, /parley_http_requests_total\{method="GET",route="\/v1\/contacts",status="400"\} 1/);
  assert.match(text, /parley_http_requests_total\{method="GET",route="\/v1\/contacts\/:id",status="404"\} 1/);
  assert.match(text, /parley_http_requests_total\{method="GET",route="none",status="404"\} 1/);
  assert.match(text, /parley_http_request_duration_seconds_count\{method="GET",route="\/v1\/contacts"\} 2/);
  for (const name of [
    "parley_http_connections",
    "parley_write_queue_length",
    "parley_tombstones",
    "process_resident_memory_bytes",
  ]) {
    assert.match(text, new RegExp(`^${name} \\d+`, "m"));
  }
  assert.ok(!text.includes("secret"));
});

test("a client that hangs up counts as aborted, once", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const socket = await openSocket(server.url);
  socket.write(
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${admin.headers.authorization}\r\n` +
      "content-type: application/json\r\ncontent-length: 100\r\n\r\n{",
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
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

test("a path that cannot be decoded is counted like any other answer", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: SCOPES });
  const broken = await fetch(`${server.url}/v1/contacts/%zz`, { headers: admin.headers });
  assert.equal(broken.status, 404);
  const text = await (await fetch(`${server.url}/metrics`, { headers: admin.headers })).text();
  assert.match(text, /parley_http_requests_total\{method="GET",route="none",status="404"\} 1/);
});

test("without PARLEY_CORS_ORIGINS no page of another origin may call", async (t) => {
  const server = await startApp(t);
  const headers = { origin: "https://app.example", "access-control-request-method": "POST" };
  const preflight = await fetch(`${server.url}/v1/contacts`, { method: "OPTIONS", headers });
  assert.equal(preflight.headers.get("access-control-allow-origin"), null);
});

test("PARLEY_CORS_ORIGINS lets its origins call, errors readable too, and no others", async (t) => {
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
