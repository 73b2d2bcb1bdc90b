// All-users webhooks: one delivery per change, its recipients and its content.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken, SCOPES, type Scope } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, hook, LIMITS, newest } from "../../support/hooks.ts";
import { onEachEngineWith } from "../../support/on-engines.ts";
import { add, done, give, type Person, pair, read, say, send } from "../../support/people.ts";
import { type Received, receiver } from "../../support/receiver.ts";

interface Recipient {
  user_id: string;
  notify: boolean;
}

const recipientsOf = ({ event }: Received) =>
  (event as unknown as { recipients: Recipient[] }).recipients.toSorted((a, b) =>
    a.user_id < b.user_id ? -1 : 1,
  );
const idsOf = (received: Received) => recipientsOf(received).map(({ user_id }) => user_id);

/** Creates two users who have each other as contacts, and an all-users webhook for these events. */
async function begin(server: TestApp, url: { url: string }, events: string) {
  const admin = await server.user({ scopes: SCOPES });
  const { ann, bob, conversation, back } = await pair(server);
  const made = await hook(server, admin, url as never, { all_users: true, events });
  const again = async (type: string) => {
    const found = (await deliveries(server, admin, made)).findLast((each) => each.type === type)!;
    const path = `/v1/webhooks/${made.id}/deliveries/${found.id}/redeliver`;
    assert.equal((await asker(server, admin)("POST", path)).status, 200);
    return found;
  };
  return { admin, ann, bob, conversation, back, made, again };
}

const ALL = "message.created,message.updated,message.deleted,attachment.created,attachment.deleted";

onEachEngineWith(LIMITS, "an all-users webhook gets one delivery per change", async (server, t) => {
  const to = await receiver(t);
  const { ann, bob, conversation } = await begin(server, to, `${ALL},contact.created`);
  // PostgreSQL may number the contacts of the two users after the webhook was created.
  const wanted = () =>
    to.received.filter(({ event }) => ![ann.name, bob.name].includes(String(event.payload.username)));
  const text = await say(server, ann, conversation, "text");
  assert.ok(await eventually(async () => wanted().length === 1));
  const file = await give(server, bob, conversation, "file");
  await send(server, ann, "DELETE", `/v1/messages/${text}`);
  await add(server, ann, "carol");
  await eventually(async () => wanted().length === 5);
  const got = wanted();
  const types = ["attachment.created", "contact.created", "message.created", "message.created"];
  assert.deepEqual(got.map(({ event }) => event.type).toSorted(), [...types, "message.deleted"]);
  const of = (type: string, id: unknown) =>
    got.find(({ event }) => event.type === type && event.payload.id === id)!;
  const members = [ann.id, bob.id].toSorted();
  const attached = of("attachment.created", file);
  const deleted = of("message.deleted", text);
  assert.deepEqual(
    Object.keys(attached.event),
    "id type timestamp conversation_id recipients payload".split(" "),
  );
  for (const each of [attached, deleted]) {
    assert.deepEqual(idsOf(each), members);
    assert.equal(each.headers["webhook-id"], each.event.id);
    assert.ok(recipientsOf(each).every(({ notify }) => !notify));
  }
  assert.equal(await (await fetch(String(attached.event.payload.file_url))).text(), "file");
  assert.deepEqual(deleted.event.payload, { id: text, conversation_id: conversation });
  const contact = got.find(({ event }) => event.type === "contact.created")!;
  assert.deepEqual(recipientsOf(contact), [{ user_id: ann.id, notify: false }]);
  assert.equal(contact.event.payload.username, "carol");
  assert.equal(wanted().length, 5);
});

test("an all-users delivery says whom to notify, and leaves out reactions", async (t) => {
  const server = await startApp(t, LIMITS);
  const to = await receiver(t);
  const { ann, bob, conversation } = await begin(server, to, "message.created");
  const id = await say(server, ann, conversation, "hello");
  const [got] = await to.wait(1);
  const alerts = [
    { user_id: ann.id, notify: false },
    { user_id: bob.id, notify: true },
  ];
  assert.deepEqual(recipientsOf(got!), alerts);
  const { reactions, ...shown } = await read<Json>(send(server, bob, "GET", `/v1/messages/${id}`), 200);
  assert.deepEqual(reactions, []);
  assert.deepEqual(got!.event.payload, shown);
});

