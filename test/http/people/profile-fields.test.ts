// Profiles: what users and admins set, and who may read it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { sharedApp, type TestApp } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { refusals, row, scenarios } from "../../support/scenarios.ts";

const open = sharedApp();
const FULL = {
  display_name: "Ada",
  avatar_url: "https://example.com/a.png",
  phone_number: "+15550100",
  data: { plan: "pro" },
};
const EMPTY = { display_name: null, avatar_url: null, phone_number: null, data: null };
const NOBODY = "/v1/users/usr_00000000000000000000000000";

async function scene(server: TestApp) {
  const [user, admin] = [
    await server.user({ scopes: ["contacts:read"] }),
    await server.user({ scopes: SCOPES }),
  ];
  const ask = asker(server, user);
  await ask("PUT", "/v1/me", FULL);
  const etag = (await ask("GET", "/v1/me")).headers.get("etag");
  const tagOf = (await asker(server, admin)("GET", `/v1/users/${user.id}`)).headers.get("etag");
  const account = async () => (await asker(server, admin)("GET", `/v1/users/${user.id}`)).body;
  return { server, people: { user, admin }, ids: { user: user.id, etag, tagOf }, account };
}

/** Returns a row that changes what others see. */
const seen = ([name, line, status, details]: ReturnType<typeof row>) =>
  [name, line, status, { ...details, events: { user: "user.updated" } }] as const;

scenarios<"user" | "admin", Awaited<ReturnType<typeof scene>>>(open, scene, [
  [
    "any token sets each profile field of its user",
    "PUT /v1/me",
    200,
    {
      events: { user: "user.updated" },
      body: { ...FULL, display_name: "Ada L." },
      answer: { ...FULL, display_name: "Ada L.", kind: "person" },
    },
  ],
  [
    "null clears each field",
    "PUT /v1/me",
    200,
    {
      events: { user: "user.updated" },
      body: EMPTY,
      answer: EMPTY,
      async after({ account }) {
        const { display_name, avatar_url, phone_number, data } = await account();
        assert.deepEqual({ display_name, avatar_url, phone_number, data }, EMPTY);
      },
    },
  ],
  seen(
    row("fields that are left out stay", "PUT /v1/me", 200, {
      body: { display_name: "B" },
      answer: { ...FULL, display_name: "B" },
    }),
  ),
  seen(
    row("a form sets fields, data as JSON text", "PUT /v1/me", 200, {
      body: "display_name=Form&data=%7B%22a%22%3A1%7D",
      answer: { ...FULL, display_name: "Form", data: { a: 1 } },
    }),
  ),
  seen(
    row("a name of 100 characters is accepted", "PUT /v1/me", 200, {
      body: { display_name: "😀".repeat(100) },
    }),
  ),
  row("an update without fields changes nothing", "PUT /v1/me", 200, {
    body: {},
    answer: FULL,
    answerHeaders: { etag: "<etag>" },
  }),
  row("an update to the same values keeps the version", "PUT /v1/me", 200, {
    body: FULL,
    answerHeaders: { etag: "<etag>" },
  }),
  row("If-None-Match with the ETag of the caller is 304", "GET /v1/me", 304, {
    headers: { "if-none-match": "<etag>" },
  }),
  seen(
    row("If-Match with the ETag updates the caller", "PUT /v1/me", 200, {
      headers: { "if-match": "<etag>" },
      body: EMPTY,
    }),
  ),
  [
    "If-Match with another version changes nothing",
    "PUT /v1/me",
    412,
    {
      headers: { "if-match": '"99"' },
      body: EMPTY,
      answer: { code: "precondition_failed" },
      after: async ({ account }) => assert.equal((await account()).display_name, "Ada"),
    },
  ],
  [
    "If-Match of a delete accepts only the current version",
    "DELETE /v1/users/<user>",
    412,
    { as: "admin", headers: { "if-match": '"1"' } },
  ],
  [
    "an admin updates a user",
    "PUT /v1/users/<user>",
    200,
    { events: { user: "user.updated" }, as: "admin", body: EMPTY, answer: EMPTY },
  ],
  [
    "an admin updates a user of this version",
    "PUT /v1/users/<user>",
    200,
    { events: { user: "user.updated" }, as: "admin", headers: { "if-match": "<tagOf>" }, body: EMPTY },
  ],
  [
    "an unknown user is 404",
    `PUT ${NOBODY}`,
    404,
    { as: "admin", body: EMPTY, answer: { code: "user_not_found" } },
  ],
  row("only an admin updates users, also oneself", "PUT /v1/users/<user>", 403, { body: EMPTY }),
  ...["PUT /v1/me"].flatMap((line) => [
    ...refusals(line, 400, "unknown_parameter", [
      [{ username: "x" }, "username"],
      [{ kind: "bot" }, "kind"],
    ]),
    ...refusals(line, 400, "invalid_parameter", [
      [{ display_name: "" }, "display_name"],
      [{ display_name: "\u200b" }, "display_name"],
      [{ display_name: "x".repeat(101) }, "display_name"],
      [{ avatar_url: "javascript:1" }, "avatar_url"],
      [{ phone_number: "12" }, "phone_number"],
      [{ data: [] }, "data"],
      [{ data: { a: "x".repeat(4096) } }, "data"],
    ]),
  ]),
  ...refusals("POST /v1/users", 400, "invalid_parameter", [[{ username: "x", kind: "admin" }, "kind"]]).map(
    ([name, line, status, details]) => [name, line, status, { ...details, as: "admin" as const }] as const,
  ),
]);

