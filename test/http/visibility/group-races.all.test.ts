// Concurrent actions of a group's members, on one node with SQLite and on two with PostgreSQL: the result is as if
// one came first.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { deleteUser } from "../../../src/core/people/users.ts";
import { raw } from "../../../src/db/sql.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { allEvents } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, type Person, person, read, send } from "../../support/people.ts";
import { published } from "../../support/published.ts";
import { scaled } from "../../support/scale.ts";

/** Rounds of each race. */
const ROUNDS = scaled(8, 200);
const MAX_MEMBERS = 8;

interface Group {
  id: string;
  conversation_id: string;
}

interface Member {
  id: string;
  username: string;
  role: string;
}

type Nodes = readonly [TestApp, TestApp];

async function start(t: TestContext, engine: string): Promise<Nodes> {
  const limits = { maxMembers: MAX_MEMBERS };
  if (engine === "sqlite") {
    const server = await startOn(t, await testConfig(t, limits));
    return [server, server];
  }
  const shared = { databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] };
  const node = async () => startOn(t, { ...(await testConfig(t, limits)), ...shared });
  return [await node(), await node()];
}

/** Repeats requests that were refused for too many conflicts, as a client does. Returns the status and the code. */
async function ask(
  node: TestApp,
  who: Person,
  method: string,
  path: string,
  body?: object,
): Promise<[status: number, code: string | undefined]> {
  for (;;) {
    const answer = await send(node, who, method, path, body);
    const text = await answer.text();
    if (answer.status !== 503) return [answer.status, text && JSON.parse(text).code];
  }
}

async function status(...request: Parameters<typeof ask>): Promise<number> {
  return (await ask(...request))[0];
}

/** Creates a group with these members. The first is its admin, who has all others as contacts; they have each other. */
async function makeGroup(node: TestApp, members: readonly Person[], fields: object = {}): Promise<Group> {
  const [admin, ...others] = members as [Person, ...Person[]];
  const body = { name: "Climbing", members: others.map(({ name }) => name), ...fields };
  const group = await read<Group>(send(node, admin, "POST", "/v1/groups", body), 201);
  for (const who of others) assert.equal(await status(node, who, "POST", `/v1/groups/${group.id}/join`), 200);
  return group;
}

async function people(node: TestApp, round: string, count: number): Promise<Person[]> {
  const all: Person[] = [];
  for (let i = 0; i < count; i++) all.push(await person(node, `${"abcdef"[i]} ${round}`));
  for (const who of all) for (const other of all) if (who !== other) await add(node, who, other.name);
  return all;
}

async function membersOf(node: TestApp, who: Person, { id }: Group): Promise<Member[]> {
  const path = `/v1/groups/${id}/members?limit=100`;
  return (await read<{ data: Member[] }>(send(node, who, "GET", path), 200)).data;
}

async function seatPath(node: TestApp, who: Person, group: Group, name: string): Promise<string> {
  const members = await membersOf(node, who, group);
  return `/v1/groups/${group.id}/members/${members.find(({ username }) => username === name)!.id}`;
}