test("a mention notifies through a mute, and an edit notifies nobody, in streams and webhooks", async (t) => {
  const server = await startApp(t, LIMITS);
  const [to, own] = [await receiver(t), await receiver(t)];
  const { ann, bob, conversation } = await begin(server, to, "message.created,message.updated");
  await hook(server, bob, own, { events: "message.created,message.updated" });
  const muted = { muted_until: 4_000_000_000 };
  await read(send(server, bob, "PUT", `/v1/conversations/${conversation}`, muted), 200);
  const stream = await listen(t, server, bob, { query: "?types=message.created,message.updated" });
  const form = (...mentions: string[]) => {
    const body = new FormData();
    body.set("conversation_id", conversation);
    for (const id of mentions) body.append("mentions", id);
    body.append("file", new File(["x"], "x.txt"));
    return fetch(`${server.url}/v1/messages`, { method: "POST", headers: ann.headers, body });
  };
  const id = await say(server, ann, conversation, "Bob?", { mentions: [ann.id, bob.id] });
  await read(form(ann.id, bob.id), 201);
  await say(server, ann, conversation, "nobody");
  await read(form(ann.id), 201);
  await read(send(server, ann, "PUT", `/v1/messages/${id}`, { text: "Bob!" }), 200);
  const wanted = [true, true, false, false, undefined];
  const alerts = (events: { notify?: boolean }[]) => events.map(({ notify }) => notify);
  assert.deepEqual(alerts(await stream.wait(5)), wanted);
  assert.deepEqual(alerts((await own.wait(5)).map(({ event }) => event)), wanted);
  const told = await to.wait(5);
  const alertsOf = (who: Person) =>
    told.map((each) => recipientsOf(each).find(({ user_id }) => user_id === who.id)!.notify);
  assert.deepEqual(alertsOf(bob), [true, true, false, false, false]);
  assert.deepEqual(alertsOf(ann), [false, false, false, false, false], "it is the sender's");
  assert.equal(told.at(-1)!.event.type, "message.updated");
});

test("a redelivery has the same id, current content and current recipients, and is skipped without any", async (t) => {
  const server = await startApp(t, LIMITS);
  const to = await receiver(t);
  const { admin, ann, bob, conversation, back, made, again } = await begin(server, to, ALL);
  const id = await say(server, ann, conversation, "first");
  const path = `/v1/messages/${id}`;
  await read(send(server, ann, "PUT", path, { text: "second" }), 200);
  const [first] = await to.wait(2);
  await again("message.created");
  const second = (await to.wait(3))[2]!;
  assert.deepEqual([second.event.id, second.event.payload.text], [first!.event.id, "second"]);
  assert.deepEqual(idsOf(second), [ann.id, bob.id].toSorted());
  await done(send(server, bob, "DELETE", `/v1/contacts/${back}`));
  await again("message.created");
  assert.deepEqual(idsOf((await to.wait(4))[3]!), [ann.id]);
  await done(send(server, ann, "DELETE", path));
  const deleted = (await to.wait(5))[4]!;
  assert.deepEqual([deleted.event.type, idsOf(deleted)], ["message.deleted", [ann.id]]);
  const skipped = await again("message.created");
  const isSkipped = async () =>
    (await deliveries(server, admin, made)).find((each) => each.id === skipped.id)?.state === "skipped";
  assert.ok(await eventually(isSkipped));
  // Later changes are delivered.
  await say(server, ann, conversation, "last");
  assert.equal((await to.wait(6))[5]!.event.payload.text, "last");
});

test("conversation.updated is one delivery per user, skipped once that user has left", async (t) => {
  const server = await startApp(t, LIMITS);
  const to = await receiver(t);
  const { admin, ann, bob, conversation, back, made, again } = await begin(
    server,
    to,
    "conversation.updated",
  );
  const path = `/v1/conversations/${conversation}`;
  for (const [i, who] of [ann, bob].entries()) {
    const changed = await read<Json>(send(server, who, "PUT", path, { is_pinned: true }), 200);
    const got = (await to.wait(i + 1))[i]!;
    assert.deepEqual(recipientsOf(got), [{ user_id: who.id, notify: false }]);
    assert.deepEqual(got.event.payload, changed);
  }
  const ofAnn = await again("conversation.updated");
  const third = (await to.wait(3))[2]!;
  assert.deepEqual([third.event.id, idsOf(third)], [ofAnn.event_id, [ann.id]]);
  await done(send(server, bob, "DELETE", `/v1/contacts/${back}`));
  const [ofBob] = await deliveries(server, admin, made);
  const redelivery = `/v1/webhooks/${made.id}/deliveries/${ofBob!.id}/redeliver`;
  assert.equal((await asker(server, admin)("POST", redelivery)).status, 200);
  await newest(server, admin, made, { state: "skipped" });
  assert.equal(to.received.length, 3);
});

