// Conversations of two users: what each sees of the other's messages, reads and settings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  call,
  isNow,
  json,
  type Message,
  me,
  newContact,
  type Options,
  problem,
  unknownLike,
} from "../client.ts";
import { newMessage } from "../send.ts";
import { needsSecond, second, target } from "../target.ts";
import { add, pair, part, theirs } from "../two-users.ts";

const skip = needsSecond;

interface Conversation {
  id: string;
  kind: string;
  contact_id: string | null;
  group_id: string | null;
  name: string | null;
  avatar_url: string | null;
  last_message: Message | null;
  unread_count: number;
  unread_mention_count: number;
  last_read_id: string | null;
  contact_read_id: string | null;
  is_pinned: boolean;
  is_archived: boolean;
  muted_until: number | null;
  position: string | null;
  created_at: number;
  contact_joined: boolean | null;
}

async function get(id: string, options: Options = {}): Promise<Conversation> {
  const reply = await call("GET", `/v1/conversations/${id}`, options);
  assert.equal(reply.status, 200, reply.text);
  return reply.json as Conversation;
}

async function ids(query: string, options: Options = {}): Promise<string[]> {
  const reply = await call("GET", `/v1/conversations?limit=100${query}`, options);
  assert.equal(reply.status, 200, reply.text);
  return (reply.json as { data: Conversation[] }).data.map(({ id }) => id);
}

const read = (id: string, fields: object, options: Options = {}) =>
  call("PUT", `/v1/conversations/${id}/read`, { ...json(fields), ...options });

async function mark(id: string, fields: object, options: Options = {}): Promise<void> {
  const reply = await read(id, fields, options);
  assert.equal(reply.status, 204, reply.text);
}

async function set(id: string, fields: object, options: Options = {}): Promise<Conversation> {
  const reply = await call("PUT", `/v1/conversations/${id}`, { ...json(fields), ...options });
  assert.equal(reply.status, 200, reply.text);
  return reply.json as Conversation;
}

async function badge(token = target.token): Promise<number> {
  return ((await me(token)) as unknown as { unread_conversations: number }).unread_conversations;
}

test("messages are listed and unread once the contact adds the sender", { skip }, async () => {
  await part();
  const fields = { display_name: "Zoë", avatar_url: "https://example.com/z.png" };
  const { id: contact_id, conversation_id } = await add(target.token, second(), fields);
  const { created_at, position: none, ...empty } = await get(conversation_id);
  assert.equal(none, null);
  isNow(created_at);
  assert.deepEqual(empty, {
    ...{ id: conversation_id, kind: "contact", contact_id, group_id: null, name: "Zoë" },
    ...{
      avatar_url: "https://example.com/z.png",
      last_message: null,
      unread_count: 0,
      unread_mention_count: 0,
      last_read_id: null,
    },
    ...{ contact_read_id: null, is_pinned: false, is_archived: false, muted_until: null },
    contact_joined: false,
  });
  await newMessage({ conversation_id, text: "first" });
  const last = await newMessage({ conversation_id, text: "second" });
  const { position, ...sent } = await get(conversation_id);
  assert.match(String(position), /^[0-9a-z]+$/);
  assert.deepEqual(sent, { ...empty, created_at, last_message: last, last_read_id: last.id });
  problem(await call("GET", `/v1/conversations/${conversation_id}`, theirs()), 404, "conversation_not_found");
  assert.ok(!(await ids("", theirs())).includes(conversation_id));
  const before = await badge(second());
  const mine = await me();
  await add(second(), target.token);
  const waiting = await get(conversation_id, theirs());
  assert.deepEqual(
    [waiting.name, waiting.avatar_url, waiting.unread_count, waiting.last_read_id, waiting.contact_joined],
    [mine.username, null, 2, null, true],
  );
  assert.deepEqual(waiting.last_message, last);
  assert.equal((await ids("&unread=true", theirs()))[0], conversation_id);
  assert.equal(await badge(second()), before + 1);
  assert.equal((await get(conversation_id)).contact_joined, true);
});

test("unread counts messages of others after the read position, up to 100", { skip }, async () => {
  const id = await pair();
  const theirBadge = await badge(second());
  const sent: Message[] = [];
  for (let i = 0; i < 101; i++) sent.push(await newMessage({ conversation_id: id }));
  const unread = async () => (await get(id, theirs())).unread_count;
  assert.equal(await unread(), 100);
  assert.equal((await get(id)).unread_count, 0);
  await mark(id, { message_id: sent[0]!.id }, theirs());
  assert.equal(await unread(), 100);
  await mark(id, { message_id: sent[1]!.id }, theirs());
  assert.equal(await unread(), 99);
  assert.equal(await badge(second()), theirBadge + 1);
  await call("DELETE", `/v1/messages/${sent[100]!.id}`);
  assert.equal(await unread(), 98);
  const own = await newMessage({ conversation_id: id }, theirs());
  const { unread_count, last_read_id } = await get(id, theirs());
  assert.deepEqual([unread_count, last_read_id], [0, own.id], "sending reads what came before");
  assert.equal(await badge(second()), theirBadge);
  assert.equal((await get(id)).unread_count, 1);
});

