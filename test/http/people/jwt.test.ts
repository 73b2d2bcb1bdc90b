import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Parts } from "../../../src/app.ts";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { createUser, deleteUser, getUserByName } from "../../../src/core/people/users.ts";
import { sql } from "../../../src/db/sql.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { forgedTokens, refuseForged } from "../../support/forged-tokens.ts";
import {
  AUDIENCE,
  ISSUER,
  makeKey,
  type Provider,
  type SigningKey,
  signJwt,
  startProvider,
} from "../../support/identity-provider.ts";

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const first = makeKey("ES256", "first");
const second = makeKey("EdDSA", "second");

interface Subject {
  server: TestApp;
  provider: Provider;
  clock: { now: number };
  /** Returns the claims of a valid token, with these changes. */
  claims(more?: object): object;
  get(token: string, path?: string): Promise<Response>;
  /** Returns the status of a request with a token of these claims. */
  status(more?: object, key?: SigningKey): Promise<number>;
}

async function start(t: TestContext, keys = [first], config: object = {}): Promise<Subject> {
  const provider = await startProvider(t, ...keys);
  const clock = { now: NOW };
  const parts: Parts = { clock: () => clock.now };
  const server = await startOn(t, { ...(await testConfig(t)), jwt: provider.settings, ...config }, parts);
  const claims = (more: object = {}) => ({
    iss: ISSUER,
    aud: AUDIENCE,
    sub: "248289761001",
    preferred_username: "ada",
    exp: NOW / SECOND + 600,
    ...more,
  });
  const get = (token: string, path = "/v1/me") =>
    fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } });
  const status = async (more: object = {}, key = first) => {
    const response = await get(signJwt(key, claims(more)));
    await response.arrayBuffer();
    return response.status;
  };
  return { server, provider, clock, claims, get, status };
}

async function idOf(response: Response): Promise<string> {
  assert.equal(response.status, 200);
  return ((await response.json()) as { id: string }).id;
}

for (const alg of ["RS256", "ES256", "EdDSA"] as const) {
  test(`a token signed with ${alg} creates its user on first use`, async (t) => {
    const key = makeKey(alg, "the key");
    const { get, claims } = await start(t, [key]);
    const made = await get(signJwt(key, claims()));
    const body = (await made.json()) as { id: string; username: string };
    assert.equal(made.status, 200);
    assert.equal(body.username, "ada");
    assert.equal(await idOf(await get(signJwt(key, claims({ preferred_username: "renamed" })))), body.id);
    assert.notEqual(
      await idOf(await get(signJwt(key, claims({ sub: "other", preferred_username: "bob" })))),
      body.id,
    );
  });
}

test("a signed token is 401 if JWT is not configured", async (t) => {
  const { status, provider } = await start(t, [first], { jwt: null });
  assert.equal(await status(), 401);
  assert.equal(provider.asked, 0);
});

test("tokens of Parley still work if JWT is configured", async (t) => {
  const { server, get, provider } = await start(t);
  const user = await server.user();
  assert.equal(await idOf(await get(user.token)), user.id);
  assert.equal(provider.asked, 0);
});

test("a forged token is 401 invalid_token with a reason, and creates no user", async (t) => {
  const { server, get, claims } = await start(t);
  await refuseForged(server, forgedTokens(first, claims, NOW / SECOND));
  await refuseForged(server, [[signJwt(second, claims()), /key is not in/]]);
  for (const typ of ["JWT", "jwt", "at+jwt", "AT+JWT", "application/jwt", "application/at+jwt", undefined])
    assert.equal((await get(signJwt(first, claims(), { typ }))).status, 200, `${typ}`);
});

test("a signed token may be off by 60 seconds of clock skew, and no more", async (t) => {
  const { status, get, claims, clock } = await start(t);
  const seconds = NOW / SECOND;
  assert.equal(await status({ exp: seconds - 59 }), 200);
  assert.equal(await status({ nbf: seconds + 60 }), 200);
  assert.equal(await status({ iat: seconds + 60 }), 200);
  // Also a token in the cache.
  const token = signJwt(first, claims());
  assert.equal((await get(token)).status, 200);
  clock.now = NOW + 600 * SECOND + MINUTE - 1;
  assert.equal((await get(token)).status, 200);
  clock.now += 1;
  assert.equal((await get(token)).status, 401);
});

