import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createToken, revokeTokensOf } from "../../src/core/people/tokens.ts";
import { createUser } from "../../src/core/people/users.ts";
import { startOn, type TestApp, type TestUser, testConfig, upload } from "../support/app.ts";
import { AUDIENCE, ISSUER, makeKey, signJwt, startProvider } from "../support/identity-provider.ts";

const NOW = Date.UTC(2026, 0, 1);
const POLICY = '"default";q=6;w=2';

interface Subject {
  server: TestApp;
  clock: { now: number };
  get(path: string, headers?: Record<string, string>): Promise<Response>;
}

async function start(t: TestContext, requestsPerSecond: number, config: object = {}): Promise<Subject> {
  const clock = { now: NOW };
  const limits = { requestsPerSecond, failuresPerSecond: 2, failuresBurst: 4 };
  const server = await startOn(
    t,
    { ...(await testConfig(t, limits)), ...config },
    { clock: () => clock.now },
  );
  return {
    server,
    clock,
    async get(path, headers = {}) {
      const response = await fetch(server.url + path, { headers });
      await response.arrayBuffer();
      return response;
    },
  };
}

async function statuses(count: number, ask: () => Promise<Response>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await ask()).status);
  return found;
}

const bad = (index = 0) => ({ authorization: `Bearer parley_${String(index).padStart(43, "0")}` });

test("a token has a burst of twice its rate, and each answer shows what is left", async (t) => {
  const { server, clock, get } = await start(t, 3);
  const { headers } = await server.user();
  for (let left = 5; left >= 0; left--) {
    const response = await get("/v1/contacts", headers);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("ratelimit-policy"), POLICY);
    assert.equal(response.headers.get("ratelimit"), `"default";r=${left};t=${Math.ceil((6 - left) / 3)}`);
    assert.equal(response.headers.get("retry-after"), null);
  }
  const refused = await fetch(`${server.url}/v1/contacts`, { headers });
  const { code, status } = (await refused.json()) as { code: string; status: number };
  assert.deepEqual([refused.status, status, code], [429, 429, "rate_limited"]);
  assert.equal(refused.headers.get("content-type"), "application/problem+json");
  assert.equal(refused.headers.get("x-content-type-options"), "nosniff");
  assert.equal(refused.headers.get("ratelimit-policy"), POLICY);
  assert.equal(refused.headers.get("ratelimit"), '"default";r=0;t=2');
  // Waiting this long is enough, even after another refused request.
  const seconds = Number(refused.headers.get("retry-after"));
  assert.equal(seconds, 1);
  clock.now += seconds * 1000;
  assert.deepEqual(await statuses(4, () => get("/v1/contacts", headers)), [200, 200, 200, 429]);
});

test("refused requests count against the rate", async (t) => {
  const { server, get } = await start(t, 3);
  const { headers } = await server.user({ scopes: ["contacts:read"] });
  const asked: [string, number][] = [
    ["/v1/contacts/x", 404],
    ["/v1/attachments", 403],
    ["/v1/contacts?limit=0", 400],
    ["/v1/nothing", 404],
    ["/v1/contacts/%zz", 404],
    ["/files/att_00000000000000000000000000/x", 403],
  ];
  for (const [index, [path, status]] of asked.entries()) {
    const response = await get(path, headers);
    assert.equal(response.status, status, path);
    assert.match(response.headers.get("ratelimit")!, new RegExp(`^"default";r=${5 - index};t=[12]$`), path);
  }
  assert.equal((await get("/v1/me", headers)).status, 429);
});

test("each token has its own rate, even of one user", async (t) => {
  const { server, get } = await start(t, 1);
  const user = await server.user();
  const { token } = await createToken(server.app.core, null, user.id, {});
  const other = { authorization: `Bearer ${token}` };
  assert.deepEqual(await statuses(3, () => get("/v1/me", user.headers)), [200, 200, 429]);
  assert.deepEqual(await statuses(3, () => get("/v1/me", other)), [200, 200, 429]);
});

test("signed tokens of one user share a rate", async (t) => {
  const key = makeKey("EdDSA", "key");
  const provider = await startProvider(t, key);
  const { get } = await start(t, 1, { jwt: provider.settings });
  const exp = NOW / 1000 + 600;
  const ask = (sub: string, jti: string) => {
    const token = signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub, jti, exp });
    return get("/v1/me", { authorization: `Bearer ${token}` });
  };
  assert.equal((await ask("ada", "1")).status, 200);
  assert.equal((await ask("ada", "2")).status, 200);
  assert.equal((await ask("ada", "3")).status, 429);
  assert.equal((await ask("bob", "1")).status, 200);
});

