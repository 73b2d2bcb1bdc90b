import assert from "node:assert/strict";
import { test } from "node:test";
import { nextEvents } from "../../../src/core/events/events.ts";
import { allTokens, revokeToken } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApp, startOn, testConfig } from "../../support/app.ts";
import { eventPage, listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, person, send } from "../../support/people.ts";
import { addUser, contact } from "../../support/rows.ts";

test("pages and streams have the same events, and a stream resumes after any of them", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  const stream = await listen(t, server, ann);
  for (let i = 0; i < 25; i++) await add(server, ann, `friend ${i}`);
  const all = await stream.wait(25);
  assert.deepEqual(
    all.map(({ sequence }) => sequence),
    all.map((_, i) => i + 1),
  );
  const newest = await eventPage(server, ann, "?limit=10");
  assert.equal(newest.has_more, true);
  assert.deepEqual(newest.data, all.slice(15).reverse());
  const older = await eventPage(server, ann, `?limit=100&starting_after=${newest.data.at(-1)!.id}`);
  assert.deepEqual([older.has_more, older.data], [false, all.slice(0, 15).reverse()]);
  const newer = await eventPage(server, ann, `?limit=5&ending_before=${all[3]!.id}`);
  assert.deepEqual([newer.has_more, newer.data], [true, all.slice(4, 9).reverse()]);
  for (const at of [0, 7, 24]) {
    const resumed = await listen(t, server, ann, { after: all[at]!.id });
    assert.deepEqual(await resumed.wait(24 - at), all.slice(at + 1));
    resumed.close();
  }
  assert.deepEqual((await eventPage(server, ann, "?types=contact.updated")).data, []);
  const some = await listen(t, server, ann, { query: "?types=attachment.created,contact.deleted" });
  await add(server, ann, "one more");
  const { data } = (await (await send(server, ann, "GET", "/v1/contacts?limit=1")).json()) as {
    data: { id: string }[];
  };
  await send(server, ann, "DELETE", `/v1/contacts/${data[0]!.id}`);
  assert.deepEqual(
    (await some.wait(1)).map(({ type }) => type),
    ["contact.deleted"],
  );
});

test("Last-Event-ID of an answer is the newest event, even without any", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ann = await person(server, "ann");
  const cursor = async (headers = {}, method = "GET") => {
    const controller = new AbortController();
    const answer = await fetch(`${server.url}/v1/events?types=attachment.created`, {
      method,
      headers: { ...ann.headers, ...headers },
      signal: controller.signal,
    });
    controller.abort();
    assert.equal(answer.status, 200);
    return answer.headers.get("last-event-id")!;
  };
  const asStream = { accept: "text/event-stream" };
  const none = await cursor();
  assert.equal(await cursor(asStream), none);
  for (const name of ["first", "second"]) await add(server, ann, name);
  const { data } = await eventPage(server, ann, `?ending_before=${none}`);
  assert.deepEqual(await (await listen(t, server, ann, { after: none })).wait(2), data.toReversed());
  assert.equal(data.length, 2);
  for (const newest of [await cursor(), await cursor(asStream), await cursor({}, "HEAD")])
    assert.equal(newest, data[0]!.id);
  assert.equal(await cursor({ ...asStream, "last-event-id": data[1]!.id }), data[1]!.id);
  now += 8 * 24 * 3600 * 1000;
  const gone = await fetch(`${server.url}/v1/events`, {
    headers: { ...ann.headers, ...asStream, "last-event-id": none },
  });
  assert.equal(gone.status, 410);
  assert.equal(await cursor(), data[0]!.id, "the cursor outlives the event");
});

test("a stream ends when its token is revoked, and when the server stops", async (t) => {
  const server = await startApp(t);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const [hers, his] = [await listen(t, server, ann), await listen(t, server, bob)];
  const token = (await allTokens(server.app.core)).find(({ username }) => username === "ann");
  await revokeToken(server.app.core, null, token!.id);
  await hers.ended;
  await add(server, bob, "friend");
  await his.wait(1);
  await server.app.stop();
  await his.ended;
});

test("resuming after an erased event is 410 events_erased, and numbers continue", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, {}, { clock: () => now });
  const ann = await person(server, "ann");
  const stream = await listen(t, server, ann);
  for (let i = 0; i < 3; i++) await add(server, ann, `friend ${i}`);
  const old = await stream.wait(3);
  now += 8 * 24 * 3600 * 1000;
  assert.deepEqual(await eventPage(server, ann), { has_more: false, data: [] });
  const gone = await fetch(`${server.url}/v1/events`, {
    headers: { ...ann.headers, accept: "text/event-stream", "last-event-id": old[0]!.id },
  });
  assert.equal(gone.status, 410);
  assert.equal(((await gone.json()) as { code: string }).code, "events_erased");
  const resumed = await listen(t, server, ann, { after: old[2]!.id });
  await add(server, ann, "another");
  assert.deepEqual(
    (await resumed.wait(1)).map(({ sequence }) => sequence),
    [4],
  );
  const { core } = server.app;
  assert.equal(await core.db.write("forgetEvents", { recipientId: ann.id, before: now, limit: 100 }), 3);
  assert.equal(
    await nextEvents(core, ann.id, 2, undefined),
    undefined,
    "a stream that was at the second ends",
  );
  assert.equal((await nextEvents(core, ann.id, 3, undefined))?.after, 4);
});

test("events are erased after eventDays, except the number of each user's last one", async (t) => {
  let now = contact("a", 0).createdAt;
  const clock = () => now;
  const config = await testConfig(t, { eventDays: 2 });
  const first = await startOn(t, config, { clock });
  const { db } = first.app.core;
  // More users than one query returns. One of them has more events than one write erases.
  const users = Array.from({ length: 1100 }, (_, i) => `user_${i}`);
  await Promise.all(users.map((user) => addUser(db, user)));
  const write = (user: string, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) =>
      db.write("createContact", { ...contact(user, from + i), createdAt: now }),
    );
  await Promise.all([...write("user_7", 0, 1200), ...users.slice(8).flatMap((user) => write(user, 0, 2))]);
  now += 86_400_000;
  await Promise.all(users.slice(1000).flatMap((user) => write(user, 2, 4)));
  const ann = await person(first, "ann");
  await add(first, ann, "friend");
  await first.app.stop();
  const left = async (days: number, rows: number, kept: number) => {
    now += days * 86_400_000;
    const { app } = await startOn(t, config, { clock });
    const events = () => app.core.db.all<{ payload: string }>(sql`SELECT payload FROM events`);
    const found = async () => {
      const payloads = (await events()).map(({ payload }) => payload);
      return [payloads.length, payloads.filter((payload) => payload !== "").length];
    };
    await eventually(async () => String(await found()) === String([rows, kept]));
    assert.deepEqual(await found(), [rows, kept]);
    await app.stop();
  };
  const all = 1200 + 2 * 1092 + 2 * 100 + 1;
  await left(0, all, all);
  await left(1.5, 1 + 992 + 2 * 100 + 1, 2 * 100 + 1);
  await left(1, 1 + 1092 + 1, 0);
});
