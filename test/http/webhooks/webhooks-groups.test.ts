// Deliveries of group changes to all-users webhooks, and the scope for events of groups.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createToken, SCOPES, type Scope } from "../../../src/core/people/tokens.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { allEvents, listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, LIMITS } from "../../support/hooks.ts";
import { onEachEngineWith } from "../../support/on-engines.ts";
import { code, done, type Person, read, say, send, trio } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";

interface Recipient {
  user_id: string;
  notify: boolean;
}

/** Creates Ann's group with Bob, to which Cat is invited. */
async function makeGroup(server: TestApp) {
  const scene = await trio(server);
  await done(send(server, scene.cat, "DELETE", scene.group));
  await read(send(server, scene.ann, "POST", `${scene.group}/members`, { username: scene.cat.name }), 201);
  const joinCat = () => read(send(server, scene.cat, "POST", `${scene.group}/join`), 200);
  return { ...scene, path: scene.group, joinCat };
}

/**
 * Waits for deliveries of this type with a matching payload, and returns all of them, so that a duplicate is noticed.
 */
async function delivered(to: Receiver, type: string, isMeant: (payload: Json) => boolean) {
  const find = () => to.received.filter(({ event }) => event.type === type && isMeant(event.payload));
  assert.ok(await eventually(async () => find().length > 0), `no ${type}`);
  return find().map(({ event }) => {
    const { recipients, payload } = event as unknown as { recipients: Recipient[]; payload: Json };
    const names = recipients.toSorted((a, b) => a.user_id.localeCompare(b.user_id));
    return { recipients: names, payload };
  });
}

const quiet = (...people: Person[]) => people.map(({ id }) => ({ user_id: id, notify: false }));

const TYPES = "message.created,group.updated,member.created,member.updated,member.deleted";

/** Returns a member as events show it: without the read position. */
const toShown = ({ read_message_id: _, ...rest }: Json) => rest;

onEachEngineWith(LIMITS, "a change of a group is one delivery to all members", async (server, t) => {
  const to = await receiver(t);
  const { ann, bob, cat, id: groupId, conversation, path, joinCat } = await makeGroup(server);
  const admin = await server.user({ scopes: SCOPES });
  await hook(server, admin, to, { all_users: true, events: TYPES });

  await joinCat();
  const members = await read<{ data: Json[] }>(send(server, ann, "GET", `${path}/members`), 200);
  const member = members.data.find(({ username }) => username === cat.name)!;
  const isCats = ({ id }: Json) => id === member.id;
  const everyone = quiet(ann, bob, cat);
  const joined = await delivered(to, "member.created", isCats);
  assert.deepEqual(joined, [{ recipients: everyone, payload: toShown(member) }]);

  const id = await say(server, ann, conversation, "hello");
  const [message, ...copies] = await delivered(to, "message.created", (payload) => payload.id === id);
  assert.deepEqual(copies, []);
  assert.equal(message!.payload.text, "hello");
  const alerts = everyone.map(({ user_id }) => ({ user_id, notify: user_id !== ann.id }));
  assert.deepEqual(message!.recipients, alerts);

  const seat = `${path}/members/${member.id}`;
  const admins = await read<Json>(send(server, ann, "PUT", seat, { role: "admin" }), 200);
  const appointed = await delivered(to, "member.updated", isCats);
  assert.deepEqual(appointed, [{ recipients: everyone, payload: toShown(admins) }]);

  // If it were rendered later, it would also have the new name.
  const promoted = await delivered(to, "group.updated", ({ name }) => name === "Climbing");
  assert.deepEqual(
    promoted.map(({ recipients }) => recipients),
    [quiet(cat)],
  );

  const shown = await read<Json>(send(server, ann, "PUT", path, { name: "Skiing" }), 200);
  const { role: _, invited_by: __, ...shared } = shown;
  const renamed = await delivered(to, "group.updated", ({ name }) => name === "Skiing");
  assert.deepEqual(renamed, [{ recipients: everyone, payload: shared }]);

  await done(send(server, ann, "DELETE", seat));
  const payload = { id: member.id, group_id: groupId, user_id: cat.id };
  const removed = await delivered(to, "member.deleted", isCats);
  assert.deepEqual(removed, [{ recipients: quiet(ann, bob), payload }]);
  const line = await delivered(to, "message.created", ({ type }) => type === "removed");
  assert.deepEqual(
    line.map(({ recipients }) => recipients),
    [quiet(ann, bob)],
  );
});

test("only a token with groups:read gets events of groups, in pages, streams and webhooks", async (t) => {
  const server = await startApp(t, LIMITS);
  const { ann, bob, conversation, joinCat } = await makeGroup(server);
  const as = async (...scopes: Scope[]): Promise<Person> => {
    const { token } = await createToken(server.app.core, null, bob.id, {
      scopes: ["events:read", ...scopes],
    });
    return { ...bob, token, headers: { authorization: `Bearer ${token}` } };
  };
  const [blind, seeing] = [await as("messages:read"), await as("messages:read", "groups:read")];
  const [toBlind, toSeeing] = [await receiver(t), await receiver(t)];
  await hook(server, blind, toBlind);
  await hook(server, seeing, toSeeing);
  const streams = [await listen(t, server, blind), await listen(t, server, seeing)] as const;
  await joinCat();
  await say(server, ann, conversation, "last");
  const messages = ["message.created", "message.created"];
  const both = ["member.created", ...messages];
  for (const [which, types] of [messages, both].entries()) {
    const streamed = await streams[which]!.wait(types.length);
    assert.deepEqual(streamed.map(({ type }) => type).toSorted(), types);
    const sent = await [toBlind, toSeeing][which]!.wait(types.length);
    assert.deepEqual(sent.map(({ event }) => event.type).toSorted(), types);
  }
  const pages = await Promise.all([blind, seeing].map((who) => allEvents(server, who)));
  const isOfGroups = ({ type }: { type: string }) => /^(group|member)\./.test(type);
  assert.deepEqual(pages[0]!.filter(isOfGroups), []);
  assert.equal(pages[1]!.filter(isOfGroups)[0]!.type, "group.created");
  for (const type of ["group.created", "member.deleted"]) {
    const asked = send(server, blind, "GET", `/v1/events?types=${type}`);
    assert.equal(await code(asked, 403), "insufficient_scope");
    const wanted = { url: toBlind.url, events: [type] };
    assert.equal(await code(send(server, blind, "POST", "/v1/webhooks", wanted), 403), "insufficient_scope");
  }
});
