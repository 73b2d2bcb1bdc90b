// Tokens: creating them, their scopes, and their end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { allTokens, revokeToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { allOperations } from "../../../src/http/routes/operations.ts";
import { createHttp } from "../../../src/http/server.ts";
import { createLog } from "../../../src/util/log.ts";
import { sharedApp, startApp, startOn, type TestApp, type TestUser, testConfig } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { refusals, row, scenarios } from "../../support/scenarios.ts";
import { otherScopes, routeScopes } from "../visibility/scopes.ts";

const START = Date.UTC(2026, 0, 1);
const clock = { now: START };
const open = sharedApp({}, { clock: () => clock.now });
const statusOf = async ({ url }: TestApp, { headers }: TestUser) =>
  (await fetch(`${url}/v1/contacts`, { headers })).status;

test("a token is refused from its expiry on, and not before", async () => {
  const server = await open();
  const user = await server.user({ expiresAt: clock.now + 60_000 });
  for (const [ms, status] of [
    [0, 200],
    [59_999, 200],
    [1, 401],
  ] as const) {
    clock.now += ms;
    assert.equal(await statusOf(server, user), status);
  }
});

test("a revoked token is refused by the next request", async () => {
  const server = await open();
  const user = await server.user();
  assert.equal(await statusOf(server, user), 200);
  const token = (await allTokens(server.app.core)).find(({ user_id }) => user_id === user.id);
  await revokeToken(server.app.core, null, token!.id);
  assert.equal(await statusOf(server, user), 401);
});

/** Paths that need no token, and /session and /sign-in-link, which any token may use. */
const PUBLIC =
  "/ /assets /push-worker.js /manifest.webmanifest /icon-192.png /icon-512.png /icon-maskable.png /session /sign-in /sign-in-link /v1/avatars /archives /healthz /readyz /openapi.json /openapi-3.0.json /docs /embed.js /embed".split(
    " ",
  );

/** Returns the path of a route with a well-formed id for each parameter. */
function exampleOf(path: string): string {
  const id = path.startsWith("/files/") ? "att_00000000000000000000000000" : "x";
  return path.replace(":id", id).replace(":filename", "x");
}

