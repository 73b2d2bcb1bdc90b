// What events tell, and to whom: links, presence, erased events and users.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp } from "../../support/app.ts";
import { allEvents, eventPage, listen, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, LIMITS } from "../../support/hooks.ts";
import { add, code, give, person, read, send } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";

const linkOf = ({ payload }: TestEvent) => String(payload.file_url);

test("after leaving a conversation its files are ids in events and in a redelivery", async (t) => {
  const server = await startApp(t, LIMITS);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const to = await receiver(t);
  const made = await hook(server, bob, to, { events: ["attachment.created"] });
  const own = await add(server, ann, "bob");
  const back = await add(server, bob, "ann");
  const kept = await give(server, ann, own.conversation_id, "kept");
  const [told] = await to.wait(1);
  assert.equal((await fetch(linkOf(told!.event))).status, 200);
  assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${back.id}`)).status, 204);
  const tells = (events: TestEvent[]) => events.find(({ type }) => type === "attachment.created")!;
  const ids = { id: kept, conversation_id: own.conversation_id };
  const events = await allEvents(server, bob);
  assert.deepEqual(tells(events).payload, ids);
  const stream = await listen(t, server, bob, { after: events[0]!.id });
  assert.deepEqual(tells(await stream.wait(3)).payload, ids);
  const sent = await read<{ data: { id: string }[] }>(
    send(server, bob, "GET", `/v1/webhooks/${made.id}/deliveries`),
    200,
  );
  const path = `/v1/webhooks/${made.id}/deliveries/${sent.data[0]!.id}/redeliver`;
  assert.equal((await send(server, bob, "POST", path)).status, 200);
  const again = (await to.wait(2))[1]!.event;
  assert.deepEqual([again.id, again.payload], [told!.event.id, ids]);
  // The uploader still has it.
  assert.equal((await fetch(linkOf(tells(await allEvents(server, ann))))).status, 200);
});

test("a member who does not see a file is told nothing of it, then or later", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, ann, "bob");
  const back = await add(server, bob, "ann");
  await send(server, bob, "PUT", `/v1/contacts/${back.id}/block`);
  const id = await give(server, ann, conversation_id, "while she was blocked");
  await send(server, bob, "DELETE", `/v1/contacts/${back.id}/block`);
  await send(server, ann, "PUT", `/v1/attachments/${id}`, { filename: "renamed" });
  const seen = await give(server, ann, conversation_id, "afterwards");
  await send(server, ann, "DELETE", `/v1/attachments/${id}`);
  const told = async (who: typeof ann) =>
    (await allEvents(server, who))
      .filter(({ type }) => type.startsWith("attachment."))
      .map(({ type, payload }) => [type, payload.id])
      .toSorted();
  const [created, updated, deleted] = ["attachment.created", "attachment.updated", "attachment.deleted"];
  const hers = [
    [created, id],
    [created, seen],
    [deleted, id],
    [updated, id],
  ];
  assert.deepEqual(await told(ann), hers.toSorted());
  assert.deepEqual(await told(bob), [[created, seen]]);
});

test("an event says whom it is told to, and of which conversation", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  await give(server, ann, conversation_id, "file");
  for (const { id, ...who } of [ann, bob]) {
    const { data } = await eventPage(server, { ...who }, "?limit=1");
    const event = data[0] as TestEvent & { user_id: string; conversation_id: string };
    assert.deepEqual(
      [event.type, event.user_id, event.conversation_id],
      ["attachment.created", id, conversation_id],
    );
  }
});

test("the payload of a contact has the presence that retrieving it would have told", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { id } = await add(server, ann, "bob");
  await add(server, bob, "ann");
  now += 3_600_000;
  await read(send(server, bob, "GET", "/v1/me"), 200);
  const retrieved = () => read<Record<string, unknown>>(send(server, ann, "GET", `/v1/contacts/${id}`), 200);
  assert.ok(await eventually(async () => (await retrieved()).last_active_at === now / 1000));
  const changed = await read(send(server, ann, "PUT", `/v1/contacts/${id}`, { display_name: "Bob" }), 200);
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${id}`)).status, 204);
  const { data } = await eventPage(server, ann, "?limit=2");
  assert.deepEqual(
    data.map(({ type, payload }) => [type, payload]),
    [
      ["contact.deleted", changed],
      ["contact.updated", changed],
    ],
  );
});

test("an update that changes nothing has no event", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const { id, conversation_id } = await add(server, ann, "bob");
  const file = await give(server, ann, conversation_id, "file");
  const filename = (
    await read<{ filename: string }>(send(server, ann, "GET", `/v1/attachments/${file}`), 200)
  ).filename;
  await read(send(server, ann, "PUT", `/v1/attachments/${file}`, { filename }), 200);
  await read(send(server, ann, "PUT", `/v1/contacts/${id}`, { display_name: null }), 200);
  assert.deepEqual(
    (await allEvents(server, ann)).map(({ type }) => type),
    ["contact.created", "message.created", "attachment.created"],
  );
});

test("who polls is told of events that were erased meanwhile", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ann = await person(server, "ann");
  for (const name of ["a", "b"]) await add(server, ann, name);
  const [first, second] = await allEvents(server, ann);
  now += 8 * 24 * 3600 * 1000;
  await add(server, ann, "c");
  const behind = (event: TestEvent, more = "") => `/v1/events?ending_before=${event.id}${more}`;
  for (const more of ["", "&types=contact.created"])
    assert.equal(await code(send(server, ann, "GET", behind(first!, more)), 410), "events_erased");
  const page = await read<{ data: TestEvent[] }>(send(server, ann, "GET", behind(second!)), 200);
  assert.equal(page.data.length, 1);
});

test("events of types that are rare are found, in both directions, however many lie between", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const { db } = server.app.core;
  const { id } = await add(server, ann, "first");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${id}`)).status, 204);
  const between = Array.from({ length: 11_000 }, (_, i) => [i + 3, "contact.updated"] as const);
  const rows = [...between, [11_003, "contact.deleted"] as const].map(([number, type]) => [
    ...[number, ann.id, number, type, "cnv_x", server.app.core.clock(), '{"id":"con_x"}'],
  ]);
  const columns = ["position", "recipient_id", "number", "type", "conversation_id", "created_at", "payload"];
  await db.write("importRows", { table: { name: "events", key: ["position"], columns }, rows });
  const asked = "&types=contact.deleted,contact.created";
  const typesOf = async (query: string) =>
    (await eventPage(server, ann, query + asked)).data.map(({ type }) => type);
  assert.deepEqual(await typesOf("?limit=3"), ["contact.deleted", "contact.deleted", "contact.created"]);
  assert.deepEqual(await typesOf("?limit=1"), ["contact.deleted"]);
  const first = (await eventPage(server, ann, "?limit=3&types=contact.created")).data[0]!;
  assert.deepEqual(await typesOf(`?limit=5&ending_before=${first.id}`), [
    "contact.deleted",
    "contact.deleted",
  ]);
});

test("a stream ends with its user", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const stream = await listen(t, server, ann);
  await deleteUser(server.app.core, null, ann.id);
  await stream.ended;
});