test("the username is preferred_username if it is valid, otherwise sub", async (t) => {
  const { get, claims } = await start(t);
  const cases: [object, string][] = [
    [{ sub: "no-name", preferred_username: undefined }, "no-name"],
    [{ sub: "spaces", preferred_username: " ada " }, "spaces"],
    [{ sub: "number", preferred_username: 7 }, "number"],
    [{ sub: "invisible", preferred_username: "\u200b\u2800" }, "invisible"],
    [{ sub: "7", preferred_username: "Grace Hopper" }, "Grace Hopper"],
  ];
  for (const [more, expected] of cases) {
    const response = await get(signJwt(first, claims(more)));
    assert.equal(((await response.json()) as { username: string }).username, expected);
  }
});

test("a signed token with the username of another user is 409 username_taken", async (t) => {
  const { server, get, claims } = await start(t);
  await createUser(server.app.core, null, { username: "ADA" });
  for (let tries = 0; tries < 2; tries++) {
    const response = await get(signJwt(first, claims()));
    const body = (await response.json()) as { code: string; detail: string };
    assert.deepEqual([response.status, body.code], [409, "username_taken"]);
    assert.match(
      body.detail,
      /Another user already has the username .* PUT \/v1\/users\/\{user_id\} .* at the identity provider/,
    );
  }
  await deleteUser(server.app.core, null, (await getUserByName(server.app.core, "ada")).id);
  await idOf(await get(signJwt(first, claims())));
});

test("the audit trail names the user of a signed token as the actor, without a token", async (t) => {
  const { server, get, claims } = await start(t);
  const admin = await server.user({ scopes: SCOPES });
  const token = signJwt(first, claims());
  const id = await idOf(await get(token));
  const written = await fetch(`${server.url}/v1/contacts`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams({ username: "grace", phone_number: "+15550101" }),
  });
  assert.equal(written.status, 201);
  const { body } = await asker(server, admin)("GET", "/v1/audit?limit=2");
  assert.deepEqual(
    (body.data as Json[]).map(({ action, actor_id, token_id }) => [action, actor_id, token_id]),
    [
      ["contact.created", id, null],
      ["user.created", id, null],
    ],
  );
});

test("erasing the user of a signed token ends the stream and creates no user", async (t) => {
  const { server, get, claims } = await start(t);
  const token = signJwt(first, claims());
  const id = await idOf(await get(token));
  const stream = await listen(t, server, { headers: { authorization: `Bearer ${token}` } });
  await deleteUser(server.app.core, null, id);
  await stream.ended;
  assert.deepEqual(await server.app.core.db.all(sql`SELECT id FROM users WHERE username = 'ada'`), []);
});

test("a signed token of an erased user creates a new user", async (t) => {
  const { server, get, claims } = await start(t);
  const token = signJwt(first, claims());
  const before = await idOf(await get(token));
  assert.equal(await idOf(await get(token)), before);
  await deleteUser(server.app.core, null, (await getUserByName(server.app.core, "ada")).id);
  // The first request afterwards is a write: it must not run as the erased user.
  const written = await fetch(`${server.url}/v1/contacts`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams({ username: "grace", phone_number: "+15550101" }),
  });
  assert.equal(written.status, 201);
  const after = await idOf(await get(token));
  const rows = await server.app.core.db.allValues<[string]>(sql`SELECT DISTINCT owner_id FROM contacts`);
  assert.deepEqual(rows, [[after]]);
  assert.notEqual(after, before);
  assert.equal(await idOf(await get(signJwt(first, claims({ jti: "another token" })))), after);
});

for (const engine of ["SQLite", "PostgreSQL"]) {
  test(`20 first requests at once create one user, on ${engine}`, async (t) => {
    const onPostgres = engine === "PostgreSQL";
    const config = onPostgres ? { databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] } : {};
    const subject = await start(t, [first], config);
    const { claims, clock } = subject;
    const urls = [subject.server.url];
    if (onPostgres) {
      const other = { ...(await testConfig(t)), jwt: subject.provider.settings, ...config };
      urls.push((await startOn(t, other, { clock: () => clock.now })).url);
    }
    const ids = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        // Each token differs, so that no cache has it.
        const authorization = `Bearer ${signJwt(first, claims({ jti: `${index}` }))}`;
        return idOf(await fetch(`${urls[index % urls.length]}/v1/me`, { headers: { authorization } }));
      }),
    );
    assert.equal(new Set(ids).size, 1);
  });
}

