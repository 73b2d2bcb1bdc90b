// Usernames that nobody sees: refused wherever one is made, found where there is one already.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { createUser, getUserByName } from "../../src/core/people/users.ts";
import { startOn, testConfig } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { commandLine } from "../support/command.ts";
import { askWithJwt, makeKey, startProvider } from "../support/identity-provider.ts";

const INVISIBLE = [
  "\u200b",
  "\u200b\u200d\u2060",
  "\u2800",
  "\u3164",
  "\u00ad",
  "\u200b\ufeff\u200b",
  "\u{e0041}",
];
const WANTED = /at least one of them visible/;

test("users and contacts with an invisible name are refused, and those that exist are found", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  for (const username of INVISIBLE) {
    for (const path of ["/v1/users", "/v1/contacts"]) {
      const refused = await ask("POST", path, { username, phone_number: "555" });
      const { code, param, detail } = refused.body;
      const where = `${path} ${JSON.stringify(username)}`;
      assert.deepEqual([refused.status, code, param], [400, "invalid_parameter", "username"], where);
      assert.match(detail as string, WANTED);
    }
    // As an earlier version made them.
    const { id } = await createUser(server.app.core, null, { username });
    assert.equal((await getUserByName(server.app.core, username)).id, id);
    const found = await ask("GET", `/v1/users?username=${encodeURIComponent(username)}`);
    assert.deepEqual(
      (found.body.data as { id: string }[]).map((user) => user.id),
      [id],
    );
    assert.equal((await ask("GET", `/v1/contacts?username=${encodeURIComponent(username)}`)).status, 200);
  }
});

test("a signed token with an invisible preferred_username gets its sub as username, or none", async (t) => {
  const key = makeKey("ES256", "key");
  const provider = await startProvider(t, key);
  const server = await startOn(t, { ...(await testConfig(t)), jwt: provider.settings });
  for (const [index, name] of INVISIBLE.entries()) {
    const [status, me] = await askWithJwt(server.url, key, {
      sub: `subject-${index}`,
      preferred_username: name,
    });
    assert.deepEqual([status, me.username], [200, `subject-${index}`]);
    const [refused, problem] = await askWithJwt(server.url, key, { sub: name, preferred_username: name });
    assert.deepEqual([refused, problem.code], [401, "invalid_token"]);
    assert.match(problem.detail as string, WANTED);
  }
});

test("the command line makes no user with an invisible name", async (t) => {
  const command = await commandLine(t);
  const { code, stderr } = await command.run("user", "add", "\u200b");
  assert.notEqual(code, 0);
  assert.match(stderr, WANTED);
});
