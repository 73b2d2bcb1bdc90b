// Users: creating, finding and erasing them as an administrator.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { createUser } from "../../../src/core/people/users.ts";
import { sharedApp, type TestApp, type TestUser } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { assertHas, refusals, row, scenarios } from "../../support/scenarios.ts";

const INVISIBLE = "\u200b;\u200b\u200d\u2060;\u2800;\u3164;\u00ad;\u200b\ufeff\u200b;\u{e0041}".split(";");
const NOBODY = "usr_00000000000000000000000000";
const open = sharedApp();
let scenes = 0;

const ZOE = { phone_number: "+1 555-0100", display_name: "Z", avatar_url: "https://example.com/z.png" };

/** Creates an administrator and two users, the newer one first. */
async function office(server: TestApp) {
  const number = ++scenes;
  const admin = await server.user({ scopes: SCOPES });
  const ask = asker(server, admin);
  const create = async (username: string) => String((await ask("POST", "/v1/users", { username })).body.id);
  const [older, newer] = [await create(`Straße ${number}`), await create(`b ${number}`)];
  const { headers } = await ask("GET", `/v1/users/${older}`);
  return { server, people: { admin }, ids: { number, older, newer, etag: headers.get("etag") } };
}

scenarios(open, office, [
  [
    "an admin creates a user with every field",
    "POST /v1/users",
    201,
    {
      body: { username: "Zoë <number>", ...ZOE },
      answer: { ...ZOE, username: "Zoë <number>", storage: { used: 0, quota: null }, last_active_at: null },
      answerHeaders: { location: /\/v1\/users\/usr_/ },
      async after({ server, people: { admin } }, { body }) {
        const ask = asker(server, admin);
        const shown = await ask("GET", `/v1/users/${body.id}`);
        assert.deepEqual(shown.body, { ...body, unread_conversations: 0, identities: [] });
        const { token } = (await ask("POST", "/v1/tokens", { user_id: body.id })).body;
        const me = asker(server, { ...admin, headers: { authorization: `Bearer ${token}` } })(
          "GET",
          "/v1/me",
        );
        const { last_active_at, accepts_everyone, message_limit, paused_at, ...account } = body;
        assert.deepEqual(
          [last_active_at, accepts_everyone, message_limit, paused_at],
          [null, false, null, null],
        );
        assertHas((await me).body, account);
      },
    },
  ],
  row("a form creates a user, and fields left out are null", "POST /v1/users", 201, {
    body: "username=form-<number>&display_name=",
    answer: { username: "form-<number>", phone_number: null, display_name: null, avatar_url: null },
  }),
  row("a username that is taken in another case is 409 with the id of that user", "POST /v1/users", 409, {
    body: { username: "STRAßE <number>" },
    answer: { code: "username_taken", param: "username", existing_id: "<older>" },
  }),
  row("a username that differs from another only by case folding is 409", "POST /v1/users", 409, {
    body: { username: "STRASSE <number>" },
    answer: { code: "username_taken", param: "username", existing_id: "<older>" },
  }),
  row("names compare by lower case, without folding", "GET /v1/users?username=strasse%20<number>", 200, {
    answer: { has_more: false, data: [] },
  }),
  row("a user is found by username in any case", "GET /v1/users?username=B%20<number>", 200, {
    answer: { has_more: false, data: [{ id: "<newer>" }] },
  }),
  row("an unknown username finds no user", "GET /v1/users?username=nobody", 200, {
    answer: { has_more: false, data: [] },
  }),
  row("users are listed newest first, with a link to the next page", "GET /v1/users?limit=2", 200, {
    answer: { has_more: true, data: [{ id: "<newer>" }, { id: "<older>" }] },
    answerHeaders: { link: /\/v1\/users\?limit=2&starting_after=usr_\w+>; rel="next"$/ },
  }),
  row("starting_after lists older users", "GET /v1/users?limit=1&starting_after=<newer>", 200, {
    answer: { data: [{ id: "<older>" }] },
  }),
  row("ending_before lists newer users", "GET /v1/users?ending_before=<older>", 200, {
    answer: { data: [{ id: "<newer>" }] },
  }),
  row("a cursor of another kind is 400 for users", "GET /v1/users?starting_after=con_x", 400),
  row("If-None-Match with the ETag of a user is 304", "GET /v1/users/<older>", 304, {
    headers: { "if-none-match": "<etag>" },
  }),
  [
    "If-Match with another ETag keeps the user",
    "DELETE /v1/users/<older>",
    412,
    {
      headers: { "if-match": '"9"' },
      async after({ server, people: { admin }, ids }) {
        assert.equal((await asker(server, admin)("GET", `/v1/users/${ids.older}`)).status, 200);
      },
    },
  ],
  row("If-Match of an unknown user is 404", `DELETE /v1/users/${NOBODY}`, 404, {
    headers: { "if-match": '"9"' },
  }),
  row("If-Match with the ETag erases the user", "DELETE /v1/users/<older>", 204, {
    headers: { "if-match": "<etag>" },
  }),
  ...["GET", "DELETE"].flatMap((method) =>
    [NOBODY, "7"].map((id) =>
      row(`${method} of the user ${id} is 404`, `${method} /v1/users/${id}`, 404, {
        answer: { code: "user_not_found" },
      }),
    ),
  ),
  ...refusals("POST /v1/users", 400, "missing_parameter", [[{}, "username"]]),
  ...refusals("POST /v1/users", 400, "invalid_parameter", [
    [{ username: " x" }, "username"],
    [{ username: "@ada" }, "username", /Leave out the "@"/],
    [{ username: NOBODY }, "username", /is the id of a user/],
    [{ username: "x", phone_number: "1" }, "phone_number"],
    [{ username: "x", display_name: 1 }, "display_name"],
    [{ username: "x", avatar_url: "javascript:1" }, "avatar_url"],
  ]),
  ...["POST /v1/users", "POST /v1/contacts"].flatMap((line) =>
    refusals(
      line,
      400,
      "invalid_parameter",
      INVISIBLE.map((username) => [
        { username, phone_number: "555" },
        "username",
        /at least one of them visible/,
      ]),
    ),
  ),
]);