/** Each query finds rows that must not exist. */
const WRONG = [
  `SELECT g.id FROM groups g WHERE NOT EXISTS (SELECT 1 FROM members m
     WHERE m.conversation_id = g.conversation_id AND m.group_id = g.id AND m.role = 'admin')`,
  "SELECT group_id AS id FROM members WHERE group_id IS NOT NULL AND group_id NOT IN (SELECT id FROM groups)",
  `SELECT i.member_id AS id FROM invitations i WHERE NOT EXISTS (SELECT 1 FROM members m
     WHERE m.group_id = i.group_id AND m.user_id = i.inviter_id)`,
  `SELECT i.member_id AS id FROM invitations i JOIN users u ON u.username_key = i.username_key
     JOIN members m ON m.group_id = i.group_id AND m.user_id = u.id`,
  `SELECT group_id AS id FROM invitations GROUP BY group_id, username_key HAVING COUNT(DISTINCT member_id) > 1`,
  `SELECT p.user_id AS id FROM (SELECT user_id, conversation_id FROM places UNION ALL
     SELECT user_id, conversation_id FROM marks UNION ALL SELECT user_id, conversation_id FROM withheld UNION ALL
     SELECT user_id, conversation_id FROM grants) AS p WHERE NOT EXISTS (SELECT 1 FROM members m
     WHERE m.conversation_id = p.conversation_id AND m.user_id = p.user_id)`,
  "SELECT id FROM messages WHERE conversation_id NOT IN (SELECT conversation_id FROM members)",
  "SELECT id FROM conversations WHERE id NOT IN (SELECT conversation_id FROM members)",
  "SELECT id FROM attachments WHERE conversation_id NOT IN (SELECT conversation_id FROM members)",
  "SELECT conversation_id AS id FROM departures WHERE conversation_id NOT IN (SELECT conversation_id FROM members)",
  "SELECT conversation_id AS id FROM preparing WHERE conversation_id NOT IN (SELECT conversation_id FROM members)",
  "SELECT user_id AS id FROM members WHERE user_id NOT IN (SELECT id FROM users)",
];

async function rowsAreRight([node]: Nodes): Promise<void> {
  const { db } = node.app.core;
  for (const wrong of WRONG) {
    const isRight = async () => (await db.all(raw(wrong))).length === 0;
    if (!(await eventually(isRight))) assert.deepEqual(await db.all(raw(wrong)), [], wrong);
  }
}

/** Runs many rounds of a race, then erases all users and checks that nothing is left. */
function race(
  name: string,
  count: number,
  run: (nodes: Nodes, people: Person[], round: number) => Promise<string>,
): void {
  for (const engine of ["sqlite", "postgres"]) {
    test(`${engine}: ${name}`, async (t) => {
      const nodes = await start(t, engine);
      const ends: Record<string, number> = {};
      for (let round = 0; round < ROUNDS; round++) {
        const all = await people(nodes[0], `${round}`, count);
        const end = await run(nodes, all, round);
        ends[end] = (ends[end] ?? 0) + 1;
        await rowsAreRight(nodes);
        for (const who of all) await erase(nodes[0], who);
      }
      await rowsAreRight(nodes);
      for (const table of "groups invitations members messages preparing departures".split(" ")) {
        const isEmpty = async () =>
          (await nodes[0].app.core.db.all(raw(`SELECT 1 AS one FROM ${table} LIMIT 1`))).length === 0;
        assert.ok(await eventually(isEmpty), table);
      }
      t.diagnostic(`${ROUNDS} rounds: ${JSON.stringify(ends)}`);
    });
  }
}

async function erase(node: TestApp, who: Person): Promise<void> {
  const erased = await eventually(() =>
    deleteUser(node.app.core, null, who.id).then(
      () => true,
      (error) => {
        if (error.code !== "unavailable") throw error;
        return false;
      },
    ),
  );
  assert.ok(erased);
}

race(
  "the last two admins go at once, and somebody else is admin, or nothing is left",
  3,
  async (nodes, all, round) => {
    const [ann, bob, cat] = all as [Person, Person, Person];
    const [here, there] = nodes;
    const isAlone = round % 2 === 0;
    const group = await makeGroup(here, isAlone ? [ann, bob] : [ann, bob, cat]);
    const ofBob = await seatPath(here, ann, group, bob.name);
    const ofAnn = await seatPath(here, ann, group, ann.name);
    assert.equal(await status(here, ann, "PUT", ofBob, { role: "admin" }), 200);
    const path = `/v1/groups/${group.id}`;
    const kind = Math.floor(round / 2) % 4;
    const both = await Promise.all([
      [
        () => status(here, ann, "DELETE", path),
        () => status(here, ann, "PUT", ofAnn, { role: "member" }),
        () => status(here, ann, "PUT", ofBob, { role: "member" }),
        () => status(here, ann, "DELETE", ofBob),
      ][kind]!(),
      [
        () => status(there, bob, "DELETE", path),
        () => status(there, bob, "PUT", ofBob, { role: "member" }),
        () => status(there, bob, "PUT", ofAnn, { role: "member" }),
        () => status(there, bob, "DELETE", ofAnn),
      ][kind]!(),
    ]);
    if (kind === 0) {
      assert.deepEqual(both, [204, 204]);
      if (!isAlone)
        assert.deepEqual(
          (await membersOf(there, cat, group)).map(({ role }) => role),
          ["admin"],
        );
    }
    for (const each of both) assert.ok([200, 204, 403, 404].includes(each), `${each}`);
    return both.join(" ");
  },
);

