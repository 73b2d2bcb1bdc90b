// Signs tokens in a back end, and sends them with the client.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { createToken } from "../../packages/parley-client/src/server.ts";
import { readConfig } from "../../src/config/settings.ts";
import { startOn, testConfig } from "../support/app.ts";
import { onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

const SECRET = "grüne Äpfel mit mehr als 32 Bytes";
const OWN = { issuer: "https://shop.example", audience: "parley" };
const { jwt } = readConfig({
  ...{ PARLEY_JWT_SECRET: `${"x".repeat(32)},${SECRET}` },
  ...{ PARLEY_JWT_ISSUER: OWN.issuer, PARLEY_JWT_AUDIENCE: OWN.audience },
});

onEngines("a token of createToken signs in its user with name, picture and scopes", async (t, config) => {
  const { url } = await startOn(t, { ...config, jwt });
  const picture = "https://shop.example/阿达.png";
  const claims = { sub: "Ada 😀", name: "Ada Łovelace", picture, scopes: ["contacts:read"], ...OWN };
  const parley = new Parley({ url, token: () => createToken(SECRET, claims) });
  const { username, display_name, avatar_url, scopes, token_id } = await parley.me();
  assert.deepEqual(
    [username, display_name, avatar_url, scopes, token_id],
    ["Ada 😀", "Ada Łovelace", picture, ["contacts:read"], null],
  );
  assert.equal((await failure(parley.attachments.list())).code, "insufficient_scope");
  const { data } = await new Parley({
    url,
    token: await createToken(SECRET, { sub: "Ada 😀", ...OWN }),
  }).attachments.list();
  assert.deepEqual(data, []);
});

test("a token of createToken is refused with another secret, issuer or audience", async (t) => {
  const { url } = await startOn(t, { ...(await testConfig(t)), jwt });
  const good = { sub: "ada", ...OWN };
  const bad = [
    createToken("y".repeat(32), good),
    createToken(SECRET, { sub: "ada" }),
    createToken(SECRET, { ...good, issuer: "https://other.example" }),
    createToken(SECRET, { ...good, audience: "other" }),
  ];
  for (const token of bad)
    assert.equal((await failure(new Parley({ url, token: await token }).me())).code, "invalid_token");
  assert.equal((await new Parley({ url, token: await createToken(SECRET, good) }).me()).username, "ada");
});

test("createToken throws for what the server would refuse", async () => {
  const good = { sub: "ada" };
  const bad: [unknown, object][] = [
    ...[undefined, "", "x".repeat(31), `${"x".repeat(32)},${SECRET}`].map((secret): [unknown, object] => [
      secret,
      good,
    ]),
    ...[undefined, "", 42, "x".repeat(256), "a\nb", "\ud800"].map((sub): [unknown, object] => [
      SECRET,
      { sub },
    ]),
    ...[0, -61, 1.5, Number.NaN, "1h", 31 * 24 * 3600].map((expiresIn): [unknown, object] => [
      SECRET,
      { ...good, expiresIn },
    ]),
  ];
  for (const [secret, claims] of bad)
    await assert.rejects(createToken(secret as string, claims as never), TypeError, JSON.stringify(claims));
});

onEngines("a token of createToken names a new user, and gives a phone number", async (t, config) => {
  const { url } = await startOn(t, { ...config, jwt });
  const claims = { sub: "👋".repeat(255), preferred_username: "ada", phone_number: "+15550100", ...OWN };
  const { username, phone_number } = await new Parley({ url, token: await createToken(SECRET, claims) }).me();
  assert.deepEqual([username, phone_number], ["ada", "+15550100"]);
});

test("a token of createToken is signed like the library of any language signs it, for an hour", async () => {
  const token = await createToken(SECRET, { sub: "ada" });
  const [header, payload, signature] = token.split(".");
  const expected = createHmac("sha256", SECRET).update(`${header}.${payload}`).digest("base64url");
  assert.equal(signature, expected);
  const { iat, ...claims } = JSON.parse(Buffer.from(payload!, "base64url").toString());
  assert.deepEqual(claims, { sub: "ada", exp: iat + 3600 });
});
