// Reactions in events and webhooks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { allEvents, eventPage, listen, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, hook, LIMITS } from "../../support/hooks.ts";
import { code, done, type Person, read, say, send, trio } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";

const LIKE = encodeURIComponent("👍");

/** Creates a group whose members see all history, and a message of Ann's. */
async function scene(server: TestApp) {
  const group = await trio(server, { history: "all" });
  return { ...group, id: await say(server, group.ann, group.conversation, "hello") };
}

async function change(server: TestApp, who: Person, method: "PUT" | "DELETE", id: string, emoji = LIKE) {
  await done(send(server, who, method, `/v1/messages/${id}/reactions/${emoji}`));
}

const ofReactions = (events: TestEvent[]) =>
  events.filter(({ type }) => type.startsWith("reaction.")).map(({ type, payload }) => [type, payload]);

test("members who see the message and have not blocked the user get reaction events, in streams and pages", async (t) => {
  const server = await startApp(t);
  const { ann, bob, cat, conversation, id } = await scene(server);
  await done(send(server, cat, "PUT", `/v1/blocks/${bob.name}`));
  const streams = new Map<Person, Awaited<ReturnType<typeof listen>>>();
  for (const who of [ann, bob, cat]) streams.set(who, await listen(t, server, who));
  for (const method of ["PUT", "PUT", "DELETE", "DELETE", "PUT"] as const)
    await change(server, bob, method, id);
  await change(server, ann, "PUT", id);
  const by = ({ id: user_id }: Person) => ({
    message_id: id,
    conversation_id: conversation,
    emoji: "👍",
    user_id,
  });
  const all = [
    ["reaction.created", by(bob)],
    ["reaction.deleted", by(bob)],
    ["reaction.created", by(bob)],
    ["reaction.created", by(ann)],
  ];
  for (const [who, wanted] of [
    [ann, all],
    [bob, all],
    [cat, all.slice(3)],
  ] as const) {
    const stream = streams.get(who)!;
    await stream.wait(wanted.length);
    assert.deepEqual(ofReactions(stream.events), wanted);
    assert.ok(stream.events.every((event) => event.conversation_id === conversation && !("notify" in event)));
    assert.deepEqual(ofReactions(await allEvents(server, who)), wanted);
  }
  const only = await eventPage(server, bob, "?types=reaction.deleted");
  assert.equal(only.data.length, 1);
  const { token } = await createToken(server.app.core, null, bob.id, {
    scopes: ["events:read", "contacts:read"],
  });
  const blind = { ...bob, headers: { authorization: `Bearer ${token}` } };
  assert.deepEqual(ofReactions((await eventPage(server, blind, "?limit=100")).data), []);
  assert.equal(
    await code(send(server, blind, "GET", "/v1/events?types=reaction.created"), 403),
    "insufficient_scope",
  );
});

test("a reaction event shows user and emoji only while its recipient sees the reaction", async (t) => {
  const server = await startApp(t);
  const { ann, bob, cat, conversation, id, group } = await scene(server);
  await change(server, bob, "PUT", id);
  await change(server, cat, "PUT", id);
  await change(server, cat, "DELETE", id);
  const ids = { message_id: id, conversation_id: conversation };
  const seen = async (who: Person) => ofReactions(await allEvents(server, who)).map(([, payload]) => payload);
  const by = ({ id: user_id }: Person) => ({ ...ids, emoji: "👍", user_id });
  assert.deepEqual(
    await seen(ann),
    [by(bob), ids, by(cat)],
    "of a reaction that is undone only its end has them",
  );
  await done(send(server, ann, "PUT", `/v1/blocks/${bob.name}`));
  assert.deepEqual(await seen(ann), [ids, ids, by(cat)]);
  await done(send(server, ann, "DELETE", `/v1/blocks/${bob.name}`));
  assert.deepEqual(await seen(ann), [by(bob), ids, by(cat)]);
  await done(send(server, cat, "DELETE", group));
  assert.deepEqual(await seen(cat), [ids, ids, ids], "a member who left sees ids only");
  await deleteUser(server.app.core, null, bob.id);
  assert.deepEqual(await seen(ann), [ids, ids, by(cat)]);
  const message = await read<Json>(send(server, ann, "GET", `/v1/messages/${id}`), 200);
  assert.deepEqual(message.reactions, []);
});

/** Creates an all-users webhook for reactions, and returns the states of its deliveries. */
async function hooked(server: TestApp, to: Receiver) {
  const admin = await server.user({ scopes: SCOPES });
  const made = await hook(server, admin, to, {
    all_users: true,
    events: "reaction.created,reaction.deleted",
  });
  return {
    states: async () => (await deliveries(server, admin, made)).map(({ type, state }) => `${type} ${state}`),
  };
}

test("an all-users webhook gets one delivery per reaction, with the users who see it as recipients", async (t) => {
  const server = await startApp(t, LIMITS);
  let isDown = false;
  const to = await receiver(t, (response) => (isDown ? response.writeHead(500).end() : undefined));
  const { ann, bob, cat, conversation, id } = await scene(server);
  await done(send(server, cat, "PUT", `/v1/blocks/${bob.name}`));
  const { states } = await hooked(server, to);
  await change(server, bob, "PUT", id);
  await to.wait(1);
  await change(server, bob, "DELETE", id);
  const got = await to.wait(2);
  const payload = { message_id: id, conversation_id: conversation, emoji: "👍", user_id: bob.id };
  for (const { event } of got) {
    const { recipients, payload: sent } = event as unknown as { recipients: Json[]; payload: Json };
    assert.deepEqual(sent, payload);
    assert.deepEqual(
      recipients.toSorted((a, b) => (String(a.user_id) < String(b.user_id) ? -1 : 1)),
      [ann.id, bob.id].toSorted().map((user_id) => ({ user_id, notify: false })),
    );
  }
  isDown = true;
  await change(server, ann, "PUT", id);
  await to.wait(3);
  isDown = false;
  await change(server, ann, "DELETE", id);
  const wanted = ["reaction.deleted delivered", "reaction.created skipped"];
  assert.ok(await eventually(async () => (await states()).slice(0, 2).join() === wanted.join()));
  assert.equal(to.received.length, 4, "a reaction that is gone is not delivered");
});

test("with PARLEY_WEBHOOK_CONTENT=ids an all-users webhook gets no emoji", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookIdsOnly: true });
  const to = await receiver(t);
  const { ann, conversation, id } = await scene(server);
  await hooked(server, to);
  for (const method of ["PUT", "DELETE"] as const) {
    await change(server, ann, method, id);
    await to.wait(method === "PUT" ? 1 : 2);
  }
  for (const { event } of to.received)
    assert.deepEqual(event.payload, { message_id: id, conversation_id: conversation, user_id: ann.id });
});