test("a read position only moves forward, by any id of the conversation", { skip }, async () => {
  const id = await pair();
  const [first, second_, third] = [
    await newMessage({ conversation_id: id }),
    await newMessage({ conversation_id: id }),
    await newMessage({ conversation_id: id }),
  ];
  const position = async () => (await get(id, theirs())).last_read_id;
  await call("DELETE", `/v1/messages/${second_.id}`);
  await mark(id, { message_id: second_.id }, theirs());
  assert.equal(await position(), second_.id);
  await mark(id, { message_id: first.id }, theirs());
  assert.equal(await position(), second_.id);
  await mark(id, { message_id: third.id, private: true }, theirs());
  assert.equal(await position(), third.id);
  for (const message_id of ["msg_x", third.id.slice(4), id, `msg_7${third.id.slice(5)}`])
    problem(await read(id, { message_id }, theirs()), 404, "message_not_found");
  problem(await read(unknownLike(id), { message_id: third.id }), 404, "conversation_not_found");
});

test("messages from before joining again cannot be read up to", { skip }, async () => {
  const id = await pair();
  const old = await newMessage({ conversation_id: id });
  await mark(id, { message_id: old.id }, theirs());
  const { contact_id } = await get(id, theirs());
  await call("DELETE", `/v1/contacts/${contact_id}`, theirs());
  problem(await read(id, { message_id: old.id }, theirs()), 404, "conversation_not_found");
  assert.equal((await get(id)).contact_joined, true, "they had joined");
  await add(second(), target.token);
  const { last_message, last_read_id, position } = await get(id, theirs());
  assert.deepEqual([last_message, last_read_id, position], [null, null, null]);
  problem(await read(id, { message_id: old.id }, theirs()), 404, "message_not_found");
  assert.equal((await get(id)).contact_read_id, null);
});

/** Waits for this many change events of the conversation: an event may come a moment after its change. */
async function changes(id: string, wanted: number): Promise<{ conversation_id: string }[]> {
  for (const deadline = Date.now() + 60_000; ; await sleep(20)) {
    const reply = await call("GET", "/v1/events?types=conversation.updated&limit=100");
    const { data } = reply.json as { data: { conversation_id: string }[] };
    const found = data.filter(({ conversation_id }) => conversation_id === id);
    if (found.length >= wanted || Date.now() > deadline) return found;
  }
}

test("a contact sees only public read positions, and none while blocked", { skip }, async () => {
  const id = await pair();
  const [first, last] = [
    await newMessage({ conversation_id: id }),
    await newMessage({ conversation_id: id }),
  ];
  const path = `/v1/conversations/${id}`;
  const etag = (await call("GET", path)).headers.get("etag")!;
  await mark(id, { message_id: last.id, private: true }, theirs());
  assert.equal((await call("GET", path, { headers: { "if-none-match": etag } })).status, 304);
  await mark(id, { message_id: first.id }, theirs());
  // Events are in the order of changes: one of the private read would come before this.
  await set(id, { is_pinned: true });
  assert.equal((await changes(id, 2)).length, 2);
  assert.equal((await get(id)).contact_read_id, first.id, "not how far they have read in private");
  await newMessage({ conversation_id: id }, theirs());
  assert.equal((await get(id)).contact_read_id, first.id, "sending discloses nothing");
  const { contact_id } = await get(id, theirs());
  await call("PUT", `/v1/contacts/${contact_id}/block`, theirs());
  assert.equal((await get(id)).contact_read_id, null);
  await call("DELETE", `/v1/contacts/${contact_id}/block`, theirs());
  assert.equal((await get(id)).contact_read_id, first.id);
  await call("DELETE", `/v1/contacts/${contact_id}`, theirs());
  assert.equal((await get(id)).contact_read_id, null);
});

