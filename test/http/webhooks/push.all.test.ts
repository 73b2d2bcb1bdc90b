// Pushes of new messages: which are sent, to whom, and what they contain.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { fillGroups } from "../../support/groups.ts";
import { LIMITS } from "../../support/hooks.ts";
import { ENGINES, onEachEngineWith, startOnEngine } from "../../support/on-engines.ts";
import { done, type Person, pair, say, send } from "../../support/people.ts";
import { pending, pushServer, settled, subscribe } from "../../support/push-server.ts";

async function markRead(server: TestApp, who: Person, conversation: string, message: string): Promise<void> {
  await done(send(server, who, "PUT", `/v1/conversations/${conversation}/read`, { message_id: message }));
}

for (const engine of ENGINES)
  test(`a new message is pushed to each device: encrypted, signed, of one size, with ids only (${engine})`, async (t) => {
    const server = await startOnEngine(t, engine, LIMITS, {}, { publicUrl: "https://chat.example.com" });
    server.url = `http://127.0.0.1:${server.app.port()}`;
    const { ann, bob, conversation } = await pair(server);
    const to = await pushServer(t);
    const [phone, laptop] = [to.device("/phone"), to.device("/laptop")];
    await subscribe(server, ann, phone);
    await subscribe(server, ann, laptop);
    const message = await say(server, bob, conversation, "A secret that no push may tell. ".repeat(100));
    await to.wait(2);
    const second = await say(server, bob, conversation, "b");
    const pushed = await to.wait(4);
    const events = (await asker(server, ann)("GET", "/v1/events?types=message.created")).body.data as Json[];
    const expected: Json[] = [message, second].map((id, i) => {
      const { sequence: _, ...event } = events[1 - i]!;
      return { ...event, payload: { id, conversation_id: conversation } };
    });
    assert.equal(expected[0]!.notify, true);
    assert.equal(expected[0]!.user_id, ann.id);
    for (const path of ["/phone", "/laptop"]) {
      const own = pushed.filter((push) => push.path === path);
      assert.deepEqual(
        own.map(({ event }) => event),
        expected,
      );
    }
    assert.equal(new Set(pushed.map(({ size }) => size)).size, 1);
    assert.ok(pushed[0]!.size < 4096);
    const me = (await asker(server, ann)("GET", "/v1/me")).body;
    for (const { headers, claims, key } of pushed) {
      assert.equal(key, me.push_public_key);
      assert.equal(claims.sub, "https://chat.example.com");
      const hours = (claims.exp! * 1000 - Date.now()) / 3_600_000;
      assert.ok(hours > 5 && hours <= 12, `${hours}`);
      assert.deepEqual(
        [headers["content-encoding"], headers["content-type"], headers.urgency, headers["user-agent"]],
        ["aes128gcm", "application/octet-stream", "high", "Parley"],
      );
      assert.ok(Number(headers.ttl) > 86_000 && Number(headers.ttl) <= 86_400, headers.ttl as string);
      assert.match(String(headers.topic), /^[\w-]{32}$/);
    }
    // One signature is used for an origin for hours. A new one would differ.
    assert.equal(new Set(pushed.map(({ headers }) => headers.authorization)).size, 1);
  });

onEachEngineWith(LIMITS, "no own, muted, blocked or read message is pushed", async (server, t) => {
  const { ann, bob, conversation } = await pair(server);
  const to = await pushServer(t);
  await subscribe(server, ann, to.device("/ann"));
  await subscribe(server, bob, to.device("/bob"));
  const ask = asker(server, ann);
  const settings = (fields: object) => ask("PUT", `/v1/conversations/${conversation}`, fields);
  const until = Math.floor(Date.now() / 1000) + 3600;
  assert.equal((await settings({ muted_until: until })).status, 200);
  await say(server, bob, conversation, "muted");
  const mention = await say(server, bob, conversation, "through", { mentions: [ann.id] });
  await settled(server);
  await settings({ muted_until: null });
  const own = await say(server, ann, conversation, "own");
  await settled(server);
  const contact = ((await ask("GET", `/v1/contacts?username=${bob.name}`)).body.data as Json[])[0]!;
  assert.equal((await ask("PUT", `/v1/contacts/${contact.id}/block`)).status, 204);
  await say(server, bob, conversation, "blocked");
  await settled(server);
  assert.equal((await ask("DELETE", `/v1/contacts/${contact.id}/block`)).status, 204);
  const last = await say(server, bob, conversation, "again");
  await settled(server);
  assert.deepEqual(
    to.pushed.map(({ path, event }) => [path, (event.payload as Json).id]),
    [
      ["/ann", mention],
      ["/bob", own],
      ["/ann", last],
    ],
  );
});

