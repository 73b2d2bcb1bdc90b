// What a client begins with, and how events continue it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Contact, call, faulty, type Message, type Options, problem } from "../client.ts";
import { freshConversation, newMessage } from "../send.ts";

interface Snapshot {
  me: { id: string };
  conversations: {
    id: string;
    contact_id: string;
    messages: Message[];
    contact: Contact | null;
    members: object[] | null;
  }[];
  has_more: boolean;
  last_event_id: string;
}

async function get<T>(path: string, options: Options = {}): Promise<T> {
  const reply = await call("GET", path, options);
  assert.equal(reply.status, 200, reply.text);
  return reply.json as T;
}

test("a snapshot has the caller and conversations with messages and contacts, as their lists show them", async () => {
  const conversation_id = await freshConversation();
  for (let i = 0; i < 3; i++) await newMessage({ conversation_id });
  const snapshot = await get<Snapshot>("/v1/snapshot?conversations=1&messages=2");
  assert.deepEqual(Object.keys(snapshot), ["me", "conversations", "has_more", "last_event_id"]);
  assert.equal(snapshot.me.id, (await get<{ id: string }>("/v1/me")).id);
  assert.equal(snapshot.conversations.length, 1);
  const { messages, contact, members, ...shown } = snapshot.conversations[0]!;
  assert.deepEqual(shown, await get(`/v1/conversations/${conversation_id}`));
  const list = `/v1/messages?conversation_id=${conversation_id}&limit=2`;
  assert.deepEqual(messages, (await get<{ data: Message[] }>(list)).data);
  assert.deepEqual(contact, await get(`/v1/contacts/${shown.contact_id}`));
  assert.deepEqual([members, snapshot.has_more], [null, true]);
});

test("the events after a snapshot have every later change", async () => {
  const conversation_id = await freshConversation();
  const { last_event_id } = await get<Snapshot>("/v1/snapshot");
  const { id } = await newMessage({ conversation_id });
  const path = `/v1/events?limit=100&types=message.created&ending_before=${last_event_id}`;
  for (let tries = 0; ; tries++) {
    const { data } = await get<{ data: { payload: { id: string } }[] }>(path);
    if (data.some(({ payload }) => payload.id === id)) break;
    assert.ok(tries < 500, "the event is listed at last");
    await sleep(10);
  }
});

test("a snapshot has an ETag and refuses what its fields do not allow", async () => {
  const path = "/v1/snapshot?conversations=1&messages=1";
  await newMessage();
  let known = { headers: { "if-none-match": '"0"' } };
  // With PostgreSQL the event of the message gets its number some milliseconds later, and moves the cursor.
  for (let tries = 0; ; tries++) {
    const { status, headers } = await call("GET", path, known);
    if (status === 304) break;
    assert.ok(tries < 100, "nothing changes at last");
    known = { headers: { "if-none-match": headers.get("etag")! } };
    await sleep(20);
  }
  await newMessage();
  assert.equal((await call("GET", path, known)).status, 200);
  faulty(await call("GET", "/v1/snapshot?conversations=101"), "conversations");
  faulty(await call("GET", "/v1/snapshot?messages=51"), "messages");
  faulty(await call("GET", "/v1/snapshot?include=x"), "include");
  problem(await call("GET", "/v1/snapshot?limit=1"), 400, "unknown_parameter");
  problem(await call("GET", "/v1/snapshot", { token: null }), 401, "missing_token");
});
