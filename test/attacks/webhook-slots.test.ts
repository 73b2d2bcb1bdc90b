// Webhooks whose receiver accepts connections and never answers: they do not delay deliveries of other users, and
// deleted or disabled ones occupy no slot.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp, startOn, type TestApp, testConfig } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import { hook, LIMITS, newest } from "../support/hooks.ts";
import { add, type Person, person } from "../support/people.ts";
import { type Receiver, receiver } from "../support/receiver.ts";

/** So long that no attempt times out during these tests. The server aborts the attempts that end. */
const PATIENT = { ...LIMITS, webhookTimeoutMs: 600_000 };

interface Silent {
  to: Receiver;
  open: Set<Socket>;
  closed: number;
}

/** Accepts connections, reads, and never answers. */
async function silentReceiver(t: TestContext): Promise<Silent> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {}).resume();
    socket.on("close", () => {
      open.delete(socket);
      silent.closed++;
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const silent: Silent = { to: { url } as Receiver, open, closed: 0 };
  return silent;
}

/** Creates this many webhooks and requests a test event for each. */
async function makeAndTest(server: TestApp, user: Person, to: Receiver, count: number): Promise<Json[]> {
  const made: Json[] = [];
  for (let i = 0; i < count; i++) made.push(await hook(server, user, to));
  for (const { id } of made) {
    const { status } = await asker(server, user)("POST", `/v1/webhooks/${id}/test`);
    assert.equal(status, 200);
  }
  return made;
}

test("testing, deleting and recreating webhooks of a silent receiver delays no other user", async (t) => {
  const server = await startApp(t, PATIENT);
  const [mallory, ann] = [await person(server, "mallory"), await person(server, "ann")];
  const silent = await silentReceiver(t);
  const good = await receiver(t);
  await hook(server, ann, good);
  for (let round = 0; round < 5; round++) {
    const made = await makeAndTest(server, mallory, silent.to, 20);
    assert.ok(await eventually(async () => silent.open.size === 8), `${silent.open.size} are open`);
    if (round === 4) break;
    for (const { id } of made) await asker(server, mallory)("DELETE", `/v1/webhooks/${id}`);
    assert.ok(await eventually(async () => silent.open.size === 0), `${silent.open.size} are still open`);
  }
  const closed = silent.closed;
  await add(server, ann, "bob");
  await good.wait(1);
  assert.deepEqual([silent.open.size, silent.closed], [8, closed]);
});

test("a user with 80 silent webhooks occupies at most a quarter of the slots for slow receivers", async (t) => {
  const server = await startApp(t, { ...PATIENT, maxWebhooks: 0 });
  const [mallory, ann] = [await person(server, "mallory"), await person(server, "ann")];
  const silent = await silentReceiver(t);
  const good = await receiver(t);
  await makeAndTest(server, mallory, silent.to, 80);
  assert.ok(await eventually(async () => silent.open.size === 8), `${silent.open.size} are open`);
  await hook(server, ann, good);
  await add(server, ann, "bob");
  await good.wait(1);
  assert.deepEqual([silent.open.size, silent.closed], [8, 0]);
});

test("a user whose webhooks turn silent occupies at most a quarter of all slots", async (t) => {
  const server = await startApp(t, PATIENT);
  const [mallory, ann] = [await person(server, "mallory"), await person(server, "ann")];
  let open = 0;
  const turning = await receiver(t, (_, { event }) => {
    if (event.type === "webhook.test") return;
    open++;
    return "never answered";
  });
  const good = await receiver(t);
  await hook(server, ann, good);
  const made = await makeAndTest(server, mallory, turning, 20);
  for (const each of made) await newest(server, mallory, each, { state: "delivered" });
  for (let i = 0; i < 4; i++) await add(server, mallory, `friend ${i}`);
  assert.ok(await eventually(async () => open === 16), `${open} are open`);
  await add(server, ann, "bob");
  await good.wait(1);
  assert.equal(open, 16);
});

test("silent receivers occupy at most half of the slots, however many users and webhooks they have", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookTimeoutMs: 3000 });
  let [open, most] = [0, 0];
  const silent = await receiver(t, (response) => {
    most = Math.max(most, ++open);
    response.on("close", () => open--);
    return "never answered";
  });
  const good = await receiver(t);
  const victim = await person(server, "victim");
  await hook(server, victim, good);
  for (let i = 0; i < 5; i++) {
    const user = await person(server, `user ${i}`);
    for (let k = 0; k < 20; k++) await hook(server, user, silent);
    for (let k = 0; k < 2; k++) await add(server, user, `friend ${k}`);
  }
  assert.ok(await eventually(async () => open === 32), `${open} are open`);
  await silent.wait(101);
  await add(server, victim, "bob");
  await good.wait(1);
  await silent.wait(140);
  assert.equal(most, 32);
});

test("each of 20 new silent webhooks gets its attempt", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookTimeoutMs: 500 });
  const mallory = await person(server, "mallory");
  const reached = new Set<unknown>();
  const silent = await receiver(t, (_, { event }) => {
    reached.add(event.payload.id);
    return "never answered";
  });
  const made = await makeAndTest(server, mallory, silent, 20);
  assert.ok(await eventually(async () => reached.size === made.length), `${reached.size} were tried`);
});

test("disabling a webhook aborts its attempt, and enabling it sends the delivery", async (t) => {
  const server = await startApp(t, PATIENT);
  const ann = await person(server, "ann");
  const silent = await silentReceiver(t);
  const good = await receiver(t);
  const [made] = await makeAndTest(server, ann, silent.to, 1);
  assert.ok(await eventually(async () => silent.open.size === 1));
  const put = (fields: Json) => asker(server, ann)("PUT", `/v1/webhooks/${made!.id}`, fields);
  await put({ enabled: false });
  assert.ok(await eventually(async () => silent.open.size === 0));
  await newest(server, ann, made!, { state: "pending", attempts: 0, last_error: null });
  await put({ enabled: true, url: good.url });
  await good.wait(1);
  await newest(server, ann, made!, { state: "delivered", attempts: 1 });
});

test("on PostgreSQL, the attempt of a webhook is aborted when another node deletes or disables it or erases its user", async (t) => {
  const settings = { databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] };
  const start = async () => startOn(t, { ...(await testConfig(t, PATIENT)), ...settings });
  const [one, two] = [await start(), await start()];
  const admin = asker(two, await one.user({ scopes: SCOPES }));
  const [ann, bob] = [await person(one, "ann"), await person(one, "bob")];
  const silent = await silentReceiver(t);
  const [first, second] = await makeAndTest(one, ann, silent.to, 2);
  await makeAndTest(one, bob, silent.to, 1);
  const areOpen = (count: number) => eventually(async () => silent.open.size === count);
  assert.ok(await areOpen(3), `${silent.open.size} are open`);
  await asker(two, ann)("DELETE", `/v1/webhooks/${first!.id}`);
  assert.ok(await areOpen(2), `${silent.open.size} are open`);
  await asker(two, ann)("PUT", `/v1/webhooks/${second!.id}`, { enabled: false });
  assert.ok(await areOpen(1), `${silent.open.size} are open`);
  assert.equal((await admin("DELETE", `/v1/users/${bob.id}`)).status, 204);
  assert.ok(await areOpen(0), `${silent.open.size} are open`);
});