test("a signed token whose username is taken counts as a failure", async (t) => {
  const key = makeKey("EdDSA", "key");
  const provider = await startProvider(t, key);
  const { server, get } = await start(t, 100, { jwt: provider.settings });
  await createUser(server.app.core, null, { username: "ada" });
  const token = signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub: "ada", exp: NOW / 1000 + 600 });
  const ask = () => get("/v1/me", { authorization: `Bearer ${token}` });
  assert.deepEqual(await statuses(5, ask), [409, 409, 409, 409, 429]);
});

test("CORS exposes the rate limit headers", async (t) => {
  const { server, get } = await start(t, 1, { corsOrigins: ["https://app.example"] });
  const { headers } = await server.user();
  for (const status of [200, 200, 429]) {
    const response = await get("/v1/me", { ...headers, origin: "https://app.example" });
    assert.equal(response.status, status);
    const exposed = response.headers.get("access-control-expose-headers")!.split(", ");
    for (const name of ["RateLimit", "RateLimit-Policy", "Retry-After", "Idempotent-Replayed"]) {
      assert.ok(exposed.includes(name), name);
    }
  }
});

test("public paths have no rate limit", async (t) => {
  const { server, get } = await start(t, 1);
  const user = await server.user();
  const uploaded = await upload(server.url, user, new File(["hello"], "a.txt"));
  const { file_url } = (await uploaded.json()) as { file_url: string };
  for (const path of ["/healthz", "/readyz", "/docs", file_url.slice(server.url.length)]) {
    for (let count = 0; count < 10; count++) {
      const response = await get(path);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("ratelimit"), null, path);
    }
  }
});

test("a rate of 0 means no limits, and GET /v1/me shows the rate", async (t) => {
  const off = await start(t, 0);
  const user = await off.server.user();
  const response = await off.get("/v1/me", user.headers);
  assert.equal(response.headers.get("ratelimit"), null);
  assert.equal(response.headers.get("ratelimit-policy"), null);
  assert.deepEqual(new Set(await statuses(20, () => off.get("/v1/me", bad()))), new Set([401]));
  const rateOf = async ({ server }: Subject, { headers }: TestUser) => {
    const me = await (await fetch(`${server.url}/v1/me`, { headers })).json();
    return (me as { limits: { rate_limit: number | null } }).limits.rate_limit;
  };
  assert.equal(await rateOf(off, user), null);
  const on = await start(t, 3);
  assert.equal(await rateOf(on, await on.server.user()), 3);
});

test("failed tokens limit their address, except for tokens verified before", async (t) => {
  const { server, clock, get } = await start(t, 100);
  const [known, revoked, unknown] = [await server.user(), await server.user(), await server.user()];
  for (const { headers } of [known, revoked]) assert.equal((await get("/v1/me", headers)).status, 200);
  let guess = 0;
  const guesses = (count: number) => statuses(count, () => get("/v1/me", bad(guess++)));
  assert.deepEqual(await guesses(5), [401, 401, 401, 401, 429]);
  const refused = await get("/v1/me", unknown.headers);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("ratelimit-policy"), '"authentication";q=4;w=2');
  assert.equal(refused.headers.get("ratelimit"), '"authentication";r=0;t=2');
  assert.equal(refused.headers.get("retry-after"), "1");
  assert.equal((await get("/v1/me", { authorization: "Basic YTpi" })).status, 429);
  assert.equal((await get("/v1/me", known.headers)).status, 200);
  clock.now += 1000;
  assert.equal((await get("/v1/me", unknown.headers)).status, 200);
  assert.deepEqual(await guesses(3), [401, 401, 429]);
  assert.equal((await get("/v1/me", unknown.headers)).status, 200);
  await revokeTokensOf(server.app.core, null, revoked.id);
  const asRevoked = () => get("/v1/me", revoked.headers);
  assert.deepEqual(await statuses(2, asRevoked), [401, 429], "a revoked token is a guess from its next use");
  assert.equal((await get("/v1/me", known.headers)).status, 200);
});

