// What the server asks of an OpenID provider, and what it makes of refusals and outages.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { startOpenIdProvider } from "../../support/openid-provider.ts";

const JSON_TYPE = "application/json";
const KEY = "a".repeat(64);

const beginAt = ({ url }: TestApp) =>
  fetch(`${url}/sign-in`, { method: "POST", headers: { "parley-session": KEY } });

/** Begins a sign-in, and returns the parameters for the provider, and a function that finishes the sign-in with its answer. */
async function beginSignIn(server: TestApp) {
  const begun = await beginAt(server);
  const { url } = (await begun.json()) as { url: string };
  const cookie = begun.headers.getSetCookie()[0]!.split(";")[0]!;
  async function finish(answer: Record<string, string>): Promise<[status: number, code: unknown]> {
    const response = await fetch(`${server.url}/session`, {
      method: "POST",
      headers: { "parley-session": KEY, cookie },
      body: new URLSearchParams({ answer: String(new URLSearchParams(answer)) }),
    });
    const text = await response.text();
    return [response.status, text && JSON.parse(text).code];
  }
  const parameters = new URL(url).searchParams;
  return { state: parameters.get("state")!, nonce: parameters.get("nonce")!, finish };
}

/**
 * Starts a server, and a provider that names these scopes. While `isDown` it answers with an error. `token` is its answer to each code;
 * null closes the connection. It never has details of a user.
 */
async function scene(t: TestContext, scopes: readonly string[] | undefined) {
  const provider = {
    asked: 0,
    isDown: false,
    token: null as [status: number, type: string, text: string] | null,
  };
  const http = createServer(({ url }, response) => {
    provider.asked++;
    if (url === "/token" && provider.token === null) return void response.destroy();
    if (url === "/token") {
      const [status, type, text] = provider.token!;
      return void response.writeHead(status, { "content-type": type }).end(text);
    }
    response.statusCode = provider.isDown || url === "/userinfo" ? 503 : 200;
    response.setHeader("content-type", JSON_TYPE);
    const [authorization_endpoint, token_endpoint, userinfo_endpoint] = [
      "authorize",
      "token",
      "userinfo",
    ].map((path) => `${issuer}/${path}`);
    const endpoints = { authorization_endpoint, token_endpoint, userinfo_endpoint };
    response.end(JSON.stringify({ issuer, ...endpoints, scopes_supported: scopes }));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => http.close());
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const openId = { issuer, clientId: "parley", clientSecret: null };
  const server = await startOn(t, { ...(await testConfig(t)), openId });
  return { server, issuer, provider, begin: () => beginAt(server) };
}

test("the server asks only for scopes that the provider names", async (t) => {
  for (const [scopes, asked] of [
    [["openid", "email", "profile"], "openid profile"],
    [["openid", "profile", "phone"], "openid profile phone"],
    [["openid"], "openid"],
    [undefined, "openid profile"],
  ] as const) {
    const { begin } = await scene(t, scopes);
    const { url } = (await (await begin()).json()) as { url: string };
    assert.equal(new URL(url).searchParams.get("scope"), asked);
  }
});

test("sign-ins at the same time ask the provider once, and again after a failure", async (t) => {
  const { provider, begin } = await scene(t, undefined);
  const statuses = async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, begin));
    return [...new Set(answers.map(({ status }) => status))];
  };
  provider.isDown = true;
  assert.deepEqual(await statuses(), [503]);
  assert.ok(provider.asked < 5);
  provider.isDown = false;
  const before = provider.asked;
  assert.deepEqual(await statuses(), [200]);
  assert.equal(provider.asked, before + 1);
  assert.deepEqual(await statuses(), [200]);
  assert.equal(provider.asked, before + 1);
});

test("a provider that goes away during a sign-in is 503 and does not count as a guess; a refused code is 401", async (t) => {
  const provider = await startOpenIdProvider(t);
  const { issuer, clientId } = provider;
  const limits = { requestsPerSecond: 1000, failuresPerSecond: 1, failuresBurst: 2 };
  const now = Date.now();
  const config = { ...(await testConfig(t, limits)), openId: { issuer, clientId, clientSecret: null } };
  const server = await startOn(t, config, { clock: () => now });
  provider.register(`${server.url}/`);
  const { state, finish } = await beginSignIn(server);
  const answer = { code: "guessed", state, iss: issuer };
  assert.deepEqual(await finish(answer), [401, "invalid_token"]);
  await provider.close();
  for (let i = 0; i < 3; i++) assert.deepEqual(await finish(answer), [503, "unavailable"]);
  assert.deepEqual(await finish({ ...answer, state: "foreign" }), [401, "invalid_token"]);
  assert.deepEqual(await finish(answer), [429, "rate_limited"]);
});

test("a provider that cannot answer is 503, and one that refuses is 401", async (t) => {
  const { server, issuer, provider } = await scene(t, undefined);
  const { state, nonce, finish } = await beginSignIn(server);
  const [unavailable, refused] = [
    [503, "unavailable"],
    [401, "invalid_token"],
  ];
  const toPart = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: "parley", sub: "ada", nonce, iat: now, exp: now + 60 };
  const tokens = { access_token: "a", token_type: "Bearer", expires_in: 60 };
  // Over its own connection to the provider, the client accepts an ID token without checking the signature.
  const answered = { ...tokens, id_token: `${toPart({ alg: "RS256" })}.${toPart(claims)}.AAAA` };
  for (const [token, expected] of [
    [null, unavailable],
    [[503, "text/plain", "down"], unavailable],
    [[502, JSON_TYPE, '{"error":"invalid_grant"}'], unavailable],
    [[429, JSON_TYPE, '{"error":"slow_down"}'], unavailable],
    [[400, JSON_TYPE, '{"error":"temporarily_unavailable"}'], unavailable],
    [[200, "text/html", "<p>Maintenance</p>"], unavailable],
    [[200, JSON_TYPE, '{"access_token":'], unavailable],
    [[200, JSON_TYPE, JSON.stringify(answered)], unavailable],
    [[200, JSON_TYPE, JSON.stringify(tokens)], refused],
    [[400, JSON_TYPE, '{"error":"invalid_grant"}'], refused],
    [[404, JSON_TYPE, "{}"], refused],
  ] as const) {
    provider.token = token && [...token];
    assert.deepEqual(await finish({ code: "c", state }), expected, String(token));
  }
  assert.deepEqual(await finish({ error: "temporarily_unavailable", state }), unavailable);
  assert.deepEqual(await finish({ error: "access_denied", state }), refused);
});