test("an existing user with a name that is refused today is found by it", async () => {
  const server = await open();
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  for (const username of [...INVISIBLE, "@old", NOBODY]) {
    const { id } = await createUser(server.app.core, null, { username });
    const query = `username=${encodeURIComponent(username)}`;
    assertHas((await ask("GET", `/v1/users?${query}`)).body, { data: [{ id }] });
    assert.equal((await ask("GET", `/v1/contacts?${query}`)).status, 200);
  }
});

test("an erased user is refused at once, is gone, and leaves the username free", async () => {
  const server = await open();
  const ask = asker(server, await server.user({ scopes: SCOPES }));
  const create = () => ask("POST", "/v1/users", { username: "erased" });
  const { id } = (await create()).body as unknown as TestUser;
  const { token } = (await ask("POST", "/v1/tokens", { user_id: id })).body as unknown as TestUser;
  const theirs = asker(server, { id, token, headers: { authorization: `Bearer ${token}` } });
  assert.equal((await theirs("POST", "/v1/contacts", { username: "b", phone_number: "555" })).status, 201);
  assert.equal((await ask("DELETE", `/v1/users/${id}`)).status, 204);
  assert.equal((await theirs("GET", "/v1/me")).status, 401);
  for (const method of ["DELETE", "GET"]) assert.equal((await ask(method, `/v1/users/${id}`)).status, 404);
  assert.equal((await create()).status, 201);
});

onEachEngine(
  "a change at the same time as a delete with If-Match keeps the user or is 404",
  async (server) => {
    const ask = asker(server, await server.user({ scopes: SCOPES }));
    for (let i = 0; i < 20; i++) {
      const user = await server.user();
      const path = `/v1/users/${user.id}`;
      const etag = (await ask("GET", path)).headers.get("etag")!;
      const change = () => ask("PUT", path, { display_name: "changed" });
      const remove = () => ask("DELETE", path, undefined, { "if-match": etag });
      const first = i % 2 === 0;
      const answers = await Promise.all(first ? [change(), remove()] : [remove(), change()]);
      const [changed, removed] = first ? answers : answers.toReversed();
      const outcome = `${changed!.status} ${removed!.status}`;
      assert.ok(["200 412", "404 204"].includes(outcome), outcome);
      const theirs = await asker(server, user)("GET", "/v1/me");
      assert.equal(theirs.status, removed!.status === 412 ? 200 : 401, outcome);
      const { body } = await ask("GET", `/v1/audit?q=${user.id}&actions=token.revoked,user.deleted`);
      const actions = (body.data as { action: string }[]).map(({ action }) => action);
      assert.deepEqual(actions, removed!.status === 412 ? [] : ["user.deleted", "token.revoked"]);
    }
  },
);