test("a rotated key works at once, and the old one is refused after the next refresh", async (t) => {
  const { provider, clock, get, status, claims } = await start(t);
  const long = { exp: (NOW + DAY) / SECOND };
  const old = signJwt(first, claims(long));
  assert.equal((await get(old)).status, 200);
  provider.keys = [second];
  clock.now += 30 * SECOND;
  assert.equal(await status(long, second), 200);
  assert.equal(provider.asked, 2);
  assert.equal((await get(old)).status, 401);
});

test("the key set is refreshed in the background after ten minutes", async (t) => {
  const { provider, clock, get, claims } = await start(t);
  const token = signJwt(first, claims({ exp: (NOW + DAY) / SECOND }));
  assert.equal((await get(token)).status, 200);
  provider.keys = [second];
  clock.now += 10 * MINUTE - 1;
  assert.equal((await get(token)).status, 200);
  assert.equal(provider.asked, 1);
  clock.now += 1;
  assert.equal((await get(token)).status, 200);
  assert.ok(await eventually(async () => (await get(token)).status === 401));
  assert.equal(provider.asked, 2);
});

test("unknown keys refresh the key set at most once in 30 seconds", async (t) => {
  const { provider, clock, status } = await start(t);
  assert.equal(await status(), 200);
  clock.now += 30 * SECOND;
  const flood = async (from: number) => {
    const statuses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => status({}, { ...second, kid: `unknown ${from + index}` })),
    );
    assert.deepEqual(new Set(statuses), new Set([401]));
  };
  await flood(0);
  await flood(50);
  assert.equal(provider.asked, 2);
  clock.now += 30 * SECOND;
  await flood(100);
  assert.equal(provider.asked, 3);
  assert.equal(await status(), 200);
});

test("if the provider is down, its last keys work for a day, then requests are 503", async (t) => {
  const { provider, clock, get, claims } = await start(t);
  const token = (jti: string) => signJwt(first, claims({ jti, exp: (NOW + 3 * DAY) / SECOND }));
  const kept = token("kept");
  assert.equal((await get(kept)).status, 200);
  await provider.close();
  clock.now += DAY - 1;
  assert.equal((await get(kept)).status, 200);
  assert.equal((await get(token("new"))).status, 200);
  clock.now += 1;
  for (const each of [kept, token("late")]) {
    const response = await get(each);
    const { code } = (await response.json()) as { code: string };
    assert.deepEqual([response.status, code], [503, "unavailable"]);
    assert.match(response.headers.get("retry-after")!, /^(?:[1-9]|[12]\d|30)$/);
  }
});

test("an unusable key set is 503, and is fetched again after 30 seconds", async (t) => {
  const { provider, clock, get, status, claims } = await start(t);
  const bad = (status: number, body: string) => {
    provider.answer = (_request, response) => response.writeHead(status).end(body);
  };
  const keys = (count: number) => JSON.stringify({ keys: Array(count).fill({ kty: "EC" }) });
  const answers: [string, () => void][] = [
    ["not found", () => bad(404, "")],
    ["no JSON", () => bad(200, "<html>")],
    ["no set", () => bad(200, "null")],
    ["too many keys", () => bad(200, keys(101))],
    ["too large", () => bad(200, JSON.stringify({ keys: [], more: "x".repeat(256 * 1024) }))],
  ];
  for (const [name, set] of answers) {
    set();
    const asked = provider.asked;
    for (let tries = 0; tries < 2; tries++) {
      const response = await get(signJwt(first, claims()));
      assert.equal(response.status, 503, name);
      assert.equal(response.headers.get("retry-after"), "30");
      assert.equal(response.headers.get("www-authenticate"), null);
    }
    assert.equal(provider.asked, asked + 1, name);
    clock.now += 30 * SECOND;
  }
  provider.answer = undefined;
  assert.equal(await status(), 200);
});

test("a redirect of the key set is not followed", async (t) => {
  const { provider, status } = await start(t);
  const other = await startProvider(t, first);
  provider.answer = (_request, response) =>
    response.writeHead(302, { location: other.settings.keySetUrl }).end();
  assert.equal(await status(), 503);
  assert.equal(other.asked, 0);
});

test("a damaged key set keeps the keys that were fetched before", async (t) => {
  const { provider, clock, status } = await start(t);
  assert.equal(await status({ jti: "1" }), 200);
  provider.answer = (_request, response) => response.end('{"keys": 7}');
  clock.now += 10 * MINUTE;
  const exp = clock.now / SECOND + 600;
  assert.equal(await status({ jti: "2", exp }), 200);
  assert.ok(await eventually(async () => provider.asked === 2));
  assert.equal(await status({ jti: "3", exp }), 200);
});