test("a redelivered deletion keeps its recipients, except erased users", async (t) => {
  const server = await startApp(t, LIMITS);
  const to = await receiver(t);
  const { ann, bob, conversation, back, again } = await begin(server, to, "message.deleted");
  const id = await say(server, ann, conversation, "text");
  await send(server, ann, "DELETE", `/v1/messages/${id}`);
  await send(server, bob, "DELETE", `/v1/contacts/${back}`);
  assert.deepEqual(idsOf((await to.wait(1))[0]!), [ann.id, bob.id].toSorted());
  await again("message.deleted");
  assert.deepEqual(idsOf((await to.wait(2))[1]!), [ann.id, bob.id].toSorted());
  await deleteUser(server.app.core, null, ann.id);
  await again("message.deleted");
  const last = (await to.wait(3))[2]!;
  assert.deepEqual([idsOf(last), last.event.payload], [[bob.id], { id, conversation_id: conversation }]);
});

test("with PARLEY_WEBHOOK_CONTENT=ids an all-users webhook gets ids only, a user's webhook everything", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookIdsOnly: true });
  const [to, own] = [await receiver(t), await receiver(t)];
  const { admin, ann, bob, conversation, made } = await begin(
    server,
    to,
    "message.created,attachment.created,contact.created",
  );
  await hook(server, bob, own, { events: "message.created" });
  const file = await give(server, ann, conversation, "file");
  const { id } = await add(server, ann, "carol");
  const got = await to.wait(3);
  const payloads = new Map(got.map(({ event }) => [event.type, event.payload]));
  const message = (await own.wait(1))[0]!.event.payload as { id: string; attachments: Json[] };
  assert.deepEqual(payloads.get("message.created"), { id: message.id, conversation_id: conversation });
  assert.deepEqual(payloads.get("attachment.created"), { id: file, conversation_id: conversation });
  const ofCarol = got.find(({ event }) => event.type === "contact.created")!.event;
  assert.deepEqual(ofCarol.payload, {
    id,
    conversation_id: (ofCarol as unknown as { conversation_id: string }).conversation_id,
  });
  assert.equal(message.attachments[0]!.filename, "file");
  await asker(server, admin)("POST", `/v1/webhooks/${made.id}/test`);
  assert.deepEqual((await to.wait(4))[3]!.event.payload, { id: made.id });
});

test("with PARLEY_WEBHOOK_CONTENT=ids an all-users webhook gets no group names", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookIdsOnly: true });
  const to = await receiver(t);
  const { ann, bob } = await begin(server, to, "group.created,group.updated,member.created");
  const fields = { name: "Climbing", members: [bob.name] };
  const made = read<Json>(send(server, ann, "POST", "/v1/groups", fields), 201);
  const { id, conversation_id } = await made;
  await read(send(server, ann, "PUT", `/v1/groups/${id}`, { name: "Skiing" }), 200);
  await to.wait(5);
  const payloads = to.received.map(({ event }) => `${event.type} ${JSON.stringify(event.payload)}`);
  const own = JSON.stringify({ id, conversation_id });
  const invited = JSON.stringify({ id, conversation_id: null });
  assert.deepEqual(
    payloads.map((each) => each.replace(/mem_\w+/, "mem")).sort(),
    [
      `group.created ${invited}`,
      `group.created ${own}`,
      `group.updated ${invited}`,
      `group.updated ${own}`,
      `member.created {"id":"mem","group_id":"${id}"}`,
    ].sort(),
  );
});

