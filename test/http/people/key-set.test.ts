import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { commandLine } from "../../support/command.ts";
import {
  AUDIENCE,
  ISSUER,
  makeKey,
  type SigningKey,
  signJwt,
  startProvider,
} from "../../support/identity-provider.ts";

test("an RSA key below 2048 bits is refused by its id, and logged once", async (t) => {
  const weak = (modulusLength: number, kid: string): SigningKey => ({
    ...{ kid, alg: "RS256" },
    ...generateKeyPairSync("rsa", { modulusLength }),
  });
  const [short, almost, strong] = [weak(1024, "short"), weak(2047, "almost"), makeKey("RS256", "strong")];
  const provider = await startProvider(t, short, almost, strong);
  const { issuer, audience, keySetUrl } = provider.settings;
  const command = await commandLine(t, {
    PARLEY_JWT_ISSUER: issuer,
    PARLEY_JWT_AUDIENCE: audience,
    PARLEY_JWT_JWKS_URL: keySetUrl,
  });
  const server = await command.serve();
  const exp = Math.floor(Date.now() / 1000) + 600;
  const ask = async (key: SigningKey) => {
    const token = signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub: "ada", exp });
    return fetch(`${command.url}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  };
  for (const key of [short, almost, short]) {
    const response = await ask(key);
    const { detail } = (await response.json()) as { detail: string };
    assert.equal(response.status, 401);
    assert.match(detail, new RegExp(`its key "${key.kid}" is an RSA key of less than 2048 bits`));
  }
  assert.equal((await ask(strong)).status, 200);
  const logged = server.stderr().match(/.*RSA keys of the identity provider.*/g)!;
  assert.equal(logged.length, 1);
  assert.deepEqual(JSON.parse(logged[0]!).kids, ["short", "almost"]);
});
