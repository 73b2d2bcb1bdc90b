// What tokens can learn that may write but not read.
import assert from "node:assert/strict";
import { createToken, type Scope } from "../../src/core/people/tokens.ts";
import { sharedApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";
import { row, type Scenario, scenarios } from "../support/scenarios.ts";

const GRACE = { username: "grace", phone_number: "+1 555 0101", display_name: "Grace" };

/**
 * Returns a user with a contact, a file and a message, and tokens of that user: one that may only write, one that may
 * also read.
 */
async function scene(server: TestApp) {
  const owner = await server.user();
  const withScopes = async (...scopes: Scope[]): Promise<TestUser> => {
    const { token } = await createToken(server.app.core, null, owner.id, { scopes });
    return { id: "", token, headers: { authorization: `Bearer ${token}` } };
  };
  const writer = await withScopes("contacts:write", "attachments:write", "messages:write");
  const ask = asker(server, owner);
  const { id: contact } = (await ask("POST", "/v1/contacts", GRACE)).body;
  const file = (await (await upload(server.url, owner, new File(["x"], "a.txt"))).json()) as Json;
  const { conversation_id: notes } = (await ask("GET", "/v1/me")).body;
  await ask("POST", "/v1/messages", { conversation_id: notes, text: "a secret" });
  return { server, people: { writer, owner }, ids: { contact, file: file.id, notes } };
}

type Row = Scenario<"writer" | "owner", Awaited<ReturnType<typeof scene>>>;
const hidden = (scope: string) => ({
  answer: { code: "insufficient_scope" },
  answerHeaders: { "www-authenticate": new RegExp(`scope="${scope}"`) },
});

scenarios(sharedApp(), scene, [
  ...(
    [
      ["/v1/contacts/<contact>", "contacts:read"],
      ["/v1/attachments/<file>", "attachments:read"],
      // The answer does not reveal whether it exists either.
      ["/v1/contacts/con_x", "contacts:read"],
      ["/v1/attachments/att_x", "attachments:read"],
    ] as const
  ).flatMap(([path, scope]) =>
    [undefined, "", {}].map((body) =>
      row(`PUT ${path} with the body ${JSON.stringify(body)} needs ${scope}`, `PUT ${path}`, 403, {
        ...(body !== undefined && { body }),
        ...hidden(scope),
      }),
    ),
  ),
  ...["contacts/<contact>", "attachments/<file>"].map(
    (path): Row => [
      `PUT ${path} without fields is 200 with the read scope`,
      `PUT /v1/${path}`,
      200,
      { as: "owner", body: {} },
    ],
  ),
  [
    "PUT of a contact with a field needs no read scope",
    "PUT /v1/contacts/<contact>",
    200,
    { body: { display_name: "G" }, events: { owner: "contact.updated" } },
  ],
  [
    "PUT of an attachment with a field needs no read scope",
    "PUT /v1/attachments/<file>",
    200,
    { body: { filename: "b.txt" }, events: { owner: "message.updated attachment.updated" } },
  ],
  ...[{ is_pinned: true }, {}, undefined].map((body) =>
    row(
      `PUT of a conversation with ${JSON.stringify(body)} needs messages:read`,
      "PUT /v1/conversations/<notes>",
      403,
      {
        ...(body && { body }),
        ...hidden("messages:read"),
      },
    ),
  ),
  [
    "409 contact_exists has existing_id with contacts:read",
    "POST /v1/contacts",
    409,
    { as: "owner", body: GRACE, answer: { existing_id: "<contact>" } },
  ],
  ...[{}, { "idempotency-key": "k" }].map(
    (headers): Row => [
      `409 contact_exists has no existing_id without contacts:read (${JSON.stringify(headers)})`,
      "POST /v1/contacts",
      409,
      {
        headers,
        body: GRACE,
        answer: { code: "contact_exists", param: "username" },
        after: ({ ids }, { body }) => assert.ok(!JSON.stringify(body).includes(String(ids.contact))),
      },
    ],
  ),
  [
    "a replay to a write-only token is the first answer, not the current contact",
    "POST /v1/contacts",
    201,
    {
      headers: { "idempotency-key": "k" },
      body: { ...GRACE, username: "new" },
      async before({ server, people }) {
        const key = { "idempotency-key": "k" };
        const { body } = await asker(server, people.writer)(
          "POST",
          "/v1/contacts",
          { ...GRACE, username: "new" },
          key,
        );
        await asker(server, people.owner)("PUT", `/v1/contacts/${body.id}`, { display_name: "a secret" });
      },
      answer: { display_name: "Grace" },
      answerHeaders: { "idempotent-replayed": "true" },
    },
  ],
]);