test("a webhook gets the event types that its token may read, until another token changes its URL or types", async (t) => {
  const server = await startApp(t, LIMITS);
  const { ann, bob, conversation } = await pair(server);
  const as = async (...scopes: Scope[]): Promise<Person> => {
    const { token } = await createToken(server.app.core, null, bob.id, {
      scopes: ["events:read", ...scopes],
    });
    return { ...bob, token, headers: { authorization: `Bearer ${token}` } };
  };
  const [contacts, messages] = [await as("contacts:read", "contacts:write"), await as("messages:read")];
  const [first, second] = [await receiver(t), await receiver(t)];
  const refused = await asker(server, contacts)("POST", "/v1/webhooks", {
    url: first.url,
    events: ["contact.created", "message.created"],
  });
  assert.deepEqual([refused.status, refused.body.code], [403, "insufficient_scope"]);
  const made = await hook(server, contacts, first);
  const path = `/v1/webhooks/${made.id}`;
  await say(server, ann, conversation, "unseen");
  await add(server, contacts, "carol");
  assert.deepEqual(
    (await first.wait(1)).map(({ event }) => event.type),
    ["contact.created"],
  );
  const { status } = await asker(server, contacts)("PUT", path, { events: ["message.created"] });
  assert.equal(status, 403);
  assert.equal((await asker(server, messages)("PUT", path, { enabled: true })).status, 200);
  await add(server, contacts, "dave");
  await first.wait(2);
  assert.equal((await asker(server, messages)("PUT", path, { url: second.url })).status, 200);
  await add(server, contacts, "eve");
  await say(server, ann, conversation, "seen");
  assert.deepEqual(
    (await second.wait(1)).map(({ event }) => [event.type, event.payload.text]),
    [["message.created", "seen"]],
  );
  // Pending deliveries are not sent to a URL whose token may not read them.
  const ask = asker(server, messages);
  const ofCarol = (await deliveries(server, bob, made)).findLast(({ type }) => type === "contact.created")!;
  assert.equal((await ask("POST", `${path}/deliveries/${ofCarol.id}/redeliver`)).status, 200);
  await newest(server, bob, made, { state: "delivered" });
  await say(server, ann, conversation, "last");
  assert.equal((await second.wait(2))[1]!.event.payload.text, "last");
  const found = (await deliveries(server, bob, made)).find(({ id }) => id === ofCarol.id)!;
  assert.equal(found.state, "skipped");
});

test("a change with 502 recipients is one delivery, from a backlog, too", async (t) => {
  const server = await startApp(t, LIMITS);
  const to = await receiver(t);
  const { admin, ann, conversation, made } = await begin(server, to, "message.created");
  const { db } = server.app.core;
  const rows = Array.from({ length: 500 }, (_, i) => [conversation, `usr_x${i}`, 1]);
  const columns = ["conversation_id", "user_id", "joined_at"];
  await db.write("importRows", { table: { name: "members", key: [], columns }, rows });
  await say(server, ann, conversation, "to all");
  assert.equal(recipientsOf((await to.wait(1))[0]!).length, 502);
  await newest(server, admin, made, { state: "delivered" });
  const { position } = (await db.get<{ position: number }>(
    sql`SELECT position FROM events WHERE type = 'message.created' ORDER BY position LIMIT 1`,
  ))!;
  // As if the webhook had had a backlog then.
  await db.write("addDeliveries", {
    ...{ deliveries: [], behind: [], fallen: [{ webhookId: String(made.id), position }] },
    ...{ since: 0, from: position + 501, to: position + 501, now: 1 },
  });
  const again = (await to.wait(2))[1]!;
  assert.equal(recipientsOf(again).length, 502);
  assert.equal((await deliveries(server, admin, made)).length, 2);
});

test("file links in an all-users webhook are the sender's, or a recipient's if the sender no longer sees the file", async (t) => {
  const server = await startApp(t, LIMITS);
  const to = await receiver(t);
  const { ann, bob, conversation, again } = await begin(server, to, "attachment.created");
  const file = await give(server, bob, conversation, "file");
  const userOf = async (count: number) => {
    const link = (await to.wait(count))[count - 1]!.event.payload.file_url as string;
    assert.equal((await fetch(link)).status, 200);
    return new URL(link).searchParams.get("user");
  };
  assert.equal(await userOf(1), bob.id);
  const { message_id } = await read<{ message_id: string }>(
    send(server, bob, "GET", `/v1/attachments/${file}`),
    200,
  );
  await send(server, bob, "DELETE", `/v1/messages/${message_id}?for=me`);
  await again("attachment.created");
  assert.equal(await userOf(2), ann.id);
});
