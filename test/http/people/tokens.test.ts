import assert from "node:assert/strict";
import { test } from "node:test";
import { allTokens, revokeToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { allOperations } from "../../../src/http/routes/operations.ts";
import { createHttp } from "../../../src/http/server.ts";
import { createLog } from "../../../src/util/log.ts";
import { startApp, startOn, type TestApp, testConfig } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { otherScopes, routeScopes } from "../visibility/scopes.ts";

test("a token expires at its time and not before", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const user = await server.user({ expiresAt: now + 60_000 });
  const status = async () => (await fetch(`${server.url}/v1/contacts`, { headers: user.headers })).status;
  assert.equal(await status(), 200);
  now += 59_999;
  assert.equal(await status(), 200);
  now += 1;
  assert.equal(await status(), 401);
});

test("a revoked token is refused from the next request on", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const status = async () => (await fetch(`${server.url}/v1/contacts`, { headers: user.headers })).status;
  assert.equal(await status(), 200);
  const [token] = await allTokens(server.app.core);
  await revokeToken(server.app.core, null, token!.id);
  assert.equal(await status(), 401);
});

/** What anybody may ask for, and the session of a browser, which is for any token. */
const PUBLIC = [
  ...["/", "/assets", "/push-worker.js", "/manifest.webmanifest", "/icon-192.png", "/icon-512.png"],
  ...["/icon-maskable.png", "/session", "/archives", "/healthz", "/readyz", "/openapi.json", "/docs"],
];

/** The path of a route with something in the place of each parameter that has the form of one. */
function exampleOf(path: string): string {
  const id = path.startsWith("/files/") ? "att_00000000000000000000000000" : "x";
  return path.replace(":id", id).replace(":filename", "x");
}

test("each route wants its scope: every other scope together is 403 insufficient_scope", async (t) => {
  const server = await startApp(t);
  for (const { method, path, scope, orAdmin, readScope } of routeScopes(allOperations)) {
    for (const asked of method === "GET" ? ["GET", "HEAD"] : [method]) {
      const ask = ({ headers }: { headers: Record<string, string> }) =>
        fetch(server.url + exampleOf(path), { method: asked, headers });
      if (scope !== undefined) {
        const refused = await ask(await server.user({ scopes: otherScopes({ scope, orAdmin }) }));
        assert.equal(refused.status, 403, `${asked} ${path}`);
        const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
        assert.equal(refused.headers.get("www-authenticate"), challenge);
      }
      const scopes = [scope ?? "events:read", ...(readScope ? [readScope] : [])];
      const allowed = await ask(await server.user({ scopes }));
      await allowed.body?.cancel();
      assert.ok(![401, 403].includes(allowed.status), `${asked} ${path} was ${allowed.status}`);
    }
  }
});

/** The paths in a tree of routes, in which each stands four characters behind the one that it continues. */
function pathsIn(tree: string): string[] {
  const parts: string[] = [];
  return [...tree.matchAll(/^([│├└─ ]*)(\S+) \(/gm)].map(([, indent, part]) => {
    parts.splice(indent!.length / 4 - 1, Number.POSITIVE_INFINITY, part!);
    return parts.join("");
  });
}

test("any token will do for the caller's own alone; all else wants a scope, and what is of all users that of admin", () => {
  for (const { path, scope } of routeScopes(allOperations)) {
    if (path === "/v1/me") assert.equal(scope, undefined);
    else if (/^\/(?:metrics|v1\/(?:users|tokens|audit))/.test(path)) assert.equal(scope, "admin", path);
    else assert.ok(scope !== undefined && scope !== "admin", path);
  }
});

test("the server has no route beyond those whose scope is told, and those for everybody", async (t) => {
  const { app, config } = await startApp(t);
  const log = createLog("silent");
  const http = await createHttp(app.core, config, log);
  await http.ready();
  const paths = pathsIn(http.printRoutes({ commonPrefix: false }));
  const told = new Set(routeScopes(allOperations).map(({ path }) => path));
  for (const path of told) assert.ok(paths.includes(path), path);
  for (const path of paths) {
    const isPublic = PUBLIC.some((each) => path === each || path.startsWith(`${each}/`));
    assert.ok(told.has(path) !== isPublic, `${path} is in neither list, or in both`);
  }
});

test("only the SHA-256 of a token is stored", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const dump = JSON.stringify(
    await server.app.core.db.all(sql`SELECT id, name, scopes, hex(hash) AS hash FROM tokens`),
  );
  assert.ok(!dump.includes(user.token.slice(7)));
  const { createHash } = await import("node:crypto");
  assert.ok(dump.toLowerCase().includes(createHash("sha256").update(user.token).digest("hex")));
});

const NOBODY = "usr_00000000000000000000000000";

