// Whose JWT it is: users made in advance, linked by an admin, or linked by their names.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { JwtSettings } from "../../../src/config/jwt-settings.ts";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import type { TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { listen } from "../../support/event-stream.ts";
import { AUDIENCE, ISSUER, makeKey, ownSettings, signJwt } from "../../support/identity-provider.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";

const key = makeKey("HS256", "a");
const OTHER = "https://other.example";

const sign = (claims: object) =>
  signJwt(key, { iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 3600, ...claims });

/** Returns a function that sends requests with this token. */
const withToken = (server: TestApp, token: string) =>
  asker(server, { id: "", token, headers: { authorization: `Bearer ${token}` } });

const signIn = (server: TestApp, claims: object) => withToken(server, sign(claims))("GET", "/v1/me");

interface Scene {
  server: TestApp;
  t: TestContext;
  /** Sends requests as an administrator. */
  admin: ReturnType<typeof asker>;
  /** Creates a user with these fields and returns the id. */
  create(fields: object): Promise<string>;
  identitiesOf(id: string): Promise<unknown>;
}

/** Runs a test on each engine. */
function onEach(
  name: string,
  run: (scene: Scene) => Promise<void>,
  settings: Partial<JwtSettings> = {},
): void {
  for (const engine of ENGINES)
    test(`${name} (${engine})`, async (t) => {
      const server = await startOnEngine(t, engine, {}, {}, { jwt: ownSettings(key, settings) });
      const admin = asker(server, await server.user({ scopes: SCOPES }));
      const create = async (fields: object) => String((await admin("POST", "/v1/users", fields)).body.id);
      const identitiesOf = async (id: string) => (await admin("GET", `/v1/users/${id}`)).body.identities;
      await run({ server, t, admin, create, identitiesOf });
    });
}

onEach("the first JWT of a user who was created with its subject finds the user", async (scene) => {
  const { server, create, identitiesOf, admin } = scene;
  const ada = await create({ username: "ada", subject: "42" });
  const { status, body } = await signIn(server, { sub: "42", preferred_username: "another" });
  assert.deepEqual([status, body.id, body.username], [200, ada, "ada"]);
  assert.deepEqual(await identitiesOf(ada), [{ issuer: ISSUER, subject: "42" }]);
  const { data } = (await admin("GET", `/v1/audit?object_id=${ada}`)).body as { data: Json[] };
  assert.deepEqual(
    data.map(({ action, details }) => [action, details]),
    [
      ["user.linked", { issuer: ISSUER, subject: "42" }],
      ["user.created", { username: "ada" }],
    ],
  );
});

onEach("a user of another issuer is not found by its subject", async ({ server, create, identitiesOf }) => {
  const ada = await create({ username: "ada", issuer: OTHER, subject: "42" });
  const { body } = await signIn(server, { sub: "42", preferred_username: "bob" });
  assert.notEqual(body.id, ada);
  assert.deepEqual(await identitiesOf(ada), [{ issuer: OTHER, subject: "42" }]);
});

onEach(
  "an identity that another user has is 409 identity_taken with the id, and creates nothing",
  async (scene) => {
    const { admin, create, identitiesOf } = scene;
    const ada = await create({ username: "ada", subject: "42" });
    const bob = await create({ username: "bob" });
    const taken = { status: 409, code: "identity_taken", param: "subject", existing_id: ada };
    for (const [method, path, fields] of [
      ["POST", "/v1/users", { username: "grace", subject: "42" }],
      ["PUT", `/v1/users/${bob}`, { subject: "42" }],
      ["PUT", `/v1/users/${bob}`, { subject: "42", issuer: ISSUER }],
    ] as const) {
      const { body } = await admin(method, path, fields);
      const { status, code, param, existing_id } = body;
      assert.deepEqual({ status, code, param, existing_id }, taken, `${method} ${JSON.stringify(fields)}`);
    }
    assert.deepEqual((await admin("GET", "/v1/users?username=grace")).body.data, []);
    assert.deepEqual(await identitiesOf(bob), []);
  },
);

