// Users whom a back end makes members of a group without an invitation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp, type TestApp, type TestUser } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { add, type Person, person, read, say, send } from "../../support/people.ts";
import { published } from "../../support/published.ts";

let count = 0;

async function scene(server: TestApp) {
  const number = ++count;
  const [ann, bob, cat, dan] = [
    await person(server, `ann${number}`),
    await person(server, `bob${number}`),
    await person(server, `cat${number}`),
    await person(server, `dan${number}`),
  ];
  const shop = await server.user({ scopes: SCOPES });
  const headers = { ...shop.headers, "parley-act-as": ann.id };
  return { ann, bob, cat, dan, shop, asAnn: asker(server, { ...ann, headers }) };
}

const messagesOf = async (server: TestApp, who: TestUser, conversation: unknown) =>
  (await asker(server, who)("GET", `/v1/messages?conversation_id=${conversation}`)).body.data as Json[];
const namesOf = async (server: TestApp, who: TestUser, group: unknown) =>
  ((await asker(server, who)("GET", `/v1/groups/${group}/members`)).body.data as Json[])
    .map(({ username, role }) => `${username} ${role}`)
    .sort();
const eventsOf = async (server: TestApp, who: TestUser) =>
  (
    (await asker(server, who)("GET", "/v1/events?types=group.created,member.created,message.created")).body
      .data as Json[]
  )
    .map(({ type }) => type)
    .reverse();

onEachEngine("a group with joined has its members at once, with one system message", async (server) => {
  const { ann, bob, cat, dan, asAnn, shop } = await scene(server);
  const members = [bob.name, cat.name.toUpperCase(), ann.name];
  const { status, body } = await asAnn("POST", "/v1/groups", { name: "Order 1", members, joined: true });
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual([body.role, body.member_count], ["admin", 3]);
  for (const who of [ann, bob, cat]) {
    const expected = [`${ann.name} admin`, `${bob.name} member`, `${cat.name} member`];
    assert.deepEqual(await namesOf(server, who, body.id), expected);
    const [message, ...more] = await messagesOf(server, who, body.conversation_id);
    assert.deepEqual([message!.type, (message!.sender as Json).id, more], ["joined", ann.id, []]);
    const { users } = message!.data as { users: Json[] };
    assert.deepEqual(
      users.map(({ id }) => id),
      [bob.id, cat.id],
    );
  }
  await published(server);
  assert.deepEqual(await eventsOf(server, bob), ["group.created", "message.created"]);
  assert.deepEqual(await eventsOf(server, ann), [
    ...["group.created", "member.created", "member.created", "member.created", "message.created"],
  ]);
  assert.equal((await asker(server, dan)("GET", `/v1/groups/${body.id}`)).status, 404);
  await say(server, bob, body.conversation_id as string, "hello");
  assert.equal((await messagesOf(server, cat, body.conversation_id))[0]!.text, "hello");
  const audit = await asker(server, shop)("GET", "/v1/audit?actions=member.added,group.created");
  assert.deepEqual(
    (audit.body.data as Json[]).map(({ action, actor_id, acted_by_id }) => [action, actor_id, acted_by_id]),
    [
      ["member.added", ann.id, shop.id],
      ["member.added", ann.id, shop.id],
      ["group.created", ann.id, shop.id],
    ],
  );
  await asker(server, shop)("DELETE", `/v1/users/${bob.id}`);
  const joined = (await messagesOf(server, cat, body.conversation_id)).find(({ type }) => type === "joined");
  assert.deepEqual(
    ((joined?.data ?? {}) as { users: Json[] }).users?.map(({ id }) => id),
    [cat.id],
  );
});

onEachEngine("members added with joined see a group by its history", async (server) => {
  for (const history of ["joined", "all"] as const) {
    const { ann, bob, cat, dan, asAnn } = await scene(server);
    await add(server, dan, ann.name);
    const group = await asAnn("POST", "/v1/groups", {
      name: "G",
      history,
      members: [bob.name],
      joined: true,
    });
    const { id, conversation_id: conversation } = group.body as Record<string, string>;
    await say(server, ann, conversation!, "from ann");
    await say(server, bob, conversation!, "from bob");
    assert.equal((await send(server, dan, "PUT", `/v1/blocks/${bob.name}`)).status, 204);
    // Invited before, and declined.
    await read(send(server, ann, "POST", `/v1/groups/${id}/members`, { username: cat.name }), 201);
    await read(send(server, ann, "POST", `/v1/groups/${id}/members`, { username: dan.name }), 201);
    assert.equal((await send(server, dan, "DELETE", `/v1/groups/${id}`)).status, 204);
    const names = [bob.name, dan.name, cat.name];
    const { status, body } = await asAnn("POST", `/v1/groups/${id}/members`, {
      members: names,
      joined: true,
    });
    assert.equal(status, 200, JSON.stringify(body));
    const added = body.data as Json[];
    assert.deepEqual(
      added.map(({ username, role }) => [username, role]),
      names.map((name) => [name, "member"]),
    );
    assert.deepEqual(
      await namesOf(server, ann, id),
      [`${ann.name} admin`, ...names.map((name) => `${name} member`)].sort(),
    );
    const texts = async (who: Person) =>
      (await messagesOf(server, who, conversation)).flatMap(({ text }) => (text === null ? [] : [text]));
    assert.deepEqual(await texts(cat), history === "all" ? ["from bob", "from ann"] : []);
    assert.deepEqual(await texts(dan), history === "all" ? ["from ann"] : []);
    const [message] = await messagesOf(server, dan, conversation);
    assert.deepEqual(
      ((message!.data as Json).users as Json[]).map(({ id }) => id),
      [dan.id, cat.id],
    );
    const unread = (await asker(server, cat)("GET", `/v1/conversations/${conversation}`)).body.unread_count;
    assert.equal(unread, 0);
    const one = await asAnn("POST", `/v1/groups/${id}/members`, { username: cat.name, joined: true });
    assert.deepEqual([one.status, one.body.id], [201, added[2]!.id]);
  }
});

