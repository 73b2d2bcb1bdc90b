// Retries of deliveries: failing, hanging and missing receivers, restarts, two nodes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApp, startOn, testConfig } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { DAY_MS, deliveries, hook, LIMITS, newest, verify } from "../../support/hooks.ts";
import { add, give, person } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";

test("a failing delivery is retried for three days, then the webhook is disabled and webhook.disabled sent", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  // Alternates the smallest and the largest jitter. Ids accept any bytes.
  let turn = 0;
  const random = (bytes: Uint8Array) => void bytes.fill(bytes.length === 4 && turn++ % 2 ? 255 : 0);
  const server = await startApp(t, LIMITS, { clock: () => now, random });
  const ann = await person(server, "ann");
  let status = 500;
  const to = await receiver(t, (response) => response.writeHead(status).end());
  const made = await hook(server, ann, to);
  const stream = await listen(t, server, ann);
  const contact = await add(server, ann, "bob");
  await give(server, ann, contact.conversation_id, "file");
  const seconds = [1, 5, 30, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400];
  const failing = async () =>
    (await deliveries(server, ann, made)).find(({ type }) => type === "contact.created")!;
  await to.wait(1);
  for (const [i, wait] of seconds.entries()) {
    assert.ok(await eventually(async () => (await failing()).attempts === i + 1));
    const { next_attempt_at, last_status } = await failing();
    assert.equal(last_status, 500);
    const waited = wait * 1000 * (i % 2 ? 1.2 : 0.8);
    assert.equal(next_attempt_at, Math.floor((now + waited) / 1000), `attempt ${i + 1}`);
    now += waited + 1;
  }
  assert.ok(await eventually(async () => (await failing()).state === "failed"));
  assert.deepEqual([(await failing()).attempts, (await failing()).next_attempt_at], [12, null]);
  assert.equal(new Set(to.received.map(({ headers }) => headers["webhook-id"])).size, 1);
  // Each attempt has a signature for its time, so a recorded one cannot be replayed later.
  for (const each of to.received) verify(made.secret, each, true);
  assert.ok(new Set(to.received.map(({ headers }) => headers["webhook-signature"])).size > 10);
  assert.equal(to.received.length, 12);
  const disabled = (await stream.wait(4))[3]!;
  const { secret: _, ...shown } = made;
  assert.deepEqual([disabled.type, disabled.payload], ["webhook.disabled", { ...shown, enabled: false }]);
  // The next delivery of the conversation waits until the webhook is enabled again.
  const next = await newest(server, ann, made, { type: "attachment.created", state: "pending" });
  assert.equal(next.attempts, 0);
  status = 200;
  await asker(server, ann)("PUT", `/v1/webhooks/${made.id}`, { enabled: true });
  assert.deepEqual(
    (await to.wait(14)).slice(12).map(({ event }) => event.type),
    ["message.created", "attachment.created"],
  );
  await newest(server, ann, made, { state: "delivered" });
  const path = `/v1/webhooks/${made.id}/deliveries/${(await failing()).id}/redeliver`;
  assert.equal((await asker(server, ann)("POST", path)).body.state, "pending");
  assert.equal((await to.wait(15))[14]!.headers["webhook-id"], to.received[0]!.headers["webhook-id"]);
  assert.ok(await eventually(async () => (await failing()).state === "delivered"));
});

test("Retry-After delays the next attempt, but not beyond the one after it", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  // The smallest jitter.
  const random = (bytes: Uint8Array) => void bytes.fill(0);
  const server = await startApp(t, LIMITS, { clock: () => now, random });
  const ann = await person(server, "ann");
  const date = (ms: number) => new Date(now + ms).toUTCString();
  const answers: [status: number, retryAfter: () => string, seconds: number][] = [
    [429, () => "3", 3],
    [503, () => date(20_000), 20],
    [503, () => "999999999", 0.8 * (30 + 300)],
    [429, () => "1", 0.8 * 300],
    [503, () => date(-60_000), 0.8 * 1800],
    [503, () => "soon", 0.8 * 7200],
    [503, () => "Xyz, 99 Xyz 2030 99:99:99 GMT", 0.8 * 18_000],
    [503, () => "9".repeat(400), 0.8 * 36_000],
    [503, () => "Fri, 31 Dec 9999 23:59:59 GMT", 0.8 * (50_400 + 72_000)],
    [429, () => "", 0.8 * 72_000],
    // No further attempt is scheduled after the last one.
    [429, () => "999999", 0.8 * 86_400],
  ];
  const to = await receiver(t, (response) => {
    const [status, retryAfter] = answers[to.received.length - 1] ?? [204, () => ""];
    return response.writeHead(status, { "retry-after": retryAfter() }).end();
  });
  const made = await hook(server, ann, to);
  await add(server, ann, "bob");
  for (const [i, [, , seconds]] of answers.entries()) {
    const { next_attempt_at } = await newest(server, ann, made, { attempts: i + 1, state: "pending" });
    assert.equal(next_attempt_at, Math.floor(now / 1000 + seconds), `attempt ${i + 1}`);
    now += Math.ceil(seconds * 1000);
  }
  await newest(server, ann, made, { state: "delivered", attempts: 12 });
});

