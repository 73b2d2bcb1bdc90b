// One case for each rule of docs/sharing.md on who sees what. sharing-model tests their combinations.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { findOrphans } from "../../../src/db/queries/upkeep/orphans.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApp, type TestApp, upload } from "../../support/app.ts";
import { allEvents } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import {
  add,
  type Contact,
  code,
  fieldsOf,
  filesOf,
  give,
  type Person,
  person,
  read,
  send,
} from "../../support/people.ts";

interface Message {
  id: string;
  text: string;
  mentions: string[];
}

interface Pair {
  server: TestApp;
  ann: Person;
  bob: Person;
  /** Ann's contact. */
  toBob: Contact;
  /** Bob's contact. */
  toAnn: Contact;
  /** Their conversation. */
  id: string;
}

async function pair(t: TestContext, clock?: () => number): Promise<Pair> {
  const server = await startApp(t, {}, clock ? { clock } : {});
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toBob = await add(server, ann, "bob");
  const toAnn = await add(server, bob, "ann");
  return { server, ann, bob, toBob, toAnn, id: toBob.conversation_id };
}

function write(
  server: TestApp,
  who: Person,
  conversation: string,
  text: string,
  more = {},
): Promise<Message> {
  const fields = { conversation_id: conversation, text, ...more };
  return read<Message>(send(server, who, "POST", "/v1/messages", fields), 201);
}

async function texts(server: TestApp, who: Person, conversation: string): Promise<string[]> {
  const path = `/v1/messages?conversation_id=${conversation}`;
  const { data } = await read<{ data: Message[] }>(send(server, who, "GET", path), 200);
  return data.map(({ text }) => text);
}

interface Inbox {
  unread_count: number;
  last_read_id: string | null;
  contact_read_id: string | null;
}

function inboxOf(server: TestApp, who: Person, id: string): Promise<Inbox> {
  return read<Inbox>(send(server, who, "GET", `/v1/conversations/${id}`), 200);
}

async function markRead(server: TestApp, who: Person, id: string, body: object): Promise<void> {
  assert.equal((await send(server, who, "PUT", `/v1/conversations/${id}/read`, body)).status, 204);
}

test("a user who joins again sees nothing from before, not even their own messages", async (t) => {
  const { server, ann, bob, toBob, id } = await pair(t);
  const own = await write(server, ann, id, "hers");
  await write(server, bob, id, "his");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  await add(server, ann, "bob");
  await write(server, bob, id, "after");
  assert.deepEqual(await texts(server, ann, id), ["after"]);
  const path = `/v1/messages/${own.id}`;
  assert.equal(await code(send(server, ann, "PUT", path, { text: "new" }), 404), "message_not_found");
  const late = upload(server.url, ann, new File(["late"], "late"), { message_id: own.id });
  assert.equal(await code(late, 404), "message_not_found");
  assert.deepEqual(await texts(server, bob, id), ["after", "his", "hers"]);
});

function orphans(server: TestApp): Promise<unknown[]> {
  return Array.fromAsync(findOrphans(server.app.core.db));
}

async function withheldRuns(server: TestApp): Promise<number> {
  return (await server.app.core.db.all(sql`SELECT from_id FROM withheld`)).length;
}

test("a user who adds a contact with a block never receives waiting messages", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id: id } = await add(server, bob, "ann");
  await write(server, bob, id, "waiting");
  const fields = { ...fieldsOf("bob"), blocked: true };
  await read(send(server, ann, "POST", "/v1/contacts", fields), 201);
  await write(server, bob, id, "blocked");
  assert.deepEqual(await texts(server, ann, id), []);
  assert.equal((await send(server, ann, "DELETE", "/v1/blocks/bob")).status, 204);
  assert.deepEqual(await texts(server, ann, id), []);
});

test("messages sent while blocked by name are not received on adding the sender", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id: id } = await add(server, bob, "ann");
  await write(server, bob, id, "before the block");
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal((await send(server, ann, "PUT", "/v1/blocks/BOB")).status, 204);
  await write(server, bob, id, "blocked");
  await add(server, ann, "bob");
  await write(server, bob, id, "after");
  assert.deepEqual(await texts(server, ann, id), ["after", "before the block"]);
});

test("messages sent while blocked by name are never received later, however often the block ends", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => ++now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id: id } = await add(server, bob, "ann");
  for (const nth of ["first", "second"]) {
    await write(server, bob, id, `${nth} waiting`);
    assert.equal((await send(server, ann, "PUT", "/v1/blocks/bob")).status, 204);
    await write(server, bob, id, `${nth} blocked`);
    assert.equal((await send(server, ann, "DELETE", "/v1/blocks/bob")).status, 204);
  }
  await write(server, bob, id, "after");
  assert.deepEqual(await orphans(server), []);
  await add(server, ann, "bob");
  assert.deepEqual(await texts(server, ann, id), ["after", "second waiting", "first waiting"]);
  assert.deepEqual(await orphans(server), []);
});