race("joining while the invitation ends", 3, async (nodes, all, round) => {
  const [ann, bob, cat] = all as [Person, Person, Person];
  const [here, there] = nodes;
  const group = await makeGroup(here, [ann, cat], { history: round % 2 ? "all" : "joined" });
  assert.equal(
    await status(here, ann, "PUT", await seatPath(here, ann, group, cat.name), { role: "admin" }),
    200,
  );
  const path = `/v1/groups/${group.id}`;
  assert.equal(await status(here, cat, "POST", `${path}/members`, { username: bob.name }), 201);
  const ofBob = await seatPath(here, ann, group, bob.name);
  const kind = ["withdrawn", "inviter leaves", "declined", "inviter is blocked", "inviter is removed"][
    round % 5
  ]!;
  const ofCat = await seatPath(here, ann, group, cat.name);
  const ending = {
    withdrawn: () => status(there, ann, "DELETE", ofBob),
    "inviter leaves": () => status(there, cat, "DELETE", path),
    declined: () => status(there, bob, "DELETE", path),
    "inviter is blocked": () => status(there, bob, "PUT", `/v1/blocks/${encodeURIComponent(cat.name)}`),
    "inviter is removed": () => status(there, ann, "DELETE", ofCat),
  }[kind]!;
  const ends = sleep(Math.floor(round / 5) % 12).then(ending);
  const [joined, ended] = await Promise.all([status(here, bob, "POST", `${path}/join`), ends]);
  assert.ok([200, 404].includes(joined));
  // Declining or withdrawing ends a membership that has just begun.
  const isMember = joined === 200 && kind !== "withdrawn" && kind !== "declined";
  if (kind === "declined") assert.ok([204, 404].includes(ended));
  else assert.equal(ended, 204);
  const isThere = (await membersOf(here, ann, group)).some(
    ({ username, role }) => username === bob.name && role !== "invited",
  );
  if (!(kind === "declined" && ended === 404)) assert.equal(isThere, isMember);
  assert.equal(await status(there, bob, "GET", path), isThere ? 200 : 404);
  return `${kind}: ${joined} ${ended}`;
});

race("inviting while leaving leaves no invitation", 3, async (nodes, all, round) => {
  const [ann, bob, cat] = all as [Person, Person, Person];
  const [here, there] = nodes;
  const group = await makeGroup(here, [ann, cat]);
  const path = `/v1/groups/${group.id}`;
  if (round % 2)
    await status(here, ann, "PUT", await seatPath(here, ann, group, cat.name), { role: "admin" });
  // Either goes first by a few milliseconds.
  const [inviting, leaving] = [sleep(round % 12), sleep(round % 2 ? 6 : 0)];
  const both = await Promise.all([
    inviting.then(() => status(here, ann, "POST", `${path}/members`, { username: bob.name })),
    leaving.then(() => status(there, ann, "DELETE", path)),
  ]);
  assert.ok([201, 404].includes(both[0]), `${both}`);
  assert.equal(both[1], 204);
  assert.equal(await status(here, bob, "POST", `${path}/join`), 404);
  assert.deepEqual(
    (await membersOf(here, cat, group)).map(({ role }) => role),
    ["admin"],
  );
  return both.join(" ");
});

