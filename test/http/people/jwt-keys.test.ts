// JWTs that a secret or a public key of the settings verifies.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { readConfig } from "../../../src/config/settings.ts";
import { forgedTokens, refuseForged } from "../../support/forged-tokens.ts";
import {
  makeKey,
  publicJwk,
  publicPem,
  type SigningKey,
  secretOf,
  signJwt,
  signText,
  startProvider,
} from "../../support/identity-provider.ts";
import { askMe, claims, JWT_CLAIMS, NOW, startWithJwt } from "../../support/jwt-server.ts";

const DAY = 24 * 3600;

test("issuer and audience are checked only if they are set", async (t) => {
  const [secret, own] = [makeKey("HS256", "secret"), makeKey("ES256", "own")];
  const env = { PARLEY_JWT_SECRET: secretOf(secret), PARLEY_JWT_PUBLIC_KEY: publicPem(own) };
  const server = await startWithJwt(t, env);
  const { id } = await askMe(server, signJwt(secret, claims()));
  for (const more of [
    { iss: undefined, aud: undefined },
    { iss: "another", aud: ["x"] },
  ])
    for (const key of [secret, own]) assert.equal((await askMe(server, signJwt(key, claims(more)))).id, id);
});

test("a token of HS256 expires within 30 days, and others when the provider says", async (t) => {
  const [secret, own] = [makeKey("HS256", "secret"), makeKey("EdDSA", "own")];
  const server = await startWithJwt(t, {
    PARLEY_JWT_SECRET: secretOf(secret),
    PARLEY_JWT_PUBLIC_KEY: publicPem(own),
  });
  const latest = NOW + 30 * DAY + 60;
  assert.equal((await askMe(server, signJwt(secret, claims({ exp: latest })))).status, 200);
  for (const exp of [latest + 1, latest + 0.5, NOW + 3650 * DAY, Number.MAX_VALUE]) {
    const { status, detail } = await askMe(server, signJwt(secret, claims({ exp })));
    assert.deepEqual([status, detail.includes("it expires in more than 30 days")], [401, true], `${exp}`);
    assert.equal((await askMe(server, signJwt(own, claims({ exp })))).status, 200);
  }
  // JSON.stringify writes no such number.
  const parts = [{ alg: "HS256" }, claims()].map((part) =>
    JSON.stringify(part).replace(/"exp":\d+/, '"exp":1e999'),
  );
  const text = parts.map((part) => Buffer.from(part).toString("base64url")).join(".");
  assert.equal((await askMe(server, signText(secret, text))).status, 401);
});

test("an expiry with a fraction of a second is accepted, and ends the token", async (t) => {
  const secret = makeKey("HS256", "secret");
  const server = await startWithJwt(t, { PARLEY_JWT_SECRET: secretOf(secret) });
  const token = signJwt(secret, claims({ exp: NOW + 0.5 }));
  assert.equal((await askMe(server, token)).status, 200);
  server.clock.now += 60_499;
  assert.equal((await askMe(server, token)).status, 200);
  server.clock.now += 1;
  assert.equal((await askMe(server, token)).status, 401);
});

test("secrets are rotated: each of several verifies, and a removed one no longer", async (t) => {
  const [old, next, gone] = [makeKey("HS256", "a"), makeKey("HS256", "b"), makeKey("HS256", "c")];
  const server = await startWithJwt(t, { PARLEY_JWT_SECRET: ` ${secretOf(next)} , ${secretOf(old)}` });
  const { id } = await askMe(server, signJwt(old, claims()));
  assert.equal((await askMe(server, signJwt(next, claims()))).id, id);
  assert.equal((await askMe(server, signJwt(gone, claims()))).status, 401);
});