test("a token without the scope of a route is 403 insufficient_scope", async () => {
  const server = await open();
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

/** Returns the paths in a printed tree of routes, which indents each level by four characters. */
function pathsIn(tree: string): string[] {
  const parts: string[] = [];
  return [...tree.matchAll(/^([│├└─ ]*)(\S+) \(/gm)].map(([, indent, part]) => {
    parts.splice(indent!.length / 4 - 1, Number.POSITIVE_INFINITY, part!);
    return parts.join("");
  });
}

test("only the caller's own user needs no scope, and users, tokens, audit and metrics need admin", () => {
  for (const { path, scope } of routeScopes(allOperations)) {
    if (/^\/v1\/(?:me|avatars)(?:\/|$)/.test(path)) assert.equal(scope, undefined);
    else if (/^\/(?:metrics|v1\/(?:users|tokens|token_search|audit))/.test(path))
      assert.equal(scope, "admin", path);
    else assert.ok(scope !== undefined && scope !== "admin", path);
  }
});

test("every route of the server declares its scope or is public", async () => {
  const { app, config } = await open();
  const http = await createHttp(app.core, config, createLog("silent"));
  await http.ready();
  const paths = pathsIn(http.printRoutes({ commonPrefix: false }));
  const scoped = new Set(routeScopes(allOperations).map(({ path }) => path));
  for (const path of scoped) assert.ok(paths.includes(path), path);
  for (const path of paths) {
    const isPublic = PUBLIC.some((each) => path === each || path.startsWith(`${each}/`));
    assert.ok(scoped.has(path) !== isPublic, `${path} is in neither list, or in both`);
  }
});

const FIELDS = { name: "phone", scopes: ["contacts:read"], expires_at: 4_102_444_800 };
const BY_DEFAULT = SCOPES.filter((scope) => scope !== "act_as" && scope !== "admin");

async function office(server: TestApp) {
  const admin = await server.user({ scopes: SCOPES });
  const { id: user } = await server.user();
  const made = await asker(server, admin)("POST", "/v1/tokens", { user_id: user, ...FIELDS });
  return { server, people: { admin }, ids: { user, token: made.body.id, secret: made.body.token } };
}

const NOBODY = "usr_00000000000000000000000000";
const now = START / 1000 + 60;

scenarios(open, office, [
  [
    "a new token shows its secret once and has the given scopes only",
    "POST /v1/tokens",
    201,
    {
      body: { user_id: "<user>", ...FIELDS },
      answer: { id: /^tok_/, token: /^parley_[A-Za-z0-9_-]{43}$/, user_id: "<user>", ...FIELDS },
      answerHeaders: { location: /\/v1\/tokens\/tok_/, "cache-control": "no-store" },
      async after({ server, people: { admin } }, { body }) {
        const { token, ...shown } = body;
        const theirs = asker(server, { ...admin, headers: { authorization: `Bearer ${token}` } });
        assert.equal((await theirs("GET", "/v1/contacts")).status, 200);
        assert.equal((await theirs("GET", "/v1/attachments")).status, 403);
        const ask = asker(server, admin);
        assert.deepEqual((await ask("GET", `/v1/tokens/${body.id}`)).body, shown);
        const { data } = (await ask("GET", `/v1/tokens?user_id=${body.user_id}&limit=1`)).body;
        assert.deepEqual(data, [shown]);
      },
    },
  ],
  [
    "If-Match with another ETag revokes no token",
    "DELETE /v1/tokens/<token>",
    412,
    {
      headers: { "if-match": '"9"' },
      async after({ server, people: { admin }, ids }) {
        const headers = { authorization: `Bearer ${ids.secret}` };
        assert.equal(await statusOf(server, { ...admin, headers }), 200);
      },
    },
  ],
  [
    "a token that is deleted over HTTP is refused at once",
    "DELETE /v1/tokens/<token>",
    204,
    {
      async after({ server, people: { admin }, ids }) {
        const headers = { authorization: `Bearer ${ids.secret}` };
        assert.equal(await statusOf(server, { ...admin, headers }), 401);
        const again = await asker(server, admin)("DELETE", `/v1/tokens/${ids.token}`);
        assert.deepEqual([again.status, again.body.code], [404, "token_not_found"]);
      },
    },
  ],
  row("a malformed token id is 404", "GET /v1/tokens/7", 404, { answer: { code: "token_not_found" } }),
  ...(
    [
      [{ scopes: ["admin", "contacts:read", "admin"] }, ["contacts:read", "admin"]],
      [{ scopes: "events:read admin events:read" }, ["events:read", "admin"]],
      ["scopes=events:read+contacts:read", ["contacts:read", "events:read"]],
      [{}, BY_DEFAULT],
      ["", BY_DEFAULT],
    ] as const
  ).map(([fields, scopes]) =>
    row(`a new token with ${JSON.stringify(fields)} has ${scopes.length} scopes`, "POST /v1/tokens", 201, {
      body: typeof fields === "string" ? `user_id=<user>&${fields}` : { user_id: "<user>", ...fields },
      answer: { scopes },
    }),
  ),
  ...[now + 1, null].map((expires_at) =>
    row(`expires_at ${expires_at} is accepted`, "POST /v1/tokens", 201, {
      body: { user_id: "<user>", expires_at },
      answer: { expires_at },
    }),
  ),
  ...refusals("POST /v1/tokens", 400, "missing_parameter", [[{}, "user_id", /required/]]),
  ...refusals("POST /v1/tokens", 404, "user_not_found", [
    [{ user_id: NOBODY }, "user_id", /GET \/v1\/users/],
    [{ user_id: "a" }, "user_id", /GET \/v1\/users/],
  ]),
  ...refusals("POST /v1/tokens", 400, "invalid_parameter", [
    ...[[], "", ["all"], ["admin", 1], "admin all", [["admin"]], 1, { admin: true }].map(
      (scopes) => [{ user_id: "<user>", scopes }, "scopes", /contacts:read.*admin/] as const,
    ),
    ...[now, now - 1, 0, -1, 1.5, "soon", "1e9", String(now + 1), "", true, 1e15].map(
      (expires_at) => [{ user_id: "<user>", expires_at }, "expires_at", /future/] as const,
    ),
    [{ user_id: "<user>", name: "x".repeat(129) }, "name", /128/],
  ]),
]);

test("the limit of tokens per user ignores expired ones", async (t) => {
  let now = START;
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

test("an expired token is listed for a week, and erased by the next start after that", async (t) => {
  let now = START;
  const config = await testConfig(t);
  const parts = { clock: () => now };
  const first = await startOn(t, config, parts);
  const admin = await first.user({ scopes: SCOPES });
  const expired = await first.user({ expiresAt: now + 1000 });
  const listed = async (server: TestApp) =>
    (await asker(server, admin)("GET", `/v1/tokens?user_id=${expired.id}`)).body.data as unknown[];
  await first.app.stop();
  now += 1000 + 7 * 86_400_000;
  const second = await startOn(t, config, parts);
  assert.equal((await listed(second)).length, 1);
  await second.app.stop();
  now += 1;
  const third = await startOn(t, config, parts);
  assert.ok(await eventually(async () => (await listed(third)).length === 0));
});

test("a token has 256 bits, no two are the same, and only its SHA-256 is stored", async () => {
  const server = await open();
  const users = await Promise.all(Array.from({ length: 20 }, () => server.user()));
  const bits = users.map(({ token }) => /^parley_([\w-]+)$/.exec(token)![1]!);
  for (const each of bits) assert.equal(Buffer.from(each, "base64url").length, 32);
  assert.equal(new Set(bits).size, bits.length);
  const rows = await server.app.core.db.all(sql`SELECT id, name, scopes, hex(hash) AS hash FROM tokens`);
  for (const each of bits) assert.ok(!JSON.stringify(rows).includes(each));
});