onEach("an admin links an existing user, whose JWT is 409 before", async (scene) => {
  const { server, admin, create, identitiesOf } = scene;
  const ada = await create({ username: "ada" });
  const claims = { sub: "42", preferred_username: "Ada" };
  const before = await signIn(server, claims);
  assert.deepEqual([before.status, before.body.code], [409, "username_taken"]);
  assert.match(String(before.body.detail), /PUT \/v1\/users\/\{user_id\}/);
  for (const subject of ["42", "42", "7"]) {
    const linked = await admin("PUT", `/v1/users/${ada}`, { subject });
    assert.deepEqual([linked.status, linked.body.id], [200, ada]);
  }
  for (const sub of ["42", "7"]) assert.equal((await signIn(server, { ...claims, sub })).body.id, ada);
  assert.deepEqual(await identitiesOf(ada), [
    { issuer: ISSUER, subject: "42" },
    { issuer: ISSUER, subject: "7" },
  ]);
  const { data } = (await admin("GET", `/v1/audit?object_id=${ada}&actions=user.linked`)).body as {
    data: Json[];
  };
  assert.deepEqual(
    data.map(({ details }) => details),
    [
      { issuer: ISSUER, subject: "7" },
      { issuer: ISSUER, subject: "42" },
    ],
  );
});

onEach("subject null removes all identities, and ends their tokens and streams at once", async (scene) => {
  const { server, t, admin, create, identitiesOf } = scene;
  const ada = await create({ username: "ada", subject: "42" });
  await admin("PUT", `/v1/users/${ada}`, { subject: "42", issuer: OTHER });
  const token = sign({ sub: "42", preferred_username: "ada" });
  const asAda = withToken(server, token);
  assert.equal((await asAda("GET", "/v1/me")).body.id, ada);
  const stream = await listen(t, server, { headers: { authorization: `Bearer ${token}` } });
  const path = `/v1/users/${ada}`;
  assert.deepEqual((await admin("PUT", path, { subject: null, issuer: ISSUER })).body.param, "issuer");
  assert.equal((await asAda("GET", "/v1/me")).status, 200);
  for (let times = 0; times < 2; times++)
    assert.equal((await admin("PUT", path, { subject: null })).status, 200);
  assert.deepEqual(await identitiesOf(ada), []);
  assert.equal((await asAda("GET", "/v1/me")).status, 409);
  await stream.ended;
  const { data } = (await admin("GET", `/v1/audit?object_id=${ada}&actions=user.unlinked`)).body as {
    data: Json[];
  };
  assert.deepEqual(
    data.map(({ details }) => details),
    [{ subjects: ["42", "42"] }],
  );
  // The identity is free for another user.
  const bob = await create({ username: "bob", subject: "42" });
  assert.equal((await asAda("GET", "/v1/me")).body.id, bob);
});

onEach("malformed identities are 400, an unknown user 404, and tokens without admin 403", async (scene) => {
  const { server, admin, create } = scene;
  const ada = await create({ username: "ada" });
  const paths = [
    ["POST", "/v1/users"],
    ["PUT", `/v1/users/${ada}`],
  ] as const;
  for (const [method, path] of paths) {
    const name = method === "POST" ? { username: "grace" } : {};
    for (const [fields, param] of [
      [{ issuer: ISSUER }, "issuer"],
      [{ subject: "" }, "subject"],
      [{ subject: "x".repeat(256) }, "subject"],
      [{ subject: 42 }, "subject"],
      [{ subject: "a\nb" }, "subject"],
      [{ subject: "a", issuer: 1 }, "issuer"],
      [{ subject: "a", issuer: "x".repeat(256) }, "issuer"],
    ] as const) {
      const { status, body } = await admin(method, path, { ...name, ...fields });
      assert.deepEqual(
        [status, body.code, body.param],
        [400, "invalid_parameter", param],
        JSON.stringify(fields),
      );
    }
  }
  const { status, body } = await admin("PUT", "/v1/users/usr_00000000000000000000000000", { subject: "a" });
  assert.deepEqual([status, body.code], [404, "user_not_found"]);
  const other = asker(server, await server.user());
  for (const [method, path] of paths) assert.equal((await other(method, path, { subject: "a" })).status, 403);
  assert.equal((await admin("PUT", `/v1/users/${ada}`, {})).status, 200);
});