test("secret, public key and key set work side by side, and each only with its algorithm", async (t) => {
  const [secret, own, ofSet] = [makeKey("HS256", "s"), makeKey("RS256", "set"), makeKey("RS256", "set")];
  const provider = await startProvider(t, ofSet);
  const env = {
    ...{ PARLEY_JWT_SECRET: secretOf(secret), PARLEY_JWT_PUBLIC_KEY: publicPem(own) },
    ...{ PARLEY_JWT_JWKS_URL: provider.settings.keySetUrl, ...JWT_CLAIMS },
  };
  const server = await startWithJwt(t, env);
  await refuseForged(server, forgedTokens(own, claims, NOW));
  const { id } = await askMe(server, signJwt(secret, claims()));
  for (const key of [own, ofSet]) assert.equal((await askMe(server, signJwt(key, claims()))).id, id);
  const { detail } = await askMe(server, signJwt(own, claims(), { alg: "none" }));
  assert.match(detail, /one of HS256, RS256, ES256, EdDSA/);
});

test("tokens of own keys need no key set: neither fetched nor missed when it expires", async (t) => {
  const [secret, ofSet] = [makeKey("HS256", "s"), makeKey("ES256", "set")];
  const provider = await startProvider(t, ofSet);
  const env = { PARLEY_JWT_SECRET: secretOf(secret), PARLEY_JWT_JWKS_URL: provider.settings.keySetUrl };
  const server = await startWithJwt(t, { ...env, ...JWT_CLAIMS });
  await provider.close();
  const exp = NOW + 3 * DAY;
  const token = signJwt(secret, claims({ exp }));
  for (const days of [0, 2]) {
    server.clock.now = (NOW + days * DAY) * 1000;
    assert.equal((await askMe(server, token)).status, 200);
    assert.equal((await askMe(server, signJwt(secret, claims({ exp, jti: `${days}` })))).status, 200);
  }
  assert.equal(provider.asked, 0);
  assert.equal((await askMe(server, signJwt(ofSet, claims({ exp })))).status, 503);
});

test("keys that are weak, private or of other curves are refused at the start", () => {
  const pem = (key: SigningKey["publicKey"]) => key.export({ type: "spki", format: "pem" }).toString();
  const ec = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve }).publicKey;
  const rsa = makeKey("RS256", "rsa");
  const privatePem = rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const jwk = publicJwk(rsa);
  const texts = [
    pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey),
    pem(generateKeyPairSync("rsa", { modulusLength: 2047 }).publicKey),
    pem(generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey),
    ...["P-384", "P-521", "secp256k1"].map((curve) => pem(ec(curve))),
    pem(generateKeyPairSync("ed448").publicKey),
    pem(generateKeyPairSync("x25519").publicKey),
    privatePem,
    publicPem(rsa).slice(0, -60),
    ...[
      rsa.privateKey.export({ format: "jwk" }),
      { ...jwk, alg: "ES256" },
      { ...jwk, use: "enc" },
      { keys: [jwk] },
      {},
    ].map((each) => JSON.stringify(each)),
    ...[ec("P-384").export({ format: "jwk" }), { kty: "oct", k: "A".repeat(43) }].map((each) =>
      JSON.stringify(each),
    ),
    ...["secret", "{", '{"kty":"RSA"}', "-----BEGIN PUBLIC KEY-----"],
  ];
  for (const text of texts) {
    assert.throws(
      () => readConfig({ PARLEY_JWT_PUBLIC_KEY: text }),
      /^Error: PARLEY_JWT_PUBLIC_KEY must be a public key as PEM or JWK: RSA of at least 2048 bits/,
      text.slice(0, 80),
    );
  }
  const ofFile = readConfig({ PARLEY_JWT_PUBLIC_KEY: publicPem(rsa).replaceAll("\n", "\\n") }).jwt?.publicKey;
  assert.deepEqual([ofFile?.algorithm, ofFile?.key.equals(rsa.publicKey)], ["RS256", true]);
});

test("secrets that are short or a PEM are refused at the start, and the error says how to create one", () => {
  const long = "s".repeat(32);
  for (const text of [
    "s".repeat(31),
    `${long},${"s".repeat(31)}`,
    `${long},`,
    ",",
    publicPem(makeKey("ES256", "a")),
  ]) {
    assert.throws(
      () => readConfig({ PARLEY_JWT_SECRET: text }),
      /PARLEY_JWT_SECRET must be .* at least 32 bytes.* create one: openssl rand -base64 33\.$/,
    );
  }
  assert.deepEqual(readConfig({ PARLEY_JWT_SECRET: `é${"s".repeat(30)}` }).jwt?.secrets.length, 1);
});