test("a token is made over HTTP, shown once, seen without its secret, and revoked at once", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const user = (await ask("POST", "/v1/users", { username: "a" })).body.id as string;
  const fields = { user_id: user, name: "phone", scopes: ["contacts:read"], expires_at: 4_102_444_800 };
  const made = await ask("POST", "/v1/tokens", fields);
  assert.equal(made.status, 201);
  const { id, token, created_at } = made.body as { id: string; token: string; created_at: number };
  assert.deepEqual(Object.entries(made.body), Object.entries({ id, token, ...fields, created_at }));
  assert.match(token, /^parley_[A-Za-z0-9_-]{43}$/);
  assert.equal(made.headers.get("location"), `${server.url}/v1/tokens/${id}`);
  assert.equal(made.headers.get("cache-control"), "no-store");
  const theirs = asker(server, { id: user, token, headers: { authorization: `Bearer ${token}` } });
  assert.equal((await theirs("GET", "/v1/contacts")).status, 200);
  assert.equal((await theirs("GET", "/v1/attachments")).status, 403);
  const { token: _, ...shown } = made.body;
  assert.deepEqual((await ask("GET", `/v1/tokens/${id}`)).body, shown);
  assert.deepEqual((await ask("GET", `/v1/tokens?user_id=${user}`)).body, { has_more: false, data: [shown] });
  assert.equal((await ask("DELETE", `/v1/tokens/${id}`, undefined, { "if-match": '"9"' })).status, 412);
  assert.equal((await ask("DELETE", `/v1/tokens/${id}`)).status, 204);
  assert.equal((await theirs("GET", "/v1/contacts")).status, 401);
  const again = await ask("DELETE", `/v1/tokens/${id}`);
  assert.deepEqual([again.status, again.body.code], [404, "token_not_found"]);
  assert.equal((await ask("GET", "/v1/tokens/7")).body.code, "token_not_found");
});

test("scopes are an array or a text, collapse, and are all but admin where none are named", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const user_id = (await ask("POST", "/v1/users", { username: "a" })).body.id as string;
  const cases: [object | string, string[]][] = [
    [{ user_id, scopes: ["admin", "contacts:read", "admin"] }, ["contacts:read", "admin"]],
    [{ user_id, scopes: "events:read admin events:read" }, ["events:read", "admin"]],
    [`user_id=${user_id}&scopes=events:read+contacts:read`, ["contacts:read", "events:read"]],
    [{ user_id }, SCOPES.filter((scope) => scope !== "admin")],
    [`user_id=${user_id}`, SCOPES.filter((scope) => scope !== "admin")],
  ];
  for (const [body, scopes] of cases) {
    const made = await ask("POST", "/v1/tokens", body);
    assert.deepEqual([made.status, made.body.scopes], [201, scopes]);
  }
});

test("what is no token is refused, naming the field and what is accepted", async (t) => {
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const user_id = (await ask("POST", "/v1/users", { username: "a" })).body.id as string;
  const cases: [object | string, number, string, RegExp][] = [
    [{}, 400, "user_id", /required/],
    [{ user_id: NOBODY }, 404, "user_id", /GET \/v1\/users/],
    [{ user_id: "a" }, 404, "user_id", /GET \/v1\/users/],
    ...[[], "", ["all"], ["admin", 1], "admin all", [["admin"]], 1, { admin: true }].map(
      (scopes): [object, number, string, RegExp] => [
        { user_id, scopes },
        400,
        "scopes",
        /contacts:read.*admin/,
      ],
    ),
    ...[now / 1000, now / 1000 - 1, 0, -1, 1.5, "soon", "1e9", String(now / 1000 + 1), "", true, 1e15].map(
      (expires_at): [object, number, string, RegExp] => [
        { user_id, expires_at },
        400,
        "expires_at",
        /future/,
      ],
    ),
    [{ user_id, name: "x".repeat(129) }, 400, "name", /128/],
    [{ user_id, token: "parley_x" }, 400, "token", /Accepted fields/],
  ];
  for (const [body, status, param, detail] of cases) {
    const refused = await ask("POST", "/v1/tokens", body);
    assert.deepEqual([refused.status, refused.body.param], [status, param], JSON.stringify(body));
    assert.match(refused.body.detail as string, detail);
  }
  for (const expires_at of [now / 1000 + 1, null])
    assert.equal((await ask("POST", "/v1/tokens", { user_id, expires_at })).status, 201);
});

test("a user has as many tokens as the limit says, of which expired ones are none", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, { maxTokens: 2 }, { clock: () => now });
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const user_id = (await ask("POST", "/v1/users", { username: "a" })).body.id as string;
  const create = () => ask("POST", "/v1/tokens", { user_id, expires_at: now / 1000 + 60 });
  const first = await create();
  assert.equal((await create()).status, 201);
  const refused = await create();
  assert.deepEqual([refused.status, refused.body.code], [409, "count_limit_reached"]);
  assert.match(refused.body.detail as string, /may have 2.*Revoke.*PARLEY_MAX_TOKENS/);
  await ask("DELETE", `/v1/tokens/${first.body.id}`);
  assert.equal((await create()).status, 201);
  assert.equal((await create()).status, 409);
  now += 60_000;
  assert.equal((await create()).status, 201);
});

test("an expired token is listed for a week, and erased by the next start or sweep after it", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const config = await testConfig(t);
  const clock = () => now;
  const first = await startOn(t, config, { clock });
  const admin = await first.user({ scopes: SCOPES });
  const expired = await first.user({ expiresAt: now + 1000 });
  const listed = async (server: TestApp) =>
    (await asker(server, admin)("GET", `/v1/tokens?user_id=${expired.id}`)).body.data as unknown[];
  await first.app.stop();
  now += 1000 + 7 * 86_400_000;
  const second = await startOn(t, config, { clock });
  assert.equal((await listed(second)).length, 1);
  await second.app.stop();
  now += 1;
  const third = await startOn(t, config, { clock });
  assert.ok(await eventually(async () => (await listed(third)).length === 0));
});

test("a token has 256 bits, and no two are the same", async (t) => {
  const server = await startApp(t);
  const users = await Promise.all(Array.from({ length: 20 }, () => server.user()));
  const bits = users.map(({ token }) => /^parley_([\w-]+)$/.exec(token)![1]!);
  for (const each of bits) assert.equal(Buffer.from(each, "base64url").length, 32);
  assert.equal(new Set(bits).size, bits.length);
});