onEach("a user has 20 identities at most", async ({ admin, create, identitiesOf }) => {
  const ada = await create({ username: "ada" });
  for (let n = 0; n < 20; n++) await admin("PUT", `/v1/users/${ada}`, { subject: `${n}` });
  const { status, body } = await admin("PUT", `/v1/users/${ada}`, { subject: "more" });
  assert.deepEqual([status, body.code], [409, "count_limit_reached"]);
  assert.equal(((await identitiesOf(ada)) as unknown[]).length, 20);
});

onEach("of 10 requests at once that link one identity to different users one succeeds", async (scene) => {
  const { admin, create } = scene;
  const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => create({ username: `user ${n}` })));
  const answers = await Promise.all(ids.map((id) => admin("PUT", `/v1/users/${id}`, { subject: "42" })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)]);
  const { id } = answers.find(({ status }) => status === 200)!.body;
  for (const { body, status } of answers) if (status === 409) assert.equal(body.existing_id, id);
});

onEach("a retry of a creation with a subject returns the first user", async ({ admin, identitiesOf }) => {
  const create = () =>
    admin("POST", "/v1/users", { username: "ada", subject: "42" }, { "idempotency-key": "k" });
  const [first, second] = [await create(), await create()];
  assert.deepEqual([first.status, second.status, second.body], [201, 201, first.body]);
  assert.deepEqual(await identitiesOf(String(first.body.id)), [{ issuer: ISSUER, subject: "42" }]);
});

onEach(
  "with PARLEY_JWT_LINK_USERNAMES the first JWT links the user of its name, if that user has no identity",
  async ({ server, admin, create, identitiesOf }) => {
    const ada = await create({ username: "Ada" });
    const claims = { sub: "42", preferred_username: "ADA", name: "Ada L." };
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, jti) => signIn(server, { ...claims, jti: `${jti}` })),
    );
    for (const { status, body } of answers) assert.deepEqual([status, body.id], [200, ada]);
    assert.deepEqual(await identitiesOf(ada), [{ issuer: ISSUER, subject: "42" }]);
    assert.equal((await signIn(server, claims)).body.display_name, "Ada L.");
    // Another subject of the same name is somebody else.
    const other = await signIn(server, { ...claims, sub: "7" });
    assert.deepEqual([other.status, other.body.code], [409, "username_taken"]);
    const { data } = (await admin("GET", `/v1/audit?object_id=${ada}&actions=user.linked`)).body as {
      data: Json[];
    };
    assert.deepEqual(
      data.map(({ actor_id, details }) => [actor_id, details]),
      [[ada, { issuer: ISSUER, subject: "42" }]],
    );
    assert.equal((await signIn(server, { sub: "9", preferred_username: "grace" })).body.username, "grace");
  },
  { linksUsernames: true },
);

onEach(
  "without PARLEY_JWT_ISSUER the issuer of an identity is empty",
  async ({ server, create, identitiesOf }) => {
    const ada = await create({ username: "ada", subject: "42" });
    const bob = await create({ username: "bob", subject: "42", issuer: OTHER });
    assert.equal((await signIn(server, { sub: "42", iss: OTHER })).body.id, ada);
    assert.deepEqual(await identitiesOf(ada), [{ issuer: "", subject: "42" }]);
    assert.deepEqual(await identitiesOf(bob), [{ issuer: OTHER, subject: "42" }]);
  },
  { issuer: null, audience: null },
);
