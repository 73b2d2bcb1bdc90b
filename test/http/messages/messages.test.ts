// Message limits, scopes and administrators, which the acceptance tests cannot reach.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Scope } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApp, type TestApp, type TestUser, upload } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";

const FULL = "contacts:write messages:read messages:write attachments:read attachments:write".split(
  " ",
) as Scope[];

const MIB = 1024 * 1024;

/** A server whose clock stands still until the test sets it. */
async function start(t: TestContext, limits: { messagesPerMinute: number; requestsPerSecond?: number }) {
  const time = { now: Date.UTC(2026, 10, 23) };
  const server = await startApp(t, { requestsPerSecond: 1_000_000, ...limits }, { clock: () => time.now });
  return { server, time };
}

async function newConversation(server: TestApp, user: TestUser, username: string): Promise<string> {
  const fields = { username, phone_number: "555" };
  return String((await asker(server, user)("POST", "/v1/contacts", fields)).body.conversation_id);
}

function sender(server: TestApp, user: TestUser) {
  const ask = asker(server, user);
  return (conversation_id: unknown, more: object = { text: "a" }) =>
    ask("POST", "/v1/messages", { conversation_id, ...more });
}

test("one message more than the limit per minute is 429 with Retry-After", async (t) => {
  const { server, time } = await start(t, { messagesPerMinute: 3 });
  const user = await server.user({ scopes: FULL });
  const send = sender(server, user);
  const conversation = await newConversation(server, user, "ada");
  const other = await newConversation(server, user, "grace");
  for (const to of [conversation, other, conversation]) assert.equal((await send(to)).status, 201);
  const refused = await send(other);
  assert.deepEqual([refused.status, refused.body.code], [429, "rate_limited"]);
  assert.equal(refused.headers.get("retry-after"), "20");
  assert.equal((await sender(server, await server.user())(conversation)).status, 404, "counted per user");
  time.now += 20_000;
  assert.equal((await send(other)).status, 201);
  assert.equal((await send(other)).status, 429);
});

test("notes to self, files without text and retries do not count against the message limit", async (t) => {
  const { server } = await start(t, { messagesPerMinute: 2 });
  const user = await server.user({ scopes: FULL });
  const ask = asker(server, user);
  const conversation = await newConversation(server, user, "ada");
  const { conversation_id: notes } = (await ask("GET", "/v1/me")).body;
  const send = sender(server, user);
  for (let i = 0; i < 4; i++) {
    assert.equal((await send(notes)).status, 201);
    assert.equal(
      (await upload(server.url, user, new File(["x"], "x"), { conversation_id: conversation })).status,
      201,
    );
    const key = { "idempotency-key": "k" };
    assert.equal(
      (await ask("POST", "/v1/messages", { conversation_id: conversation, text: "a" }, key)).status,
      201,
    );
    assert.equal((await post(server, user, conversation)).status, 201);
  }
  assert.equal((await post(server, user, conversation, "text")).status, 201);
  assert.equal((await post(server, user, conversation, "text")).status, 429);
  assert.equal((await send(conversation, { data: {} })).status, 429);
});

/** Sends a file as a message. */
function post(server: TestApp, user: TestUser, conversation: string, text?: string): Promise<Response> {
  const body = new FormData();
  body.append("conversation_id", conversation);
  body.append("file", new File(["x"], "x"));
  if (text) body.append("text", text);
  return fetch(`${server.url}/v1/messages`, { method: "POST", headers: user.headers, body });
}

for (const limits of [{ messagesPerMinute: 0 }, { messagesPerMinute: 2, requestsPerSecond: 0 }]) {
  test(`${JSON.stringify(limits)} means no message limit, and GET /v1/me says so`, async (t) => {
    const { server } = await start(t, limits);
    const user = await server.user({ scopes: FULL });
    const conversation = await newConversation(server, user, "ada");
    for (let i = 0; i < 4; i++) assert.equal((await sender(server, user)(conversation)).status, 201);
    const { body } = await asker(server, user)("GET", "/v1/me");
    assert.equal((body.limits as Record<string, unknown>).message_limit, null);
  });
}

test("the files of a message fit the quota together or not at all, and a retry needs no room", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 6 * MIB });
  const user = await server.user({ scopes: FULL });
  const { conversation_id } = (await asker(server, user)("GET", "/v1/me")).body;
  const send = (key: string, ...sizes: number[]) => {
    const body = new FormData();
    body.append("conversation_id", String(conversation_id));
    for (const size of sizes) body.append("file", new File([new Uint8Array(size)], "x"));
    const headers = { ...user.headers, "idempotency-key": key };
    return fetch(`${server.url}/v1/messages`, { method: "POST", headers, body });
  };
  const used = async () => (await asker(server, user)("GET", "/v1/me")).body.storage as { used: number };
  assert.equal((await send("a", 5 * MIB, 2 * MIB)).status, 507);
  assert.equal((await used()).used, 0);
  assert.equal((await send("b", 5 * MIB, 10)).status, 201);
  const retry = await send("b", 5 * MIB, 10);
  assert.equal(retry.status, 201);
  assert.equal(retry.headers.get("idempotent-replayed"), "true");
  assert.equal((await used()).used, 5 * MIB + 10);
  assert.equal((await send("c", 2 * MIB)).status, 507);
});

test("a file in a message needs attachments:write, text does not", async (t) => {
  const { server } = await start(t, { messagesPerMinute: 600 });
  const user = await server.user({ scopes: ["contacts:write", "messages:write"] });
  const conversation = await newConversation(server, user, "ada");
  assert.equal((await sender(server, user)(conversation)).status, 201);
  const refused = await post(server, user, conversation, "text");
  assert.equal(refused.status, 403);
  assert.match(refused.headers.get("www-authenticate") ?? "", /scope="attachments:write"/);
});

test("an admin token deletes messages and files of others, but cannot read them", async (t) => {
  const { server } = await start(t, { messagesPerMinute: 600 });
  const user = await server.user({ scopes: FULL });
  const admin = await server.user({ scopes: ["admin"] });
  const conversation = await newConversation(server, user, "ada");
  const made = (await (await post(server, user, conversation, "text")).json()) as {
    id: string;
    attachments: { id: string }[];
  };
  const file = await upload(server.url, user, new File(["x"], "x"), { conversation_id: conversation });
  const { id: fileId } = (await file.json()) as { id: string };
  const ask = asker(server, admin);
  for (const path of [`/v1/messages/${made.id}`, `/v1/attachments/${fileId}`]) {
    assert.equal((await ask("GET", path)).status, 403);
    assert.equal((await ask("PUT", path, {})).status, 403);
    if (path.startsWith("/v1/messages")) {
      const { status, body } = await ask("DELETE", `${path}?for=me`);
      assert.deepEqual([status, body.code], [403, "insufficient_scope"], "it sees no messages");
    }
    assert.equal((await ask("DELETE", path)).status, 204);
    assert.equal((await ask("DELETE", path)).status, 404);
    assert.equal((await asker(server, user)("GET", path)).status, 404);
  }
  const entries = await server.app.core.db.all<{ action: string; object_id: string }>(
    sql`SELECT action, object_id FROM audit WHERE actor_id = ${admin.id} AND action LIKE '%.deleted' ORDER BY id`,
  );
  assert.deepEqual(
    entries.map(({ action, object_id }) => [action, object_id]),
    [
      ["message.deleted", made.id],
      ["attachment.deleted", made.attachments[0]!.id],
      ["attachment.deleted", fileId],
    ],
  );
});
