// The names, pictures and phone numbers that users take from their JWTs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import type { TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { AUDIENCE, ISSUER, makeKey, ownSettings, signJwt } from "../../support/identity-provider.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";

const key = makeKey("HS256", "a");
let tokens = 0;

/** Returns a new token of this user, which no cache has. */
const sign = (claims: object) =>
  signJwt(key, {
    ...{ iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 3600, jti: `${++tokens}` },
    ...{ sub: "42", preferred_username: "ada", ...claims },
  });

async function meWith({ url }: TestApp, token: string): Promise<Json> {
  const { status, body } = await asker(
    { url },
    { id: "", token, headers: { authorization: `Bearer ${token}` } },
  )("GET", "/v1/me");
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function profile(server: TestApp, claims: object): Promise<unknown[]> {
  const { display_name, avatar_url, phone_number } = await meWith(server, sign(claims));
  return [display_name, avatar_url, phone_number];
}

/** Returns the version of the user, and how many changes wait to be announced. */
async function changes({ app }: TestApp): Promise<unknown[]> {
  const waiting = sql`SELECT COUNT(*) FROM profile_changes`;
  return (
    await app.core.db.allValues<[number, number]>(
      sql`SELECT version, (${waiting}) FROM users WHERE username = 'ada'`,
    )
  )[0]!;
}

const CLAIMS = { name: "Ada L.", picture: "https://example.com/ada.png", phone_number: "+15550100" };
const SHOWN = ["Ada L.", "https://example.com/ada.png", "+15550100"];

for (const engine of ENGINES) {
  const start = (t: Parameters<typeof startOnEngine>[0]) =>
    startOnEngine(t, engine, {}, {}, { jwt: ownSettings(key) });

  test(`a user created by a JWT has its name, picture and phone number (${engine})`, async (t) => {
    const server = await start(t);
    assert.deepEqual(await profile(server, CLAIMS), SHOWN);
    assert.deepEqual(await changes(server), [1, 0]);
  });

  test(`claims that differ change the profile once, and missing or invalid ones leave it (${engine})`, async (t) => {
    const server = await start(t);
    assert.deepEqual(await profile(server, {}), [null, null, null]);
    assert.deepEqual(await profile(server, CLAIMS), SHOWN);
    assert.equal((await changes(server))[0], 2);
    const odd = [undefined, null, "", 7, {}, ["x"], "a\nb", "x".repeat(3000)];
    for (const value of odd) {
      const claims = { name: value, picture: value, phone_number: value };
      assert.deepEqual(await profile(server, claims), SHOWN, JSON.stringify(value));
    }
    for (const picture of ["javascript:alert(1)", "data:image/png,x", "/ada.png", "ftp://example.com/a"])
      assert.deepEqual(await profile(server, { picture }), SHOWN, picture);
    assert.deepEqual(await profile(server, { phone_number: "x" }), SHOWN);
    assert.equal((await changes(server))[0], 2);
    assert.deepEqual(await profile(server, { ...CLAIMS, name: "Ada" }), ["Ada", ...SHOWN.slice(1)]);
    assert.equal((await changes(server))[0], 3);
  });

  test(`claims leave the fields alone that the user or an admin has set, also to null (${engine})`, async (t) => {
    const server = await start(t);
    const admin = asker(server, await server.user({ scopes: SCOPES }));
    const { body } = await admin("POST", "/v1/users", {
      username: "ada",
      subject: "42",
      phone_number: "555",
    });
    assert.deepEqual(await profile(server, CLAIMS), [...SHOWN.slice(0, 2), "555"]);
    const token = sign(CLAIMS);
    const ada = asker(server, { id: "", token, headers: { authorization: `Bearer ${token}` } });
    assert.equal((await ada("PUT", "/v1/me", { display_name: "Mine" })).status, 200);
    assert.equal((await admin("PUT", `/v1/users/${body.id}`, { phone_number: null })).status, 200);
    const picture = "https://example.com/2.png";
    assert.deepEqual(await profile(server, { ...CLAIMS, name: "Theirs", picture }), ["Mine", picture, null]);
    const { data } = (await admin("GET", "/v1/audit?actions=user.updated")).body as { data: Json[] };
    assert.deepEqual(
      data.map(({ actor_id, token_id, details }) => [actor_id === body.id, token_id, details]).slice(0, 1),
      [[true, null, { fields: ["avatar_url"] }]],
    );
  });

  test(`claims fill the fields that a new user has null (${engine})`, async (t) => {
    const server = await start(t);
    const admin = asker(server, await server.user({ scopes: SCOPES }));
    const empty = { display_name: null, avatar_url: null, phone_number: null };
    const { status } = await admin("POST", "/v1/users", { username: "ada", subject: "42", ...empty });
    assert.equal(status, 201);
    assert.deepEqual(await profile(server, CLAIMS), SHOWN);
  });

  test(`20 tokens at once with a new name change the profile once (${engine})`, async (t) => {
    const server = await start(t);
    await profile(server, {});
    await Promise.all(Array.from({ length: 20 }, () => profile(server, CLAIMS)));
    assert.equal((await changes(server))[0], 2);
  });

  test(`a token that is already known does not change the profile again (${engine})`, async (t) => {
    const server = await start(t);
    const old = sign({ name: "Old" });
    await meWith(server, old);
    await profile(server, { name: "New" });
    assert.equal((await meWith(server, old)).display_name, "New");
    assert.equal((await changes(server))[0], 2);
  });
}