test("a missing token is no failure, an expired or malformed one is", async (t) => {
  const { server, clock, get } = await start(t, 100);
  assert.deepEqual(new Set(await statuses(20, () => get("/v1/me"))), new Set([401]));
  const expired = await server.user({ expiresAt: NOW + 1 });
  assert.equal((await get("/v1/me", expired.headers)).status, 200);
  clock.now += 1;
  assert.deepEqual(await statuses(2, () => get("/v1/me", expired.headers)), [401, 401]);
  assert.deepEqual(await statuses(2, () => get("/v1/me", { authorization: "Bearer a b" })), [401, 401]);
  assert.equal((await get("/v1/me", bad())).status, 429);
});

test("wrong signatures of links count as failures, and valid links keep working", async (t) => {
  const { server, get } = await start(t, 100);
  const user = await server.user();
  const uploaded = await upload(server.url, user, new File(["hello"], "a.txt"));
  const good = ((await uploaded.json()) as { file_url: string }).file_url.slice(server.url.length);
  const [path] = good.split("?");
  assert.deepEqual(new Set(await statuses(10, () => get(path!))), new Set([403]));
  const wrong = `${path}?expires=${NOW / 1000 + 60}&signature=wrong`;
  assert.deepEqual(await statuses(5, () => get(wrong)), [403, 403, 403, 403, 429]);
  assert.equal((await get(good)).status, 200);
  assert.equal((await get("/v1/me", bad())).status, 429);
});

/**
 * Returns how many invalid tokens are answered with 401 before one is refused with 429, with these X-Forwarded-For
 * headers.
 */
async function triesOf({ get }: Subject, addresses: string[]): Promise<number> {
  for (const [index, address] of addresses.entries()) {
    const { status } = await get("/v1/me", { ...bad(index), "x-forwarded-for": address });
    if (status === 429) return index;
    assert.equal(status, 401);
  }
  return addresses.length;
}

const addresses = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => make(index));

test("X-Forwarded-For is ignored from untrusted proxies", async (t) => {
  const spoofed = addresses(8, (index) => `192.0.2.${index}`);
  assert.equal(await triesOf(await start(t, 100), spoofed), 4);
  assert.equal(await triesOf(await start(t, 100, { trustedProxies: ["192.0.2.0/24"] }), spoofed), 4);
});

test("the client address is the last untrusted one of X-Forwarded-For from a trusted proxy", async (t) => {
  const subject = await start(t, 100, { trustedProxies: ["loopback", "10.0.0.0/8"] });
  const tries = (make: (index: number) => string) => triesOf(subject, addresses(8, make));
  assert.equal(await tries((index) => `192.0.2.${index}`), 8);
  // The client's header comes before the addresses that the proxies add.
  assert.equal(await tries((index) => `192.0.2.${index}, 203.0.113.1, 10.1.1.1`), 4);
  assert.equal(await tries((index) => `2001:db8::${index}`), 4);
  assert.equal(await tries((index) => `2001:db8:0:${index + 1}::1`), 8);
  assert.equal(await tries((index) => `::ffff:198.51.100.${index % 2}`), 8);
  assert.equal(await triesOf(subject, ["198.51.100.1"]), 0);
});

test("X-Forwarded-For counts without port and zone, and a malformed one as the proxy itself", async (t) => {
  const tries = async (make: (index: number) => string) =>
    triesOf(await start(t, 100, { trustedProxies: ["loopback"] }), addresses(8, make));
  assert.equal(await tries((index) => `192.0.2.1:${1000 + index}`), 4);
  assert.equal(await tries((index) => `192.0.2.${index}:443`), 8);
  assert.equal(await tries((index) => `[2001:db8::1]:${1000 + index}`), 4);
  assert.equal(await tries((index) => `[2001:db8:0:${index}::1]:443`), 8);
  assert.equal(await tries((index) => `fe80::1%${"z".repeat(index + 1)}`), 4);
  assert.equal(await tries((index) => `nobody-${index}`), 4);
  // Malformed values that some parsers take for an address.
  assert.equal(await tries((index) => `${index + 1}`), 4);
  assert.equal(await tries((index) => `${index}${"x".repeat(8000)}`), 4);
});

test("forwarded headers never reach the addresses of files", async (t) => {
  const subject = await start(t, 100, { trustedProxies: ["loopback"] });
  const user = await subject.server.user();
  const headers = {
    ...user.headers,
    "x-forwarded-for": "192.0.2.1",
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    forwarded: "host=evil.example",
  };
  const uploaded = await upload(subject.server.url, { ...user, headers }, new File(["hello"], "a.txt"));
  const { file_url } = (await uploaded.json()) as { file_url: string };
  assert.ok(file_url.startsWith(`${subject.server.url}/files/`), file_url);
});
