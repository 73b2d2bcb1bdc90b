// The identities of users, for a token with the scope admin: whose signed tokens sign in as them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, fresh, json, problem } from "../client.ts";

interface User {
  id: string;
  identities?: { issuer: string; subject: string }[];
}

test("an identity belongs to one user, at the creation or later, and is removed by subject null", async (t) => {
  if ((await call("GET", "/v1/users?limit=1")).status === 403)
    return t.skip("a token without the scope admin cannot manage users");
  const issuer = "https://login.example.com";
  const [subject, other] = [fresh("subject"), fresh("other")];
  const create = (fields: object) => call("POST", "/v1/users", json({ username: fresh("user"), ...fields }));
  const ada = (await create({ issuer, subject })).json as User;
  const bob = (await create({})).json as User;
  t.after(() => Promise.all([ada, bob].map(({ id }) => call("DELETE", `/v1/users/${id}`))));
  const path = `/v1/users/${bob.id}`;
  assert.equal(problem(await create({ issuer, subject }), 409, "identity_taken").existing_id, ada.id);
  assert.equal(problem(await call("PUT", path, json({ issuer, subject })), 409).existing_id, ada.id);
  const linked = (await call("PUT", path, json({ issuer, subject: other }))).json as User;
  assert.deepEqual(linked.identities, [{ issuer, subject: other }]);
  assert.deepEqual(((await call("PUT", path, json({ subject: null }))).json as User).identities, []);
  assert.equal(problem(await call("PUT", path, json({ issuer })), 400, "invalid_parameter").param, "issuer");
});
