// Changes of groups as webhooks of all users get them, and who gets events of groups at all.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createToken, SCOPES, type Scope } from "../../../src/core/people/tokens.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { allEvents, listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, LIMITS } from "../../support/hooks.ts";
import { add, code, type Person, person, read, say, send } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";

type Engine = "sqlite" | "postgres";

interface Recipient {
  user_id: string;
  notify: boolean;
}

interface Group {
  id: string;
  conversation_id: string;
}

async function start(t: TestContext, engine: Engine, more: object = {}): Promise<TestApp> {
  const config = await testConfig(t, { ...LIMITS, ...more });
  if (engine === "sqlite") return startOn(t, config);
  return startOn(t, { ...config, databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] });
}

/** Ann's group with Bob and Cat, who have joined it. */
async function makeGroup(server: TestApp) {
  const people = [await person(server, "ann"), await person(server, "bob"), await person(server, "cat")];
  const [ann, bob, cat] = people as [Person, Person, Person];
  for (const each of [bob, cat]) await add(server, each, "ann");
  const fields = { name: "Climbing", members: ["bob", "cat"] };
  const group = await read<Group>(send(server, ann, "POST", "/v1/groups", fields), 201);
  const path = `/v1/groups/${group.id}`;
  const join = (who: Person) => read(send(server, who, "POST", `${path}/join`), 200);
  await join(bob);
  return { ann, bob, cat, group, path, join };
}

/** The deliveries of this type with such a payload, once there is one; more are a defect that shows in the result. */
async function told(to: Receiver, type: string, isMeant: (payload: Json) => boolean) {
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

for (const engine of ["sqlite", "postgres"] as const) {
  test(`${engine}: a change of a group is one delivery, with all members as recipients`, async (t) => {
    const server = await start(t, engine);
    const to = await receiver(t);
    const { ann, bob, cat, group, path, join } = await makeGroup(server);
    const admin = await server.user({ scopes: SCOPES });
    await hook(server, admin, to, { all_users: true, events: TYPES });

    await join(cat);
    const members = await read<{ data: Json[] }>(send(server, ann, "GET", `${path}/members`), 200);
    const member = members.data.find(({ username }) => username === "cat")!;
    const isCats = ({ id }: Json) => id === member.id;
    const everyone = quiet(ann, bob, cat);
    const joined = await told(to, "member.created", isCats);
    assert.deepEqual(joined, [{ recipients: everyone, payload: member }]);

    const id = await say(server, ann, group.conversation_id, "hello");
    const [message, ...copies] = await told(to, "message.created", (payload) => payload.id === id);
    assert.deepEqual(copies, []);
    assert.equal(message!.payload.text, "hello");
    const alerts = everyone.map(({ user_id }) => ({ user_id, notify: user_id !== ann.id }));
    assert.deepEqual(message!.recipients, alerts);

    const seat = `${path}/members/${member.id}`;
    const admins = await read<Json>(send(server, ann, "PUT", seat, { role: "admin" }), 200);
    const appointed = await told(to, "member.updated", isCats);
    assert.deepEqual(appointed, [{ recipients: everyone, payload: admins }]);

    // Rendered later, it would have the new name, too.
    const promoted = await told(to, "group.updated", ({ name }) => name === "Climbing");
    assert.deepEqual(
      promoted.map(({ recipients }) => recipients),
      [quiet(cat)],
    );

    const shown = await read<Json>(send(server, ann, "PUT", path, { name: "Skiing" }), 200);
    const { role: _, invited_by: __, ...shared } = shown;
    const renamed = await told(to, "group.updated", ({ name }) => name === "Skiing");
    assert.deepEqual(renamed, [{ recipients: everyone, payload: shared }]);

    assert.equal((await send(server, ann, "DELETE", seat)).status, 204);
    const payload = { id: member.id, group_id: group.id, user_id: cat.id };
    const removed = await told(to, "member.deleted", isCats);
    assert.deepEqual(removed, [{ recipients: quiet(ann, bob), payload }]);
    const line = await told(to, "message.created", ({ type }) => type === "removed");
    assert.deepEqual(
      line.map(({ recipients }) => recipients),
      [quiet(ann, bob)],
    );
  });
}

test("with PARLEY_WEBHOOK_CONTENT=ids changes of groups are ids", async (t) => {
  const server = await start(t, "sqlite", { webhookIdsOnly: true });
  const to = await receiver(t);
  const { ann, cat, group, path, join } = await makeGroup(server);
  const admin = await server.user({ scopes: SCOPES });
  await hook(server, admin, to, { all_users: true, events: TYPES });
  await join(cat);
  const { data } = await read<{ data: Json[] }>(send(server, ann, "GET", `${path}/members`), 200);
  const { id } = data.find(({ username }) => username === "cat")!;
  const ofCat = { id, group_id: group.id };
  const payloads = async (type: string, isMeant: (payload: Json) => boolean) =>
    (await told(to, type, isMeant)).map(({ payload }) => payload);
  const isCats = (payload: Json) => payload.id === id;
  assert.deepEqual(await payloads("member.created", isCats), [ofCat]);
  const sent = await say(server, ann, group.conversation_id, "hello");
  assert.deepEqual(await payloads("message.created", (payload) => payload.id === sent), [
    { id: sent, conversation_id: group.conversation_id },
  ]);
  assert.equal((await send(server, ann, "DELETE", `${path}/members/${id}`)).status, 204);
  assert.deepEqual(await payloads("member.deleted", isCats), [{ ...ofCat, user_id: cat.id }]);
});

test("only a token that may read groups gets their events, in pages, streams and webhooks", async (t) => {
  const server = await start(t, "sqlite");
  const { ann, bob, cat, group, join } = await makeGroup(server);
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
  await join(cat);
  await say(server, ann, group.conversation_id, "last");
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
  const [invited, made] = pages[1]!.filter(isOfGroups).map(({ type }) => type);
  assert.deepEqual([invited, made], ["group.created", "group.created"]);
  for (const type of ["group.created", "member.deleted"]) {
    const asked = send(server, blind, "GET", `/v1/events?types=${type}`);
    assert.equal(await code(asked, 403), "insufficient_scope");
    const wanted = { url: toBlind.url, events: [type] };
    assert.equal(await code(send(server, blind, "POST", "/v1/webhooks", wanted), 403), "insufficient_scope");
  }
});