onEachEngineWith(
  LIMITS,
  "a group message is pushed to all others, a system one to nobody",
  async (server, t) => {
    const admin = await server.user({ scopes: ["admin", "events:read", "messages:read"] });
    const { people, whole } = await fillGroups(server, admin);
    const to = await pushServer(t);
    for (const [name, each] of Object.entries(people)) await subscribe(server, each, to.device(`/${name}`));
    // Dan joins the group that he is invited to, which adds a system message.
    const joined = await send(server, people.dan, "POST", `/v1/groups/${whole.id}/join`);
    assert.ok(joined.ok, await joined.text());
    const message = await say(server, people.dan, String(whole.conversation_id), "hello");
    await settled(server);
    const members = (await asker(server, people.ann)("GET", `/v1/groups/${whole.id}/members?limit=100`)).body
      .data as Json[];
    const others = members.flatMap(({ user_id }) =>
      Object.entries(people).flatMap(([name, { id }]) =>
        id === user_id && name !== "dan" ? [`/${name}`] : [],
      ),
    );
    assert.ok(others.length >= 2);
    assert.deepEqual(to.pushed.map(({ path }) => path).sort(), others.sort());
    for (const { event } of to.pushed) assert.equal((event.payload as Json).id, message);
    // The push server cannot see that these devices share a conversation.
    assert.equal(new Set(to.pushed.map(({ headers }) => headers.topic)).size, others.length);
  },
);

for (const engine of ENGINES)
  test(`a push subscription ends when its token is revoked or expires (${engine})`, async (t) => {
    let now = Date.now();
    const server = await startOnEngine(t, engine, LIMITS, { clock: () => now });
    const { ann, bob, conversation } = await pair(server);
    const admin = await server.user({ scopes: ["admin"] });
    const expires = Math.floor(now / 1000) + 3600;
    const tokenOf = async (fields: object) => {
      const made = await asker(server, admin)("POST", "/v1/tokens", { user_id: ann.id, ...fields });
      const { token, id } = made.body as Record<string, string>;
      return { id: id!, user: { ...ann, token: token!, headers: { authorization: `Bearer ${token}` } } };
    };
    const [revoked, short] = [await tokenOf({}), await tokenOf({ expires_at: expires })];
    const to = await pushServer(t);
    const first = await subscribe(server, revoked.user, to.device("/revoked"));
    const second = await subscribe(server, short.user, to.device("/short"));
    const third = await subscribe(server, ann, to.device("/kept"));
    assert.deepEqual([first.expires_at, second.expires_at], [null, expires]);
    await say(server, bob, conversation, "to all");
    await to.wait(3);
    await settled(server);
    assert.equal((await asker(server, admin)("DELETE", `/v1/tokens/${revoked.id}`)).status, 204);
    const list = async () =>
      ((await asker(server, ann)("GET", "/v1/push_subscriptions")).body.data as Json[]).map(({ id }) => id);
    assert.deepEqual(await list(), [third.id, second.id]);
    now = expires * 1000;
    assert.deepEqual(await list(), [third.id]);
    for (const method of ["GET", "DELETE"]) {
      const ended = await asker(server, ann)(method, `/v1/push_subscriptions/${second.id}`);
      assert.deepEqual([ended.status, ended.body.code], [404, "push_subscription_not_found"]);
    }
    await say(server, bob, conversation, "to one");
    await settled(server);
    assert.deepEqual(
      to.pushed.slice(3).map(({ path }) => path),
      ["/kept"],
    );
    const rows = await server.app.core.db.all(sql`SELECT 1 AS one FROM webhooks WHERE id = ${second.id}`);
    assert.deepEqual(rows, [], "the event deleted it");
    const entries = (await asker(server, admin)("GET", "/v1/audit?limit=100")).body.data as Json[];
    assert.ok(entries.every(({ action }) => action !== "push_subscription.deleted"));
  });

test("a message that the user has read meanwhile is not pushed by a retry", async (t) => {
  let now = Date.now();
  const server = await startApp(t, LIMITS, { clock: () => now });
  const { ann, bob, conversation } = await pair(server);
  const to = await pushServer(t, (response) => response.writeHead(503).end());
  await subscribe(server, ann, to.device());
  const message = await say(server, bob, conversation, "hello");
  await to.wait(1);
  // The retry becomes due by the clock of the test.
  assert.ok(await eventually(async () => (await pending(server))[0]?.attempts === 1));
  await markRead(server, ann, conversation, message);
  now += 60_000;
  await settled(server);
  assert.equal(to.pushed.length, 1);
});
