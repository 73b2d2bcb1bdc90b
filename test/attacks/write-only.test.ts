// Tokens that may write and not read: what they can still learn of what is there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken } from "../../src/core/people/tokens.ts";
import { startApp, upload } from "../support/app.ts";
import { asker } from "../support/asker.ts";

const CONTACT = { username: "grace", phone_number: "+1 555 0101", display_name: "Grace" };

test("a PUT without fields reads: without the read scope it is 403, and with a field it goes on", async (t) => {
  const server = await startApp(t);
  const owner = await server.user();
  const withScopes = async (
    ...scopes: ("contacts:read" | "contacts:write" | "attachments:read" | "attachments:write")[]
  ) => {
    const { token } = await createToken(server.app.core, null, owner.id, { scopes });
    return asker(server, { ...owner, headers: { authorization: `Bearer ${token}` } });
  };
  const contact = (await asker(server, owner)("POST", "/v1/contacts", CONTACT)).body.id;
  const made = await upload(server.url, owner, new File(["x"], "a.txt"));
  const { id: attachment } = (await made.json()) as { id: string };
  const write = await withScopes("contacts:write", "attachments:write");
  const both = await withScopes("contacts:write", "contacts:read", "attachments:write", "attachments:read");
  for (const [path, scope, field] of [
    [`/v1/contacts/${contact}`, "contacts:read", { display_name: "G" }],
    [`/v1/attachments/${attachment}`, "attachments:read", { filename: "b.txt" }],
    // Whether it exists is not told either.
    ["/v1/contacts/con_x", "contacts:read", undefined],
    ["/v1/attachments/att_x", "attachments:read", undefined],
  ] as const) {
    for (const body of [undefined, "", {}]) {
      const { status, body: problem, headers } = await write("PUT", path, body);
      assert.deepEqual(
        [status, problem.code],
        [403, "insufficient_scope"],
        `${path} ${JSON.stringify(body)}`,
      );
      assert.ok(headers.get("www-authenticate")!.includes(`scope="${scope}"`));
      if (field) assert.equal((await both("PUT", path, body)).status, 200);
    }
    if (field) assert.equal((await write("PUT", path, field)).status, 200);
  }
});

test("settings of a conversation, whose answer has the last message, need the scope to read as well", async (t) => {
  const server = await startApp(t);
  const owner = await server.user();
  const all = asker(server, owner);
  const { conversation_id } = (await all("GET", "/v1/me")).body;
  await all("POST", "/v1/messages", { conversation_id, text: "a secret" });
  const { token } = await createToken(server.app.core, null, owner.id, { scopes: ["messages:write"] });
  const write = asker(server, { ...owner, headers: { authorization: `Bearer ${token}` } });
  const path = `/v1/conversations/${conversation_id}`;
  for (const body of [{ is_pinned: true }, {}, undefined]) {
    const refused = await write("PUT", path, body);
    assert.deepEqual([refused.status, refused.body.code], [403, "insufficient_scope"]);
    assert.ok(refused.headers.get("www-authenticate")!.includes('scope="messages:read"'));
  }
  const { body } = await all("GET", path);
  assert.equal(body.is_pinned, false);
});

test("a contact that exists is named only to a token that may read contacts, on a retry as well", async (t) => {
  const server = await startApp(t);
  const owner = await server.user();
  const { token } = await createToken(server.app.core, null, owner.id, { scopes: ["contacts:write"] });
  const write = asker(server, { ...owner, headers: { authorization: `Bearer ${token}` } });
  const all = asker(server, owner);
  const { id } = (await all("POST", "/v1/contacts", CONTACT)).body;
  for (const headers of [{}, { "idempotency-key": "k" }, { "idempotency-key": "k" }]) {
    const told = await all("POST", "/v1/contacts", CONTACT, headers);
    assert.deepEqual([told.status, told.body.code, told.body.existing_id], [409, "contact_exists", id]);
    const hidden = await write("POST", "/v1/contacts", CONTACT, headers);
    assert.deepEqual(
      [hidden.status, hidden.body.code, hidden.body.param],
      [409, "contact_exists", "username"],
    );
    assert.ok(!JSON.stringify(hidden.body).includes(id as string));
  }
});

test("a replay to a write-only token is what the first answer was, not what the contact has become", async (t) => {
  const server = await startApp(t);
  const owner = await server.user();
  const { token } = await createToken(server.app.core, null, owner.id, { scopes: ["contacts:write"] });
  const write = asker(server, { ...owner, headers: { authorization: `Bearer ${token}` } });
  const all = asker(server, owner);
  const key = { "idempotency-key": "k" };
  const first = await write("POST", "/v1/contacts", CONTACT, key);
  assert.equal(first.status, 201);
  await all("PUT", `/v1/contacts/${first.body.id}`, { display_name: "a secret" });
  const replay = await write("POST", "/v1/contacts", CONTACT, key);
  assert.equal(replay.headers.get("idempotent-replayed"), "true");
  assert.deepEqual(replay.body, first.body);
});