test("settings filter the list and are private", { skip }, async () => {
  const id = await pair();
  await newMessage({ conversation_id: id }, theirs());
  const theirView = await get(id, theirs());
  const unread = await badge();
  const soon = Math.floor(Date.now() / 1000) + 1000;
  const all = { is_pinned: true, is_archived: true, muted_until: soon };
  const { is_pinned, is_archived, muted_until } = await set(id, all);
  assert.deepEqual({ is_pinned, is_archived, muted_until }, all);
  assert.equal(await badge(), unread - 1, "a muted conversation has no badge");
  assert.deepEqual(await get(id, theirs()), theirView);
  await newMessage({ conversation_id: id }, theirs());
  const found = async (query: string) => (await ids(query)).includes(id);
  for (const query of [
    "archived=true",
    "pinned=true",
    "unread=true",
    "kind=contact",
    "archived=true&pinned=true",
  ])
    assert.equal(await found(`&${query}`), true, query);
  for (const query of ["archived=false", "pinned=false", "unread=false", "kind=self", "kind=group"])
    assert.equal(await found(`&${query}`), false, query);
  assert.equal((await ids(""))[0], id, "without a filter, archived and pinned ones come by activity");
  const same = await set(id, { is_pinned: true });
  assert.deepEqual([same.is_archived, same.muted_until], [true, soon]);
  await set(id, { is_pinned: false, is_archived: false, muted_until: null });
  assert.equal(await badge(), unread);
  for (const query of ["archived=true", "pinned=true"]) assert.equal(await found(`&${query}`), false, query);
  for (const query of ["archived=false", "pinned=false"]) assert.equal(await found(`&${query}`), true, query);
  await mark(id, { message_id: (await get(id)).last_message!.id });
  assert.deepEqual([await found("&unread=true"), await found("&unread=false")], [false, true]);
});

test("messages of a blocked contact are not unread and move nothing", { skip }, async () => {
  const id = await pair();
  await newMessage({ conversation_id: id });
  const before = await get(id);
  await call("PUT", `/v1/contacts/${before.contact_id}/block`);
  await newMessage({ conversation_id: id }, theirs());
  assert.deepEqual(await get(id), before);
  await call("DELETE", `/v1/contacts/${before.contact_id}/block`);
  assert.deepEqual(await get(id), before);
  const { id: last } = await newMessage({ conversation_id: id }, theirs());
  const after = await get(id);
  assert.deepEqual([after.unread_count, after.last_message?.id], [1, last]);
  assert.ok(after.position! > before.position!);
});

test("deleting messages does not change the position of the conversation", { skip }, async () => {
  const id = await pair();
  const first = await newMessage({ conversation_id: id });
  const last = await newMessage({ conversation_id: id });
  const { position } = await get(id);
  await call("DELETE", `/v1/messages/${last.id}`);
  const after = await get(id);
  assert.deepEqual([after.position, after.last_message?.id], [position, first.id]);
  await call("DELETE", `/v1/messages/${first.id}`);
  assert.deepEqual([(await get(id)).position, (await get(id)).last_message], [position, null]);
});

test("a stranger cannot see conversations of others", { skip }, async () => {
  const { conversation_id: id } = await newContact();
  const { id: message_id } = await newMessage({ conversation_id: id });
  for (const each of [id, unknownLike(id), "nonsense"]) {
    const path = `/v1/conversations/${each}`;
    problem(await call("GET", path, theirs()), 404, "conversation_not_found");
    problem(
      await call("PUT", path, { ...json({ is_pinned: true }), ...theirs() }),
      404,
      "conversation_not_found",
    );
    problem(await read(each, { message_id }, theirs()), 404, "conversation_not_found");
  }
  assert.equal((await get(id)).is_pinned, false);
});

test("paging down neither repeats nor skips unmoved conversations, and moved ones are above", async () => {
  const made: string[] = [];
  for (let i = 0; i < 7; i++) {
    const { conversation_id } = await newContact();
    await newMessage({ conversation_id });
    made.unshift(conversation_id);
  }
  const path = "/v1/conversations?limit=2";
  const page = async (cursor: string) =>
    ((await call("GET", path + cursor)).json as { data: Conversation[] }).data;
  const first = await page("");
  const seen = first.map(({ id }) => id);
  let last = first.at(-1)!.position;
  const moved = [made[6]!, made[3]!, made[0]!];
  for (const conversation_id of moved) {
    await newMessage({ conversation_id });
    const data = await page(`&starting_after=${last}`);
    seen.push(...data.map(({ id }) => id));
    last = data.at(-1)!.position;
  }
  const still = made.filter((id) => !moved.includes(id));
  assert.deepEqual(
    seen.filter((id) => still.includes(id)),
    still,
  );
  assert.equal(new Set(seen).size, seen.length);
  const above = await ids(`&ending_before=${first[0]!.position}`);
  assert.deepEqual(above, moved.toReversed());
});

test("notes to self are always listed, without a name, and never unread", async () => {
  const { conversation_id } = await me();
  const found = async () => {
    const { data } = (await call("GET", "/v1/conversations?kind=self")).json as { data: Conversation[] };
    return data.map(({ id, kind, name, contact_id, contact_joined, unread_count }) => [
      ...[id, kind, name, contact_id, contact_joined, unread_count],
    ]);
  };
  const notes = [[conversation_id, "self", null, null, null, 0]];
  assert.deepEqual(await found(), notes);
  await newMessage();
  assert.deepEqual(await found(), notes);
});