test("messages withheld from a user who never joined are erased with the conversation or the user", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => ++now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const meetAndBlock = async () => {
    const contact = await add(server, bob, "ann");
    await send(server, ann, "PUT", "/v1/blocks/bob");
    await write(server, bob, contact.conversation_id, "blocked");
    await send(server, ann, "DELETE", "/v1/blocks/bob");
    assert.equal(await withheldRuns(server), 1);
    return contact;
  };
  const { id } = await meetAndBlock();
  assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${id}`)).status, 204);
  assert.equal(await withheldRuns(server), 0);
  await meetAndBlock();
  await deleteUser(server.app.core, null, ann.id);
  assert.equal(await withheldRuns(server), 0);
});

test("a block outlives the contact, and adding the contact again lifts it", async (t) => {
  const { server, ann, bob, toBob, id } = await pair(t);
  assert.equal((await send(server, ann, "PUT", `/v1/contacts/${toBob.id}/block`)).status, 204);
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  const blocks = await read<{ data: { username: string }[] }>(send(server, ann, "GET", "/v1/blocks"), 200);
  assert.deepEqual(
    blocks.data.map(({ username }) => username),
    ["bob"],
  );
  await add(server, ann, "bob");
  await write(server, bob, id, "heard again");
  assert.deepEqual(await texts(server, ann, id), ["heard again"]);
});

test("unblocking a user who is no contact reveals nothing to them", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toAnn = await add(server, bob, "ann");
  for (const method of ["PUT", "DELETE"]) {
    assert.equal((await send(server, ann, method, "/v1/blocks/bob")).status, 204);
  }
  now += 120_000;
  await filesOf(server, ann);
  const { core } = server.app;
  await core.db.write("recordActivity", { seen: core.activity.take() });
  const shown = await read<Contact>(send(server, bob, "GET", `/v1/contacts/${toAnn.id}`), 200);
  assert.equal(shown.last_active_at, null);
});

test("a user with an erased user's name sees messages from a minute later on, and all since joining", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const { server, ann, bob, id } = await pair(t, () => now);
  await write(server, ann, id, "for the first bob");
  await deleteUser(server.app.core, null, bob.id);
  now += 59_000;
  await write(server, ann, id, "in the same minute");
  now += 2000;
  await write(server, ann, id, "for the second bob");
  const other = await person(server, "bob");
  await add(server, other, "ann");
  assert.deepEqual(await texts(server, other, id), ["for the second bob"]);
  await deleteUser(server.app.core, null, other.id);
  now += 1000;
  const third = await person(server, "bob");
  await add(server, third, "ann");
  await write(server, third, id, "from the third bob");
  assert.deepEqual(await texts(server, third, id), ["from the third bob"]);
});

/** How a blocked sender can change a message with one file. */
const CHANGES = {
  edits: (server: TestApp, who: Person, message: string) =>
    send(server, who, "PUT", `/v1/messages/${message}`, { text: "edited" }),
  "adds a file to": (server: TestApp, who: Person, message: string) =>
    upload(server.url, who, new File(["late"], "late"), { message_id: message }),
  "renames a file of": (server: TestApp, who: Person, _: string, file: string) =>
    send(server, who, "PUT", `/v1/attachments/${file}`, { filename: "new" }),
};

for (const [what, change] of Object.entries(CHANGES)) {
  test(`when a blocked user ${what} a message, it is withdrawn for good`, async (t) => {
    const { server, ann, bob, toBob, id } = await pair(t);
    const file = await give(server, bob, id, "file");
    const path = `/v1/attachments/${file}`;
    const { message_id: message } = await read<{ message_id: string }>(send(server, ann, "GET", path), 200);
    assert.equal((await send(server, ann, "PUT", `/v1/contacts/${toBob.id}/block`)).status, 204);
    assert.ok((await change(server, bob, message, file)).ok);
    assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}/block`)).status, 204);
    assert.deepEqual(await texts(server, ann, id), []);
    assert.deepEqual(await filesOf(server, ann), []);
    assert.equal(await code(send(server, ann, "GET", `/v1/messages/${message}`), 404), "message_not_found");
    assert.equal(await code(send(server, ann, "GET", path), 404), "attachment_not_found");
    assert.equal((await inboxOf(server, ann, id)).unread_count, 0);
    assert.ok((await allEvents(server, ann)).some(({ type }) => type === "message.deleted"));
    assert.equal((await texts(server, bob, id)).length, 1);
  });
}

