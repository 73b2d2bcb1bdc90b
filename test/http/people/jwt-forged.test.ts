// Forged tokens on each kind of key of the settings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { forgedTokens, refuseForged } from "../../support/forged-tokens.ts";
import {
  type Algorithm,
  makeKey,
  publicJwk,
  publicPem,
  type SigningKey,
  secretOf,
  signJwt,
} from "../../support/identity-provider.ts";
import { askMe, claims, JWT_CLAIMS, NOW, startWithJwt } from "../../support/jwt-server.ts";

const KINDS: [kind: string, algorithm: Algorithm, (key: SigningKey) => Record<string, string>][] = [
  ["a secret", "HS256", (key) => ({ PARLEY_JWT_SECRET: secretOf(key) })],
  ...(["RS256", "ES256", "EdDSA"] as const).flatMap((algorithm): typeof KINDS => [
    ["a PEM", algorithm, (key) => ({ PARLEY_JWT_PUBLIC_KEY: publicPem(key) })],
    ["a JWK", algorithm, (key) => ({ PARLEY_JWT_PUBLIC_KEY: JSON.stringify(publicJwk(key)) })],
  ]),
];

for (const [kind, algorithm, settings] of KINDS) {
  const key = makeKey(algorithm, "the key");

  test(`${kind} accepts tokens of ${algorithm} and refuses forged ones`, async (t) => {
    const server = await startWithJwt(t, { ...settings(key), ...JWT_CLAIMS });
    await refuseForged(server, forgedTokens(key, claims, NOW));
    const { id, status } = await askMe(server, signJwt(key, claims()));
    assert.equal(status, 200);
    for (const header of [{ kid: undefined }, { kid: "../../etc/passwd" }, { typ: "at+jwt" }, { jwk: {} }])
      assert.equal((await askMe(server, signJwt(key, claims(), header))).id, id, JSON.stringify(header));
  });
}
