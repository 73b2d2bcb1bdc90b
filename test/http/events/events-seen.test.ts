// Content of events: last_active_at, erased events, rare types.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../../support/app.ts";
import { allEvents, eventPage, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, code, give, person, read, send } from "../../support/people.ts";

test("a member who does not see a file gets no event of it, not even later", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const { conversation_id } = await add(server, ann, "bob");
  const back = await add(server, bob, "ann");
  await send(server, bob, "PUT", `/v1/contacts/${back.id}/block`);
  const id = await give(server, ann, conversation_id, "while blocked");
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
  const wanted = [
    [created, id],
    [created, seen],
    [deleted, id],
    [updated, id],
  ];
  assert.deepEqual(await told(ann), wanted.toSorted());
  assert.deepEqual(await told(bob), [[created, seen]]);
});

test("events of a contact have the last_active_at that GET shows", async (t) => {
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

test("polling after an erased event is 410 events_erased", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ann = await person(server, "ann");
  for (const name of ["a", "b"]) await add(server, ann, name);
  const [first, second] = await allEvents(server, ann);
  now += 8 * 24 * 3600 * 1000;
  await add(server, ann, "c");
  const newerThan = (event: TestEvent, more = "") => `/v1/events?ending_before=${event.id}${more}`;
  for (const more of ["", "&types=contact.created"])
    assert.equal(await code(send(server, ann, "GET", newerThan(first!, more)), 410), "events_erased");
  const page = await read<{ data: TestEvent[] }>(send(server, ann, "GET", newerThan(second!)), 200);
  assert.equal(page.data.length, 1);
});

test("pages find events of rare types among 11,000 others, in both directions", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const { db } = server.app.core;
  const { id } = await add(server, ann, "first");
  assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${id}`)).status, 204);
  const between = Array.from({ length: 11_000 }, (_, i) => [i + 3, "contact.updated"] as const);
  const rows = [...between, [11_003, "contact.deleted"] as const].map(([number, type]) => [
    ...[number, ann.id, number, type, "cnv_x", server.app.core.clock(), '{"id":"con_x"}'],
  ]);
  const columns = "position recipient_id number type conversation_id created_at payload".split(" ");
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