test("joined is refused without act_as, for other members, for unknown names and for too many", async (t) => {
  const server = await startApp(t, { maxMembers: 4, erasedRowsAtOnce: 10 });
  const { ann, bob, cat, dan, shop, asAnn } = await scene(server);
  const { id } = (await asAnn("POST", "/v1/groups", { name: "G", members: [bob.name], joined: true })).body;
  const path = `/v1/groups/${id}/members`;
  const asBob = asker(server, { ...bob, headers: { ...shop.headers, "parley-act-as": bob.id } as never });
  for (const [answer, status, code] of [
    [asker(server, ann)("POST", path, { members: [cat.name], joined: true }), 403, "insufficient_scope"],
    [asker(server, ann)("POST", "/v1/groups", { name: "G", joined: true }), 403, "insufficient_scope"],
    [asBob("POST", path, { members: [cat.name], joined: true }), 403, "not_admin"],
    [asker(server, shop)("POST", path, { members: [cat.name], joined: true }), 404, "group_not_found"],
    [asAnn("POST", path, { members: [cat.name] }), 400, "invalid_parameter"],
    [
      asAnn("POST", path, { members: [cat.name], username: dan.name, joined: true }),
      400,
      "invalid_parameter",
    ],
    [asAnn("POST", path, {}), 400, "missing_parameter"],
  ] as const) {
    const { status: actual, body } = await answer;
    assert.deepEqual([actual, body.code], [status, code]);
  }
  const none = await asAnn("POST", path, { members: [], joined: true });
  assert.deepEqual([none.status, none.body.param], [400, "members"]);
  assert.match(String(none.body.detail), /^members must not be empty/);
  const many = Array.from({ length: 101 }, (_, i) => `name ${i}`);
  for (const to of [path, "/v1/groups"]) {
    const fields = { members: many, joined: true, ...(to === path ? {} : { name: "G" }) };
    const { status, body } = await asAnn("POST", to, fields);
    assert.deepEqual([status, body.param], [400, "members"]);
    const unknown = { ...fields, members: [cat.name, cat.name.toUpperCase(), ann.name, "nobody"] };
    const { status: refused, body: reason } = await asAnn("POST", to, unknown);
    assert.deepEqual(
      [refused, reason.code, reason.param, reason.index],
      [404, "user_not_found", "members", 3],
    );
  }
  const one = await asAnn("POST", path, { username: "nobody", joined: true });
  assert.deepEqual([one.status, one.body.code, one.body.param], [404, "user_not_found", "username"]);
  assert.ok(!("index" in one.body));
  assert.deepEqual(await namesOf(server, ann, id), [`${ann.name} admin`, `${bob.name} member`]);
  const others = [(await person(server, "x")).name, (await person(server, "y")).name, cat.name];
  const full = await asAnn("POST", path, { members: others, joined: true });
  assert.deepEqual([full.status, full.body.code], [409, "count_limit_reached"]);
  assert.equal(
    (await asAnn("POST", path, { members: [cat.name, cat.name.toUpperCase(), dan.name], joined: true }))
      .status,
    200,
  );
});

onEachEngine("a retry of joined members returns the first result", async (server) => {
  const { ann, bob, cat, asAnn } = await scene(server);
  const { id, conversation_id } = (await asAnn("POST", "/v1/groups", { name: "G", history: "all" })).body;
  const body = { members: [bob.name, cat.name], joined: true };
  const ask = () => asAnn("POST", `/v1/groups/${id}/members`, body, { "idempotency-key": "k" });
  const [first, again] = [await ask(), await ask()];
  assert.deepEqual([first.status, again.status, again.body], [200, 200, first.body]);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal((await messagesOf(server, ann, conversation_id)).length, 2);
});