/** Sends a message with a file. */
async function write(node: TestApp, who: Person, group: Group, text: string): Promise<string> {
  for (;;) {
    const body = new FormData();
    body.set("conversation_id", group.conversation_id);
    body.set("text", text);
    body.set("file", new File([text], text));
    const answer = await fetch(`${node.url}/v1/messages`, { method: "POST", headers: who.headers, body });
    const sent = (await answer.json()) as { id: string };
    if (answer.status === 201) return sent.id;
    assert.equal(answer.status, 503);
  }
}

race(
  "who leaves during a send gets its message, its file and their events, or none",
  3,
  async (nodes, all, round) => {
    const [ann, bob, cat] = all as [Person, Person, Person];
    const [here, there] = nodes;
    const group = await makeGroup(here, [ann, bob, cat], { history: "all" });
    const path = `/v1/groups/${group.id}`;
    const ofBob = await seatPath(here, ann, group, bob.name);
    const leaving = [() => status(there, bob, "DELETE", path), () => status(there, ann, "DELETE", ofBob)][
      round % 2
    ]!;
    const sending = ["1", "2", "3", "4"].map(async (text, i) => {
      await sleep(i);
      return write(i % 2 ? here : there, cat, group, text);
    });
    await sleep(round % 6);
    assert.equal(await leaving(), 204);
    const sent = await Promise.all(sending);
    await published(here);
    const events = await allEvents(here, bob);
    const end = events.findIndex(({ type }) => type === "group.deleted");
    assert.ok(end >= 0);
    const after = events.slice(end + 1).map(({ type }) => type);
    assert.deepEqual(after, [], "events after leaving");
    const ofFiles = events.filter(({ type }) => type === "attachment.created").length;
    const got = sent.filter((id) =>
      events.some(({ type, payload }) => type === "message.created" && payload.id === id),
    );
    assert.equal(ofFiles, got.length);
    for (const event of events)
      assert.equal("text" in event.payload, false, "only ids of what is out of sight");
    assert.equal(
      await status(there, bob, "GET", `/v1/messages?conversation_id=${group.conversation_id}`),
      404,
    );
    for (const who of [ann, cat]) {
      const path = `/v1/messages?conversation_id=${group.conversation_id}&limit=100`;
      const { data } = await read<{ data: { id: string; type: string; attachments: object[] }[] }>(
        send(here, who, "GET", path),
        200,
      );
      const texts = data.filter(({ type }) => type === "text");
      assert.deepEqual(texts.map(({ id }) => id).sort(), [...sent].sort());
      for (const { attachments } of texts) assert.equal(attachments.length, 1);
    }
    return `${got.length} of ${sent.length}`;
  },
);

race(
  "fifty invitations at once leave no more members than the setting allows",
  2,
  async (nodes, all, round) => {
    const [ann, bob] = all as [Person, Person];
    const [here, there] = nodes;
    const group = await makeGroup(here, [ann, bob]);
    const path = `/v1/groups/${group.id}/members`;
    await status(here, ann, "PUT", await seatPath(here, ann, group, bob.name), { role: "admin" });
    for (let i = 0; i < MAX_MEMBERS - 5; i++)
      assert.equal(await status(here, ann, "POST", path, { username: `known ${i}` }), 201);
    const asked = Array.from({ length: 50 }, (_, i) => {
      // Every tenth name is invited by both admins, and takes one place.
      const username = `${round} ${i % 10 === 9 ? i - 1 : i}`;
      return ask(i % 2 ? here : there, Math.floor((i + 1) / 2) % 2 ? bob : ann, "POST", path, { username });
    });
    const answers = await Promise.all(asked);
    const refused = answers.filter(([code]) => code === 409);
    for (const [, code] of refused) assert.equal(code, "count_limit_reached");
    const members = await membersOf(here, ann, group);
    assert.equal(members.length, MAX_MEMBERS);
    const taken = answers.flatMap(([code], i) => (code === 201 ? [i % 10 === 9 ? i - 1 : i] : []));
    assert.equal(taken.length + refused.length, 50);
    assert.equal(new Set(taken).size, 3);
    return `${taken.length} taken`;
  },
);
