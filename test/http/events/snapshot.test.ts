// The state that a client begins with: one answer that equals the lists, and the cursor of the events after it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { getSnapshot } from "../../../src/core/events/snapshot.ts";
import { createToken, type Scope } from "../../../src/core/people/tokens.ts";
import { Turns } from "../../../src/core/resource/turns.ts";
import { sql } from "../../../src/db/sql.ts";
import { sharedApp, type TestApp, type TestUser } from "../../support/app.ts";
import { eventPage } from "../../support/event-stream.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { add, code, done, give, pair, person, read, say, send, trio } from "../../support/people.ts";
import { compareSnapshot } from "../visibility/sharing-snapshot.ts";

const open = sharedApp();

interface Entry {
  id: string;
  messages: { id: string; text: string | null; type: string; attachments: object[] }[];
  contact: { id: string } | null;
  members: { role: string; username: string }[] | null;
  last_message: { id: string; attachments: object[] } | null;
}

interface Snapshot {
  me: { id: string };
  conversations: Entry[];
  has_more: boolean;
  last_event_id: string | null;
}

const get = <T>(server: TestApp, who: TestUser, path: string) => read<T>(send(server, who, "GET", path), 200);
const snapshotOf = (server: TestApp, who: TestUser, query = "") =>
  get<Snapshot>(server, who, `/v1/snapshot${query}`);
const compare = (server: TestApp, who: TestUser, counts?: object) =>
  compareSnapshot((path) => get(server, who, path), counts);

onEachEngine("a snapshot shows what the lists show, and only to those who see it", async (server) => {
  const { ann, bob, cat, id, conversation, group } = await trio(server);
  const { conversation_id: direct } = await get<{ conversation_id: string }>(server, ann, "/v1/me");
  await say(server, ann, direct, "to myself");
  const toBob = await add(server, ann, bob.name);
  await say(server, ann, toBob.conversation_id, "hello");
  await give(server, bob, conversation, "plan.txt");
  const first = await say(server, cat, conversation, "seen", { mentions: [ann.id] });
  await done(send(server, ann, "PUT", `/v1/messages/${first}/reactions/x`));
  const withName = await send(server, ann, "POST", `${group}/members`, { username: "somebody" });
  assert.equal(withName.status, 201);
  const deleted = await say(server, bob, toBob.conversation_id, "the last one, which goes");
  await done(send(server, bob, "DELETE", `/v1/messages/${deleted}`));
  const hidden: string[] = [];
  for (let i = 0; i < 12; i++) {
    const text = await say(server, bob, conversation, `message ${i}`);
    if (i % 3 !== 0) continue;
    hidden.push(text);
    await done(send(server, ann, "DELETE", `/v1/messages/${text}?for=me`));
  }
  await done(send(server, cat, "PUT", `/v1/blocks/${bob.name}`));
  for (let i = 0; i < 5; i++) await say(server, bob, conversation, `withheld from cat ${i}`);
  await say(server, ann, conversation, "the last");
  for (const who of [ann, bob, cat]) {
    for (const messages of [1, 3, 50]) await compare(server, who, { messages });
    await compare(server, who, { conversations: 1, messages: 3 });
  }
  const anns = (await snapshotOf(server, ann)).conversations.find((each) => each.id === conversation)!;
  assert.deepEqual(anns.members?.map(({ role }) => role).sort(), ["admin", "invited", "member", "member"]);
  assert.ok(anns.messages.every((each) => !hidden.includes(each.id)));
  const cats = (await snapshotOf(server, cat)).conversations.find((each) => each.id === conversation)!;
  assert.deepEqual(cats.members?.map(({ role }) => role).sort(), ["admin", "member", "member"]);
  assert.ok(cats.messages.every(({ text }) => !text?.startsWith("withheld")));
  const stranger = await server.user();
  assert.ok(!JSON.stringify(await compare(server, stranger)).includes(id));
  await done(send(server, cat, "DELETE", group));
  assert.ok(!JSON.stringify(await compare(server, cat)).includes(conversation));
});

test("a conversation whose newest messages are all of the system has its last message", async () => {
  const server = await open();
  const { ann, bob, group } = await trio(server);
  const newest = (await snapshotOf(server, ann)).conversations[0]!;
  const said = await say(server, bob, newest.id, "the last of a user");
  for (let i = 0; i < 4; i++)
    assert.equal((await send(server, ann, "PUT", group, { name: `Name ${i}` })).status, 200);
  const [shown] = (await snapshotOf(server, ann, "?messages=2&conversations=1")).conversations;
  assert.deepEqual(
    shown!.messages.map(({ type }) => type),
    ["renamed", "renamed"],
  );
  assert.equal(shown!.last_message!.id, said);
});

test("each part of a snapshot needs the scope of its list", async () => {
  const server = await open();
  const { ann, bob, conversation } = await trio(server);
  const { conversation_id } = await add(server, ann, bob.name);
  await say(server, ann, conversation_id, "x");
  const as = async (scopes: Scope[]) => {
    const { token } = await createToken(server.app.core, null, ann.id, { scopes });
    return { ...ann, token, headers: { authorization: `Bearer ${token}` } };
  };
  const partsOf = async (scopes: Scope[]) => {
    const { conversations, last_event_id } = await snapshotOf(server, await as(scopes));
    const direct = conversations.find(({ id }) => id === conversation_id)!;
    const grouped = conversations.find(({ id }) => id === conversation)!;
    assert.equal(direct.messages.length, 1);
    return [direct.contact !== null, grouped.members !== null, last_event_id !== null];
  };
  assert.deepEqual(await partsOf(["messages:read"]), [false, false, false]);
  assert.deepEqual(await partsOf(["messages:read", "contacts:read"]), [true, false, false]);
  assert.deepEqual(await partsOf(["messages:read", "groups:read"]), [false, true, false]);
  assert.deepEqual(await partsOf(["messages:read", "events:read"]), [false, false, true]);
  const others = await as(["contacts:read", "groups:read", "events:read"]);
  assert.equal(await code(send(server, others, "GET", "/v1/snapshot"), 403), "insufficient_scope");
});

