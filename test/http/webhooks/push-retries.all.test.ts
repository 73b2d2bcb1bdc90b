// Retries of pushes: by the answer of the push server, over a restart, and on two nodes.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import type { Limits } from "../../../src/config/limits.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { DAY_MS, LIMITS } from "../../support/hooks.ts";
import { add, type Person, pair, person, say } from "../../support/people.ts";
import {
  type Pending,
  type Push,
  pending,
  pushServer,
  settled,
  subscribe,
} from "../../support/push-server.ts";
import { receiver } from "../../support/receiver.ts";

/** Starts a service whose clock the test sets, with two users who share a conversation. */
async function begin(t: TestContext, limits: Partial<Limits> = {}, databaseUrl?: string) {
  const clock = { now: Date.now() };
  const config = await testConfig(t, { ...LIMITS, ...limits });
  const stored = databaseUrl ? { ...config, databaseUrl, secrets: ["s".repeat(32)] } : config;
  const server = await startOn(t, stored, { clock: () => clock.now });
  return { clock, config: stored, server, ...(await pair(server)) };
}

async function subscriptions(server: TestApp, who: Person): Promise<string[]> {
  const { body } = await asker(server, who)("GET", "/v1/push_subscriptions");
  return (body.data as Json[]).map(({ id }) => String(id));
}

const answering =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end();

for (const status of [404, 410]) {
  test(`a push answered ${status} deletes the subscription`, async (t) => {
    const { server, ann, bob, conversation } = await begin(t);
    const to = await pushServer(t, answering(status));
    const { id } = await subscribe(server, ann, to.device());
    const other = await subscribe(server, ann, (await pushServer(t)).device());
    await say(server, bob, conversation, "hello");
    assert.ok(await eventually(async () => !(await subscriptions(server, ann)).includes(id)));
    assert.deepEqual(await subscriptions(server, ann), [other.id]);
    const gone = await asker(server, ann)("GET", `/v1/push_subscriptions/${id}`);
    assert.deepEqual([gone.status, gone.body.code], [404, "push_subscription_not_found"]);
    await say(server, bob, conversation, "again");
    await settled(server);
    assert.equal(to.pushed.length, 1);
    const admin = await server.user({ scopes: ["admin"] });
    const entries = (await asker(server, admin)("GET", "/v1/audit?limit=100")).body.data as Json[];
    const [entry] = entries.filter(({ action }) => action === "push_subscription.deleted");
    assert.deepEqual([entry!.actor_id, entry!.object_id, entry!.details], [null, id, { origin: to.origin }]);
  });
}

for (const status of [307, 400, 413]) {
  test(`a push answered ${status} is dropped, the subscription stays, and no redirect is followed`, async (t) => {
    const { server, ann, bob, conversation } = await begin(t);
    const canary = await receiver(t);
    let isRefusing = true;
    const to = await pushServer(t, (response) =>
      isRefusing ? answering(status, { location: canary.url })(response) : undefined,
    );
    const { id } = await subscribe(server, ann, to.device());
    await say(server, bob, conversation, "refused");
    await to.wait(1);
    await settled(server);
    isRefusing = false;
    await say(server, bob, conversation, "accepted");
    await to.wait(2);
    await settled(server);
    assert.equal(canary.received.length, 0);
    assert.deepEqual(await subscriptions(server, ann), [id]);
  });
}

test("a push answered 429 is retried after Retry-After, and 503 after the usual delay", async (t) => {
  const { clock, server, ann, bob, conversation } = await begin(t);
  const date = new Date(clock.now + 600_000).toUTCString();
  const answers = [answering(429, { "retry-after": date }), answering(503), answering(201)];
  const to = await pushServer(t, (response) => answers.shift()!(response));
  await subscribe(server, ann, to.device());
  await say(server, bob, conversation, "hello");
  const attempt = async (count: number) => {
    await to.wait(count);
    let found: Pending | undefined;
    const is = async () => {
      [found] = await pending(server);
      return found?.attempts === count;
    };
    assert.ok(await eventually(is));
    return found!.next_at - clock.now;
  };
  assert.equal(await attempt(1), Date.parse(date) - clock.now);
  clock.now += 600_000;
  const wait = await attempt(2);
  assert.ok(wait >= 4000 && wait <= 6000, `${wait}`);
  clock.now += 6000;
  const pushed = await to.wait(3);
  await settled(server);
  assert.equal(new Set(pushed.map(({ event }) => event.id)).size, 1);
  const ttls = pushed.map(({ headers }) => Number(headers.ttl));
  assert.ok(ttls[1]! <= 86_400 - 600 && ttls[2]! < ttls[1]!, ttls.join());
});

test("a push fails a day after its message, and a longer Retry-After ends it at once", async (t) => {
  const { clock, server, ann, bob, conversation } = await begin(t);
  let retryAfter = "";
  const to = await pushServer(t, (response) => answering(503, { "retry-after": retryAfter })(response));
  const { id } = await subscribe(server, ann, to.device());
  await say(server, bob, conversation, "hello");
  let count = 0;
  for (let left: Pending[] = [{ attempts: 0, next_at: clock.now }]; left.length > 0; ) {
    clock.now = left[0]!.next_at;
    await to.wait(++count);
    const isRecorded = async () => {
      left = await pending(server);
      return left.every(({ attempts }) => attempts === count);
    };
    assert.ok(await eventually(isRecorded));
  }
  assert.ok(count >= 7 && count <= 9, `${count} attempts`);
  retryAfter = "86400";
  await say(server, bob, conversation, "again");
  await to.wait(count + 1);
  await settled(server);
  assert.deepEqual(await subscriptions(server, ann), [id]);
});