test("a bot is created as one, and its data is not shown to others", async () => {
  const server = await open();
  const admin = asker(server, await server.user({ scopes: SCOPES }));
  const made = await admin("POST", "/v1/users", { username: "helper", kind: "bot", data: { model: 1 } });
  assert.deepEqual([made.body.kind, made.body.data], ["bot", { model: 1 }]);
  const { token } = (await admin("POST", "/v1/tokens", { user_id: made.body.id })).body;
  const headers = { authorization: `Bearer ${token}` };
  const bot = asker(server, { id: String(made.body.id), token: String(token), headers });
  const { conversation_id } = (await bot("GET", "/v1/me")).body;
  const { sender } = (await bot("POST", "/v1/messages", { conversation_id, text: "hello" })).body;
  const { id, username } = made.body;
  assert.deepEqual(sender, { id, username, display_name: null, avatar_url: null, kind: "bot" });
});

onEachEngine(
  "an update names the changed fields in the audit trail, and what claims leave alone",
  async (server) => {
    const admin = await server.user({ scopes: SCOPES });
    const [ask, asAdmin] = [asker(server, await server.user()), asker(server, admin)];
    const { id } = (await ask("GET", "/v1/me")).body;
    const { db } = server.app.core;
    const setFields = async () =>
      (await db.get(sql<{ set_fields: string }>`SELECT set_fields FROM users WHERE id = ${String(id)}`))!
        .set_fields;
    assert.equal(await setFields(), "");
    await ask("PUT", "/v1/me", { display_name: null, data: {} });
    assert.equal(await setFields(), "display_name");
    await asAdmin("PUT", `/v1/users/${id}`, { phone_number: "+15550100", display_name: "Ada" });
    assert.equal(await setFields(), "display_name phone_number");
    // Neither changes anything.
    await ask("PUT", "/v1/me", { display_name: "Ada" });
    await ask("PUT", "/v1/me", {});
    const { data } = (await asAdmin("GET", `/v1/audit?object_id=${id}&actions=user.updated`)).body;
    assert.deepEqual(
      (data as { actor_id: string; details: object }[]).map(({ actor_id, details }) => [actor_id, details]),
      [
        [admin.id, { fields: ["display_name", "phone_number"] }],
        [id, { fields: ["data"] }],
      ],
    );
  },
);
