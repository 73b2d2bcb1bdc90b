// A webhook with a backlog: its rows are bounded, and it still gets every event.
import assert from "node:assert/strict";
import { test } from "node:test";
import { raw, sql } from "../../../src/db/sql.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { hook, LIMITS } from "../../support/hooks.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { add, type Contact, type Person, person } from "../../support/people.ts";
import { type Received, receiver } from "../../support/receiver.ts";

/** How long nothing may happen. */
const SETTLE_MS = 40_000;

async function rows(server: TestApp): Promise<{ pending: number; bytes: number }> {
  const found = await server.app.core.db.get<{ pending: number; bytes: number | null }>(
    sql`SELECT COUNT(CASE WHEN state = 'pending' THEN 1 END) AS pending,
       CAST(SUM(LENGTH(payload) + 600) AS BIGINT) AS bytes FROM deliveries`,
  );
  return { pending: found!.pending, bytes: found!.bytes ?? 0 };
}

/** Returns the number of webhooks with a backlog. */
async function behind(server: TestApp): Promise<number> {
  const found = await server.app.core.db.get<{ count: number }>(
    sql`SELECT COUNT(*) AS count FROM webhooks WHERE backlog_from IS NOT NULL`,
  );
  return found!.count;
}

/** Renames each contact to increasing numbers, one after another. */
async function rename(server: TestApp, user: Person, contacts: Contact[], from: number, to: number) {
  const ask = asker(server, user);
  const change = async ({ id }: Contact) => {
    for (let i = from; i < to; i++) await ask("PUT", `/v1/contacts/${id}`, { display_name: String(i) });
  };
  await Promise.all(contacts.map(change));
}

/** Returns the received names of each contact. Repeated deliveries count once. */
function namesOf(received: Received[]): Map<unknown, number[]> {
  const once = new Map(received.map((each) => [each.headers["webhook-id"], each.event.payload]));
  const byContact = Map.groupBy(once.values(), ({ id }) => id);
  return new Map([...byContact].map(([id, all]) => [id, all.map((each) => Number(each.display_name))]));
}

/** Waits until a condition holds, as long as `progress` changes. */
async function until(condition: () => unknown, progress: () => string): Promise<void> {
  let last = { progress: progress(), at: performance.now() };
  while (!(await condition())) {
    const now = { progress: progress(), at: performance.now() };
    if (now.progress !== last.progress) last = now;
    if (now.at > last.at + SETTLE_MS) assert.fail(now.progress);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

for (const engine of ENGINES) {
  test(`${engine}: a webhook has at most 1,000 pending deliveries, and gets every event in order once its receiver works`, async (t) => {
    // The clock stands still, so nothing is retried.
    const now = Date.now();
    const server = await startOnEngine(t, engine, LIMITS, { clock: () => now });
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    const contacts: Contact[] = [];
    for (let i = 0; i < 6; i++) contacts.push(await add(server, ann, `friend ${i}`));
    let works = false;
    const taken: Received[] = [];
    const to = await receiver(t, (response, received) => {
      if (!works) return response.writeHead(500).end();
      taken.push(received);
    });
    const good = await receiver(t);
    const made = await hook(server, ann, to, { events: ["contact.updated"] });
    await hook(server, bob, good);
    await rename(server, ann, contacts, 0, 200);
    await until(
      async () => (await behind(server)) === 1,
      () => "the webhook has no backlog",
    );
    await add(server, bob, "x");
    await good.wait(1);
    assert.equal(await behind(server), 1);
    const ask = asker(server, ann);
    const { count } = (await server.app.core.db.get<{ count: number }>(
      sql`SELECT COUNT(*) AS count FROM deliveries WHERE webhook_id = ${String(made.id)}`,
    ))!;
    assert.equal(count, 1000);
    const refused = await ask("POST", `/v1/webhooks/${made.id}/test`);
    assert.deepEqual([refused.status, refused.body.code], [409, "count_limit_reached"]);
    // Events while the webhook is disabled follow its backlog.
    await ask("PUT", `/v1/webhooks/${made.id}`, { enabled: false });
    await rename(server, ann, contacts, 200, 210);
    works = true;
    await ask("PUT", `/v1/webhooks/${made.id}`, { enabled: true });
    await until(
      async () =>
        taken.length >= 6 * 210 && (await behind(server)) === 0 && (await rows(server)).pending === 0,
      () => `${taken.length} came`,
    );
    const expected = Array.from({ length: 210 }, (_, i) => i);
    const names = namesOf(taken);
    for (const { id } of contacts) assert.deepEqual(names.get(id), expected);
    const twice = sql`SELECT event_id FROM deliveries GROUP BY webhook_id, event_id HAVING COUNT(*) > 1`;
    assert.deepEqual(await server.app.core.db.all(twice), [], "handed out twice");
    await rename(server, ann, contacts.slice(0, 1), 210, 211);
    await until(
      () => taken.length > 6 * 210,
      () => "nothing came once it had caught up",
    );
  });
}

test("the deliveries of one user are bounded in bytes, delay no other user, and none is lost", async (t) => {
  let now = Date.now();
  const server = await startApp(t, LIMITS, { clock: () => now });
  const [mallory, ann] = [await person(server, "mallory"), await person(server, "ann")];
  const to = await receiver(t);
  const good = await receiver(t);
  for (let i = 0; i < 20; i++) await hook(server, mallory, to);
  await hook(server, ann, good);
  const ask = asker(server, mallory);
  const avatar_url = `https://pictures.invalid/${"x".repeat(2000)}`;
  for (let i = 0; i < 120; i++) {
    const fields: Json = { username: `friend ${i}`, phone_number: "555", avatar_url };
    assert.equal((await ask("POST", "/v1/contacts", fields)).status, 201);
  }
  await until(
    async () => (await behind(server)) === 20,
    () => "not all have a backlog",
  );
  await add(server, ann, "x");
  await good.wait(1);
  const first = (await rows(server)).bytes;
  assert.ok(first > 4_900_000 && first <= 5_010_000, `${first} bytes at once`);
  now += 4000;
  await until(
    async () => (await rows(server)).bytes > first + 350_000,
    () => "nothing more came",
  );
  await add(server, ann, "y");
  await good.wait(2);
  const second = (await rows(server)).bytes;
  assert.ok(second <= first + 4 * 125_000 + 10_000, `${second - first} bytes in 4 s`);
  now += 120_000;
  await until(
    async () => to.received.length >= 20 * 120 && (await behind(server)) === 0,
    () => `${to.received.length} came`,
  );
  const count =
    "SELECT COUNT(DISTINCT event_id) AS events, COUNT(*) AS deliveries FROM deliveries WHERE webhook_id";
  const found = await server.app.core.db.all<{ events: number; deliveries: number }>(
    sql`${raw(count)} IN (SELECT id FROM webhooks WHERE user_id = ${mallory.id}) GROUP BY webhook_id`,
  );
  assert.deepEqual(
    found.map(({ events, deliveries }) => [events, deliveries]),
    Array.from({ length: 20 }, () => [120, 120]),
  );
});