test("a snapshot has an ETag, and 304 while nothing changes", async () => {
  const server = await open();
  const { ann, bob, conversation } = await pair(server);
  await say(server, ann, conversation, "x");
  const first = await send(server, ann, "GET", "/v1/snapshot");
  const known = { "if-none-match": first.headers.get("etag")! };
  assert.equal((await send(server, ann, "GET", "/v1/snapshot", undefined, known)).status, 304);
  await say(server, bob, conversation, "y");
  assert.equal((await send(server, ann, "GET", "/v1/snapshot", undefined, known)).status, 200);
  const other = { "if-match": '"2-1"' };
  assert.equal((await send(server, ann, "GET", "/v1/snapshot", undefined, other)).status, 412);
});

test("a snapshot has at most 100 conversations of 50 messages, and 20 of 20 by default", async () => {
  const server = await open();
  const ann = await person(server, "ann-of-many");
  for (let i = 0; i < 22; i++) {
    const { conversation_id } = await add(server, ann, `nobody ${i}`);
    for (let n = 0; n < (i === 21 ? 22 : 1); n++) await say(server, ann, conversation_id, `message ${n}`);
  }
  const { conversations, has_more } = await snapshotOf(server, ann);
  assert.deepEqual([conversations.length, conversations[0]!.messages.length, has_more], [20, 20, true]);
  const all = await snapshotOf(server, ann, "?conversations=100&messages=50");
  assert.deepEqual(
    [all.conversations.length, all.conversations[0]!.messages.length, all.has_more],
    [23, 22, false],
  );
  for (const wrong of ["conversations=101", "conversations=0", "messages=51", "messages=x", "messages="])
    assert.equal(await code(send(server, ann, "GET", `/v1/snapshot?${wrong}`), 400), "invalid_parameter");
  assert.equal(await code(send(server, ann, "GET", "/v1/snapshot?limit=1"), 400), "unknown_parameter");
});

test("a snapshot with very long messages ends early and says so", async () => {
  const server = await open();
  const ann = await person(server, "ann-of-long");
  const text = "\u{fc}".repeat(10_000);
  for (let i = 0; i < 22; i++) {
    const { conversation_id } = await add(server, ann, `nobody ${i}`);
    await Promise.all(Array.from({ length: 50 }, () => say(server, ann, conversation_id, text)));
  }
  const found = await snapshotOf(server, ann, "?conversations=100&messages=50");
  assert.equal(found.has_more, true);
  assert.ok(found.conversations.length >= 10 && found.conversations.length < 22);
  const rest = await get<{ data: object[] }>(
    server,
    ann,
    `/v1/conversations?limit=100&starting_after=${(found.conversations.at(-1) as unknown as { position: string }).position}`,
  );
  assert.equal(found.conversations.length + rest.data.length, 23);
});

test("a snapshot whose client has gone while it was queued is refused", async () => {
  const { app, user } = await open();
  const { id: userId } = await user();
  const caller = { userId, tokenId: null, scopes: new Set<string>(), actedById: null };
  const turns = new Turns(app.core.limits, userId, () => true);
  await assert.rejects(getSnapshot(app.core, caller, {}, turns), { code: "unavailable" });
});

test("include adds members to the files of messages as in their lists, and not to last_message", async () => {
  const server = await open();
  const { ann, conversation } = await pair(server);
  await give(server, ann, conversation, "a.txt");
  const query = "include=unscanned,image";
  const { conversations } = await snapshotOf(server, ann, `?${query}`);
  const list = `/v1/messages?conversation_id=${conversation}&${query}`;
  const { data } = await get<{ data: object[] }>(server, ann, list);
  const shown = conversations.find(({ id }) => id === conversation)!;
  assert.deepEqual(shown.messages, data);
  assert.deepEqual(
    shown.last_message,
    (await get<Entry>(server, ann, `/v1/conversations/${conversation}`)).last_message,
  );
});

test("the cursor of a snapshot works before there are events, and while all are erased", async () => {
  const server = await open();
  const ann = await person(server, "ann-of-no-events");
  const { last_event_id } = await snapshotOf(server, ann);
  const after = (id: string | null) => eventPage(server, ann, `?ending_before=${id}`);
  assert.deepEqual((await after(last_event_id)).data, []);
  await add(server, ann, "nobody at all");
  assert.deepEqual(
    (await after(last_event_id)).data.map(({ type }) => type),
    ["contact.created"],
  );
  const { last_event_id: later } = await snapshotOf(server, ann);
  assert.deepEqual((await after(later)).data, []);
  const last = sql<{
    number: number;
  }>`SELECT MAX(number) AS number FROM events WHERE recipient_id = ${ann.id}`;
  assert.equal((await server.app.core.db.get(last))!.number, 1);
});
