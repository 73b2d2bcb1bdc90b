// What events and webhooks tell of reactions, and that a message looks to each as their own reading of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { allEvents, eventPage, listen, type TestEvent } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { deliveries, hook, LIMITS } from "../../support/hooks.ts";
import { add, code, type Person, person, read, say, send } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";

const LIKE = encodeURIComponent("👍");

/** Ann, Bob and Cat in a group, and a message of Ann's. */
async function trio(server: TestApp) {
  const people = await Promise.all(["ann", "bob", "cat"].map((name) => person(server, name)));
  const [ann, bob, cat] = people as [Person, Person, Person];
  for (const who of [bob, cat]) await add(server, who, "ann");
  const fields = { name: "Climbing", members: ["bob", "cat"], history: "all" };
  const group = await read<Json>(send(server, ann, "POST", "/v1/groups", fields), 201);
  for (const who of [bob, cat]) await read(send(server, who, "POST", `/v1/groups/${group.id}/join`), 200);
  const conversation = String(group.conversation_id);
  const id = await say(server, ann, conversation, "hello");
  return { ann, bob, cat, conversation, id, group: `/v1/groups/${group.id}` };
}

async function change(server: TestApp, who: Person, method: "PUT" | "DELETE", id: string, emoji = LIKE) {
  const answer = await send(server, who, method, `/v1/messages/${id}/reactions/${emoji}`);
  assert.equal(answer.status, 204, await answer.text());
}

const ofReactions = (events: TestEvent[]) =>
  events.filter(({ type }) => type.startsWith("reaction.")).map(({ type, payload }) => [type, payload]);

test("those who see the message and have not blocked who reacts are told, in streams and pages", async (t) => {
  const server = await startApp(t);
  const { ann, bob, cat, conversation, id } = await trio(server);
  assert.equal((await send(server, cat, "PUT", "/v1/blocks/bob")).status, 204);
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

test("an event shows who reacted, and how, only while its recipient sees the reaction", async (t) => {
  const server = await startApp(t);
  const { ann, bob, cat, conversation, id, group } = await trio(server);
  await change(server, bob, "PUT", id);
  await change(server, cat, "PUT", id);
  await change(server, cat, "DELETE", id);
  const ids = { message_id: id, conversation_id: conversation };
  const seen = async (who: Person) => ofReactions(await allEvents(server, who)).map(([, payload]) => payload);
  const by = ({ id: user_id }: Person) => ({ ...ids, emoji: "👍", user_id });
  assert.deepEqual(await seen(ann), [by(bob), ids, by(cat)], "what is undone is told of by its end");
  assert.equal((await send(server, ann, "PUT", "/v1/blocks/bob")).status, 204);
  assert.deepEqual(await seen(ann), [ids, ids, by(cat)]);
  assert.equal((await send(server, ann, "DELETE", "/v1/blocks/bob")).status, 204);
  assert.deepEqual(await seen(ann), [by(bob), ids, by(cat)]);
  assert.equal((await send(server, cat, "DELETE", group)).status, 204);
  assert.deepEqual(await seen(cat), [ids, ids, ids], "who has left learns nothing more");
  await deleteUser(server.app.core, null, bob.id);
  assert.deepEqual(await seen(ann), [ids, ids, by(cat)]);
  const message = await read<Json>(send(server, ann, "GET", `/v1/messages/${id}`), 200);
  assert.deepEqual(message.reactions, []);
});

test("an update of a message with reactions looks to each stream as the message does to its reader", async (t) => {
  const server = await startApp(t);
  const { ann, bob, cat, id } = await trio(server);
  for (const who of [ann, bob, cat]) await change(server, who, "PUT", id);
  assert.equal((await send(server, cat, "PUT", "/v1/blocks/bob")).status, 204);
  const streams = [];
  for (const who of [ann, bob, cat]) streams.push({ who, stream: await listen(t, server, who) });
  await read(send(server, ann, "PUT", `/v1/messages/${id}`, { text: "edited" }), 200);
  const counts = new Set<number>();
  for (const { who, stream } of streams) {
    const [updated] = await stream.wait(1);
    const message = await read<Json>(send(server, who, "GET", `/v1/messages/${id}`), 200);
    assert.deepEqual([updated!.type, updated!.payload], ["message.updated", message]);
    counts.add((message.reactions as { count: number }[])[0]!.count);
  }
  assert.deepEqual(counts, new Set([3, 2]));
});

/** A webhook of all users for reactions, and what it was sent. */
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

test("a webhook of all users gets one delivery per reaction, with those who see it", async (t) => {
  const server = await startApp(t, LIMITS);
  let isDown = false;
  const to = await receiver(t, (response) => (isDown ? response.writeHead(500).end() : undefined));
  const { ann, bob, cat, conversation, id } = await trio(server);
  assert.equal((await send(server, cat, "PUT", "/v1/blocks/bob")).status, 204);
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
  assert.equal(to.received.length, 4, "nothing is sent of a reaction that is gone");
});

test("with PARLEY_WEBHOOK_CONTENT=ids a webhook of all users gets no emoji", async (t) => {
  const server = await startApp(t, { ...LIMITS, webhookIdsOnly: true });
  const to = await receiver(t);
  const { ann, conversation, id } = await trio(server);
  await hooked(server, to);
  for (const method of ["PUT", "DELETE"] as const) {
    await change(server, ann, method, id);
    await to.wait(method === "PUT" ? 1 : 2);
  }
  for (const { event } of to.received)
    assert.deepEqual(event.payload, { message_id: id, conversation_id: conversation, user_id: ann.id });
});