test("410 disables a webhook at once, and a redirect is not followed", async (t) => {
  const server = await startApp(t, LIMITS);
  const ann = await person(server, "ann");
  const canary = await receiver(t);
  const gone = await receiver(t, (response) => response.writeHead(410).end());
  const moved = await receiver(t, (response) => response.writeHead(307, { location: canary.url }).end());
  const [one, two] = [await hook(server, ann, gone), await hook(server, ann, moved)];
  await add(server, ann, "x");
  await newest(server, ann, one, { state: "failed", attempts: 1, last_status: 410 });
  assert.equal((await asker(server, ann)("GET", `/v1/webhooks/${one.id}`)).body.enabled, false);
  assert.ok(
    await eventually(async () =>
      (await deliveries(server, ann, two)).some(
        (each) => each.last_status === 307 && each.state === "pending",
      ),
    ),
  );
  assert.equal(canary.received.length, 0);
});

test("a later event of a conversation waits for the earlier one, other conversations do not", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, LIMITS, { clock: () => now });
  const ann = await person(server, "ann");
  const [bob, eve] = [await add(server, ann, "bob"), await add(server, ann, "eve")];
  let failures = 3;
  const to = await receiver(t, (response, { event }) => {
    if (event.payload.filename === "bob 0" && failures-- > 0) return response.writeHead(503).end();
  });
  const made = await hook(server, ann, to, { events: "attachment.created" });
  for (let i = 0; i < 4; i++) {
    for (const [name, { conversation_id }] of Object.entries({ bob, eve }))
      await give(server, ann, conversation_id, `${name} ${i}`);
  }
  const names = (who: string) =>
    to.received.map(({ event }) => String(event.payload.filename)).filter((name) => name.startsWith(who));
  assert.ok(await eventually(async () => names("eve").length === 4));
  assert.deepEqual([names("eve"), names("bob")], [["eve 0", "eve 1", "eve 2", "eve 3"], ["bob 0"]]);
  for (let i = 1; i <= 3; i++) {
    const waits = async () => (await deliveries(server, ann, made)).some(({ attempts }) => attempts === i);
    assert.ok(await eventually(waits));
    now += 60_000;
    assert.ok(await eventually(async () => names("bob").length > i));
  }
  await to.wait(4 + 3 + 4);
  assert.deepEqual(names("bob"), ["bob 0", "bob 0", "bob 0", "bob 0", "bob 1", "bob 2", "bob 3"]);
});

test("a hanging receiver delays no other and times out", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookTimeoutMs: 2000 });
  const ann = await person(server, "ann");
  let open = 0;
  let most = 0;
  const hanging = await receiver(t, (response) => {
    most = Math.max(most, ++open);
    response.on("close", () => open--);
    return "never answered";
  });
  const good = await receiver(t);
  const dead = await hook(server, ann, hanging);
  await hook(server, ann, good);
  for (let i = 0; i < 20; i++) await add(server, ann, `friend ${i}`);
  await good.wait(20);
  assert.ok(most <= 4, `${most} at a time`);
  const late = async () =>
    (await deliveries(server, ann, dead)).some(({ last_error }) =>
      String(last_error).startsWith("No answer came within 2 s"),
    );
  assert.ok(await eventually(late));
});

test("an endless answer is cut before it times out", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookTimeoutMs: DAY_MS });
  const ann = await person(server, "ann");
  const endless = await receiver(t, async (response) => {
    response.writeHead(200);
    let closed = false;
    response.on("close", () => (closed = true));
    while (!closed) {
      response.write(Buffer.alloc(16 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    return "cut";
  });
  const made = await hook(server, ann, endless);
  await add(server, ann, "bob");
  await newest(server, ann, made, { state: "delivered", last_status: 200 });
});

test("a delivery interrupted by a stop is sent again with the same id", async (t) => {
  const config = await testConfig(t, LIMITS);
  const first = await startOn(t, config);
  const ann = await person(first, "ann");
  let restarted = false;
  const to = await receiver(t, () => (restarted ? undefined : "never answered"));
  const made = await hook(first, ann, to);
  await add(first, ann, "x");
  await to.wait(1);
  await first.app.stop();
  restarted = true;
  const second = await startOn(t, config);
  const [before, after] = await to.wait(2);
  assert.equal(before!.headers["webhook-id"], after!.headers["webhook-id"]);
  assert.equal(before!.body, after!.body);
  await newest(second, ann, made, { state: "delivered", attempts: 1 });
});

test("a delivery to an unreachable receiver has an error, and is retried after a restart", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const config = await testConfig(t, LIMITS);
  const clock = () => now;
  const first = await startOn(t, config, { clock });
  const ann = await person(first, "ann");
  let status = 204;
  const to = await receiver(t, (response) => response.writeHead(status).end());
  const made = await hook(first, ann, { ...to, url: "http://127.0.0.1:1/" });
  await add(first, ann, "x");
  const failed = await newest(first, ann, made, { attempts: 1 });
  assert.deepEqual([failed.state, failed.last_status], ["pending", null]);
  assert.match(String(failed.last_error), /^No answer came/);
  const moved = await asker(first, ann)("PUT", `/v1/webhooks/${made.id}`, { url: to.url });
  assert.equal(moved.status, 200);
  await newest(first, ann, made, { state: "delivered", attempts: 1 });
  status = 500;
  await add(first, ann, "y");
  await newest(first, ann, made, { state: "pending", attempts: 1 });
  status = 204;
  await first.app.stop();
  const second = await startOn(t, config, { clock });
  now += 2000;
  await to.wait(3);
  await newest(second, ann, made, { state: "delivered", attempts: 2 });
});

