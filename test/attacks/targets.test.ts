// Request targets that this server and a proxy in front of it could read as different paths (RFC 9112, section 3.2): a
// rule for /metrics or /v1/users must apply to every request that reaches them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { attack, codeOf } from "./attack.ts";

const BEFORE = "* ** */ */../ x ftp://a/ a:80/ http:///".split(" ");
const PATHS = "metrics v1/users v1/contacts healthz files/att_0/x openapi.json nothing".split(" ");
const FRAGMENTS = ["#", "#x", "#/../x", "?a#b"];

test("a request target that is neither absolute nor begins with a slash is 400", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: ["admin"] });
  for (const path of PATHS) {
    for (const before of BEFORE) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const answer = await attack(server, admin, { method, path: before + path, headers: [] });
        assert.equal(answer.status, 400, `${method} ${before}${path}: ${answer.body}`);
        assert.equal(codeOf(answer), "malformed_request");
      }
    }
  }
});

test("a request target with a fragment is 400", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: ["admin"] });
  for (const path of PATHS) {
    for (const fragment of FRAGMENTS) {
      for (const origin of ["", "http://a"]) {
        const target = `${origin}/${path}${fragment}`;
        const answer = await attack(server, admin, { method: "GET", path: target, headers: [] });
        assert.equal(answer.status, 400, `${target}: ${answer.body}`);
        assert.equal(codeOf(answer), "malformed_request");
      }
    }
  }
});

test("an absolute request target has the rights of its path", async (t) => {
  const server = await startApp(t);
  const admin = await server.user({ scopes: ["admin"] });
  const other = await server.user();
  const statusOf = async (user: typeof admin | undefined, path: string) =>
    (await attack(server, user, { method: "GET", path, headers: [] })).status;
  assert.equal(await statusOf(admin, `${server.url}/metrics`), 200);
  assert.equal(await statusOf(other, `${server.url}/metrics`), 403);
  assert.equal(await statusOf(undefined, `${server.url}/metrics`), 401);
  assert.equal(await statusOf(other, `${server.url}/v1/contacts?limit=1`), 200);
});

test("an absolute request target has the headers and errors of its path", async (t) => {
  const server = await startApp(t);
  const file = { method: "GET", path: "http://a/files/att_0/x", headers: [] };
  const found = new Map((await attack(server, undefined, file)).headers);
  assert.equal(found.get("referrer-policy"), "no-referrer");
  const nothing = { method: "GET", path: "http://a/v1/nothing", headers: [] };
  assert.equal((await attack(server, undefined, nothing)).status, 401);
});

test("OPTIONS * is 405", async (t) => {
  const server = await startApp(t);
  const answer = await attack(server, undefined, { method: "OPTIONS", path: "*", headers: [] });
  assert.equal(answer.status, 405, answer.body);
  const get = await attack(server, undefined, { method: "GET", path: "*", headers: [] });
  assert.equal(get.status, 400, get.body);
});

test("spaces before the request target do not bypass the rights of its path", async (t) => {
  const server = await startApp(t);
  const other = await server.user();
  const answer = await attack(server, other, { method: "GET ", path: "/metrics", headers: [] });
  assert.equal(answer.status, 403, answer.body);
});