test("a grant lists a file and gives no further permission", async (t) => {
  const { server, ann, bob, toBob, id } = await pair(t);
  assert.equal((await send(server, ann, "PUT", `/v1/contacts/${toBob.id}/block`)).status, 204);
  const file = await give(server, bob, id, "withheld");
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"));
  db.prepare("INSERT INTO grants (user_id, attachment_id, conversation_id) VALUES (?, ?, ?)").run(
    ann.id,
    file,
    id,
  );
  db.close();
  assert.deepEqual(await filesOf(server, ann), []);
  assert.equal((await send(server, ann, "GET", `/files/${file}/withheld`)).status, 404);
});

test("a read position only moves forward, and a private one is never shown", async (t) => {
  const { server, ann, bob, id } = await pair(t);
  const sent = [];
  for (const text of ["1", "2", "3"]) sent.push(await write(server, bob, id, text));
  const [first, second, third] = sent.map((message) => message.id);
  await markRead(server, ann, id, { message_id: first });
  const events = await allEvents(server, bob);
  await markRead(server, ann, id, { message_id: third, private: true });
  assert.deepEqual(await allEvents(server, bob), events);
  assert.equal((await inboxOf(server, bob, id)).contact_read_id, first);
  await markRead(server, ann, id, { message_id: second, private: true });
  const inbox = await inboxOf(server, ann, id);
  assert.deepEqual([inbox.last_read_id, inbox.unread_count], [third, 0]);
  await markRead(server, ann, id, { message_id: second });
  await markRead(server, ann, id, { message_id: first });
  assert.equal((await inboxOf(server, bob, id)).contact_read_id, second);
});

test("the contact's read position from before rejoining is not shown", async (t) => {
  const { server, ann, bob, toBob, id } = await pair(t);
  const before = await write(server, ann, id, "before");
  await markRead(server, bob, id, { message_id: before.id });
  assert.equal((await inboxOf(server, ann, id)).contact_read_id, before.id);
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  await add(server, ann, "bob");
  assert.equal((await inboxOf(server, ann, id)).contact_read_id, null);
  const after = await write(server, ann, id, "after");
  await markRead(server, bob, id, { message_id: after.id });
  assert.equal((await inboxOf(server, ann, id)).contact_read_id, after.id);
});

test("own messages are not unread, and sending privately reads earlier messages", async (t) => {
  const { server, ann, bob, id } = await pair(t);
  await write(server, bob, id, "his");
  assert.equal((await inboxOf(server, ann, id)).unread_count, 1);
  assert.equal((await inboxOf(server, bob, id)).unread_count, 0);
  await write(server, ann, id, "hers");
  assert.equal((await inboxOf(server, ann, id)).unread_count, 0);
  assert.equal((await inboxOf(server, bob, id)).contact_read_id, null);
  assert.equal((await inboxOf(server, bob, id)).unread_count, 1);
  // Also after a message of one's own.
  await write(server, bob, id, "his second");
  const own = await write(server, ann, id, "her second");
  await write(server, bob, id, "his third");
  const { unread_count, last_read_id } = await inboxOf(server, ann, id);
  assert.deepEqual([unread_count, last_read_id], [1, own.id]);
});

test("a reply names a message that its sender sees, and a mention names a member", async (t) => {
  const { server, ann, bob, toBob, id } = await pair(t);
  const stranger = await person(server, "cyd");
  await write(server, ann, id, "seen");
  assert.equal((await send(server, bob, "PUT", "/v1/blocks/ann")).status, 204);
  const hidden = await write(server, ann, id, "withheld");
  const answer = { conversation_id: id, text: "answer" };
  const replying = send(server, bob, "POST", "/v1/messages", { ...answer, reply_to_id: hidden.id });
  assert.equal(await code(replying, 404), "message_not_found");
  const mentioning = send(server, ann, "POST", "/v1/messages", { ...answer, mentions: [stranger.id] });
  assert.equal(await code(mentioning, 400), "invalid_parameter");
  assert.equal((await texts(server, ann, toBob.conversation_id)).length, 2);
});

test("a mention does not reveal whether the contact has left", async (t) => {
  const { server, ann, bob, toAnn, id } = await pair(t);
  const mention = { conversation_id: id, text: "are you there?", mentions: [bob.id] };
  const mentioning = () => read<Message>(send(server, ann, "POST", "/v1/messages", mention), 201);
  await mentioning();
  assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${toAnn.id}`)).status, 204);
  assert.deepEqual((await mentioning()).mentions, [bob.id]);
});

test("an event contains what its recipient sees now, or only ids", async (t) => {
  const { server, ann, bob, toBob, id } = await pair(t);
  const message = await write(server, bob, id, "secret");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
  const find = async () => {
    const { data } = await read<{ data: { type: string; payload: object }[] }>(
      send(server, ann, "GET", "/v1/events"),
      200,
    );
    return data.find(({ type }) => type === "message.created")?.payload;
  };
  assert.ok(await eventually(async () => (await find()) !== undefined));
  assert.deepEqual(await find(), { id: message.id, conversation_id: id });
});