test("one of two nodes delivers, and the other continues when it stops", async (t) => {
  const settings = { databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] };
  const start = async () => startOn(t, { ...(await testConfig(t, LIMITS)), ...settings });
  const [one, two] = [await start(), await start()];
  const ann = await person(one, "ann");
  const to = await receiver(t);
  const made = await hook(one, ann, to);
  for (let i = 0; i < 20; i++) await add(i % 2 ? one : two, ann, `friend ${i}`);
  const allDelivered = async () =>
    (await deliveries(two, ann, made)).every(({ state }) => state === "delivered");
  await to.wait(20);
  // A delivery interrupted by a stop is sent again.
  assert.ok(await eventually(allDelivered));
  await one.app.stop();
  for (let i = 20; i < 25; i++) await add(two, ann, `friend ${i}`);
  await to.wait(25);
  assert.ok(await eventually(allDelivered));
  const names = to.received.map(({ event }) => event.payload.username);
  assert.deepEqual(names.sort(), Array.from({ length: 25 }, (_, i) => `friend ${i}`).sort());
  assert.ok((await deliveries(two, ann, made)).every(({ attempts }) => attempts === 1));
});

test("deliveries are erased with their events, and pending ones after four days", async (t) => {
  let now = Date.UTC(2026, 0, 1);
  const config = await testConfig(t, { ...LIMITS, eventDays: 2 });
  const clock = () => now;
  const first = await startOn(t, config, { clock });
  const ann = await person(first, "ann");
  const [good, bad] = [await receiver(t), await receiver(t, (response) => response.writeHead(500).end())];
  const [done, tried] = [await hook(first, ann, good), await hook(first, ann, bad)];
  await add(first, ann, "x");
  await newest(first, ann, done, { state: "delivered" });
  await newest(first, ann, tried, { attempts: 1 });
  await first.app.stop();
  now += 2 * DAY_MS + 1;
  const second = await startOn(t, config, { clock });
  assert.ok(await eventually(async () => (await deliveries(second, ann, done)).length === 0));
  await newest(second, ann, tried, { attempts: 2, state: "pending" });
  now += 2 * DAY_MS + 1;
  await newest(second, ann, tried, { attempts: 3, state: "failed" });
  assert.equal((await asker(second, ann)("GET", `/v1/webhooks/${tried.id}`)).body.enabled, false);
});

test("erasing a user releases the deliveries that waited for one of theirs", async (t) => {
  // The clock stands still, so failed deliveries are not retried.
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, LIMITS, { clock: () => now });
  const admin = await server.user({ scopes: SCOPES });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const to = await receiver(t, (response) =>
    to.received.length === 1 ? response.writeHead(500).end() : undefined,
  );
  const made = await hook(server, admin, to, { all_users: true, events: "contact.created" });
  // Both are of one conversation, so the second waits for the first.
  await add(server, ann, "bob");
  await add(server, bob, "ann");
  await newest(server, admin, made, { state: "pending", next_attempt_at: null });
  const [waiting] = await deliveries(server, admin, made);
  const first = await server.app.core.db.get<{ recipient_id: string }>(
    sql`SELECT recipient_id FROM deliveries WHERE webhook_id = ${String(made.id)}
    AND id <> ${String(waiting!.id)}`,
  );
  await deleteUser(server.app.core, null, first!.recipient_id);
  const [, second] = await to.wait(2);
  assert.equal(second!.headers["webhook-id"], waiting!.event_id);
  await newest(server, admin, made, { state: "delivered" });
});

test("enabling a webhook again sends its pending deliveries at once", async (t) => {
  // The clock stands still, so no retry becomes due.
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, LIMITS, { clock: () => now });
  const ann = await person(server, "ann");
  const to = await receiver(t, (response) =>
    to.received.length === 1 ? response.writeHead(500).end() : undefined,
  );
  const made = await hook(server, ann, to);
  await add(server, ann, "x");
  await newest(server, ann, made, { state: "pending", attempts: 1 });
  for (const enabled of [false, true])
    await asker(server, ann)("PUT", `/v1/webhooks/${made.id}`, { enabled });
  await to.wait(2);
  await newest(server, ann, made, { state: "delivered", attempts: 1 });
});