test("a message that waited for more than a day is not pushed", async (t) => {
  const { clock, config, server, ann, bob, conversation } = await begin(t);
  const to = await pushServer(t, answering(500));
  await subscribe(server, ann, to.device());
  await say(server, bob, conversation, "hello");
  await to.wait(1);
  await server.app.stop();
  const later = await startOn(t, config, { clock: () => clock.now + DAY_MS });
  await settled(later);
  assert.equal(to.pushed.length, 1);
});

test("a subscription whose push server accepts nothing for four days is deleted", async (t) => {
  const { clock, server, ann, bob, conversation } = await begin(t);
  const to = await pushServer(t, answering(403));
  await subscribe(server, ann, to.device());
  for (const days of [0, 2, 4]) {
    clock.now += days === 0 ? 0 : 2 * DAY_MS;
    await say(server, bob, conversation, `day ${days}`);
    await settled(server);
    assert.equal((await subscriptions(server, ann)).length, 1, `day ${days}`);
  }
  clock.now += 1000;
  await say(server, bob, conversation, "the last");
  assert.ok(await eventually(async () => (await subscriptions(server, ann)).length === 0));
  assert.equal(to.pushed.length, 4);
});

test("a silent push server and a cut connection are retried, and an endless answer counts by its status", async (t) => {
  const { clock, server, ann, bob, conversation } = await begin(t, { webhookTimeoutMs: 2000 });
  const failures: ((response: ServerResponse) => unknown)[] = [
    () => true,
    (response) => response.destroy(),
    (response) => void response.writeHead(201).write(Buffer.alloc(1024 * 1024)),
  ];
  const to = await pushServer(t, (response) => failures.shift()?.(response) ?? true);
  await subscribe(server, ann, to.device());
  await say(server, bob, conversation, "hello");
  for (const count of [1, 2]) {
    await to.wait(count);
    assert.ok(await eventually(async () => (await pending(server))[0]?.attempts === count));
    clock.now = (await pending(server))[0]!.next_at;
  }
  await to.wait(3);
  // The status decides, however long the answer is.
  await settled(server);
  assert.equal(to.pushed.length, 3);
});

test("an accepted push drops the earlier pending ones of its conversation only", async (t) => {
  for (const databaseUrl of [undefined, await testDatabase(t)]) {
    const { clock, server, ann, bob, conversation } = await begin(t, {}, databaseUrl);
    const cat = await person(server, "cat");
    const { conversation_id: other } = await add(server, ann, "cat");
    await add(server, cat, ann.name);
    let status = 503;
    const to = await pushServer(t, (response) => answering(status)(response));
    await subscribe(server, ann, to.device());
    await say(server, bob, conversation, "first");
    await say(server, cat, other, "elsewhere");
    await say(server, bob, conversation, "second");
    // No push waits for another.
    await to.wait(3);
    assert.ok(await eventually(async () => (await pending(server)).every(({ attempts }) => attempts === 1)));
    status = 201;
    const newest = await say(server, bob, conversation, "third");
    await to.wait(4);
    assert.equal((to.pushed[3]!.event.payload as Json).id, newest);
    assert.ok(await eventually(async () => (await pending(server)).length === 1));
    clock.now += 60_000;
    const [, , , , last] = await to.wait(5);
    assert.equal(last!.event.conversation_id, other);
    await settled(server);
    assert.equal(to.pushed.length, 5);
    await server.app.stop();
  }
});

test("the VAPID key is the same on all nodes, after a restart and after a change of the secret", async (t) => {
  const databaseUrl = await testDatabase(t);
  const start = async (secret: string) =>
    startOn(t, { ...(await testConfig(t, LIMITS)), databaseUrl, secrets: [secret.repeat(32)] });
  const nodes = await Promise.all([start("a"), start("a")]);
  const { ann, bob, conversation: conversation_id } = await pair(nodes[0]!);
  const keyOf = async (server: TestApp) => (await asker(server, ann)("GET", "/v1/me")).body.push_public_key;
  const key = await keyOf(nodes[0]!);
  assert.match(String(key), /^B[\w-]{86}$/);
  assert.equal(await keyOf(nodes[1]!), key);
  const to = await pushServer(t);
  await subscribe(nodes[1]!, ann, to.device());
  for (let i = 0; i < 10; i++) await say(nodes[i % 2]!, bob, conversation_id, `message ${i}`);
  await to.wait(10);
  await settled(nodes[0]!);
  assert.equal(new Set(to.pushed.map(({ event }) => event.id)).size, 10, "each once");
  assert.equal(to.pushed.length, 10);
  await Promise.all(nodes.map((node) => node.app.stop()));
  const later = await start("b");
  assert.equal(await keyOf(later), key);
  await say(later, bob, conversation_id, "after the restart");
  const last: Push = (await to.wait(11))[10]!;
  assert.equal(last.key, key);
  // Without a public URL there is no contact to name. Some push servers refuse an invalid one.
  assert.ok(!("sub" in last.claims));
});

test("deleting a subscription aborts its running push and erases the pending ones", async (t) => {
  const { server, ann, bob, conversation } = await begin(t);
  let closed = 0;
  const silent = createServer((socket) =>
    socket
      .on("error", () => {})
      .on("close", () => closed++)
      .resume(),
  );
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  t.after(() => silent.close());
  const to = await pushServer(t);
  const endpoint = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const { id } = await subscribe(server, ann, { ...to.device(), endpoint });
  await say(server, bob, conversation, "first");
  await say(server, bob, conversation, "second");
  assert.ok(await eventually(async () => (await pending(server)).length === 2));
  assert.equal((await asker(server, ann)("DELETE", `/v1/push_subscriptions/${id}`)).status, 204);
  assert.ok(await eventually(async () => closed === 1));
  await settled(server);
});
