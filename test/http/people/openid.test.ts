// What the server asks of an OpenID provider before a browser leaves for it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { startOn, testConfig } from "../../support/app.ts";

/** Starts a server, and a provider that names these scopes. While `isDown` it answers with an error. */
async function scene(t: TestContext, scopes: readonly string[] | undefined) {
  const provider = { asked: 0, isDown: false };
  const http = createServer((_, response) => {
    provider.asked++;
    response.statusCode = provider.isDown ? 503 : 200;
    response.setHeader("content-type", "application/json");
    const metadata = { issuer, authorization_endpoint: `${issuer}/authorize`, scopes_supported: scopes };
    response.end(JSON.stringify(metadata));
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => http.close());
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const openId = { issuer, clientId: "parley", clientSecret: null };
  const server = await startOn(t, { ...(await testConfig(t)), openId });
  const begin = () =>
    fetch(`${server.url}/sign-in`, { method: "POST", headers: { "parley-session": "a".repeat(64) } });
  return { provider, begin };
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
