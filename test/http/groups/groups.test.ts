// What the group model (../visibility/group-model.test.ts) does not cover: limits, links, open streams, erasing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { sql } from "../../../src/db/sql.ts";
import { startApp, type TestApp } from "../../support/app.ts";
import { allEvents, listen, openStream } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { onEachEngine } from "../../support/on-engines.ts";
import { add, code, done, give, type Person, person, read, say, send, trio } from "../../support/people.ts";

type Trio = Awaited<ReturnType<typeof trio>>;

async function removeBob(server: TestApp, { ann, bob, group }: Trio): Promise<void> {
  const members = send(server, ann, "GET", `${group}/members`);
  const { data } = await read<{ data: { id: string; user_id: string }[] }>(members, 200);
  const { id } = data.find(({ user_id }) => user_id === bob.id)!;
  await done(send(server, ann, "DELETE", `${group}/members/${id}`));
}

/** The longest text of a message, in bytes. */
const LONG = "🧗".repeat(10_000);
const MESSAGES = 600;

onEachEngine("open streams of a removed member get nothing written after the removal", async (server, t) => {
  const scene = await trio(server);
  const { ann, bob, cat, conversation, group } = scene;
  const stream = await listen(t, server, bob);
  const slow = await openStream(server, bob);
  // More than the buffers of the sockets and the server.
  for (let i = 0; i < MESSAGES; i += 20)
    await Promise.all(Array.from({ length: 20 }, () => say(server, ann, conversation, LONG)));
  await removeBob(server, scene);
  const later = [
    await give(server, cat, conversation, "after"),
    await say(server, cat, conversation, "after"),
  ];
  await read(send(server, ann, "PUT", group, { name: "after" }), 200);
  assert.ok(await eventually(async () => stream.events.some(({ type }) => type === "group.deleted")));
  // Both streams end with an event of one of Bob's contacts.
  const { id: last } = await add(server, bob, "eve");
  let text = "";
  slow.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  slow.resume();
  const hasLast = () => text.slice(-1000).includes(last) && stream.events.at(-1)!.payload.id === last;
  assert.ok(await eventually(async () => hasLast()), "the streams have no end");
  slow.destroy();
  for (const each of [text, JSON.stringify(stream.events), JSON.stringify(await allEvents(server, bob))]) {
    assert.ok(each.includes("group.deleted"));
    for (const hidden of ["after", ...later]) assert.ok(!each.includes(hidden));
  }
  const types = text.match(/"type":"[a-z]+\.[a-z]+"/g)!.slice(-2);
  assert.deepEqual(types, ['"type":"group.deleted"', '"type":"contact.created"']);
  const shown = text.split(LONG).length - 1;
  assert.ok(shown < MESSAGES, "what the slow reader had not been sent is ids");
  t.diagnostic(`${shown} of ${MESSAGES} messages were on their way to the slow reader`);
});

onEachEngine("a link to a file of a group ends when its user no longer sees the file", async (server) => {
  const scene = await trio(server);
  const { ann, bob, cat, conversation, group } = scene;
  const linkOf = async (who: Person, file: string) =>
    (await read<{ file_url: string }>(send(server, who, "GET", `/v1/attachments/${file}`), 200)).file_url;
  const status = async (link: string, headers = {}) => (await fetch(link, { headers })).status;
  const shared = await give(server, ann, conversation, "shared");
  for (const who of [ann, cat]) await done(send(server, who, "PUT", `/v1/blocks/${bob.name}`));
  const own = await give(server, bob, conversation, "own");
  const [toShared, toOwn, cats] = [
    await linkOf(bob, shared),
    await linkOf(bob, own),
    await linkOf(cat, shared),
  ];
  for (const link of [toShared, toOwn, cats]) assert.equal(await status(link), 200);
  await removeBob(server, scene);
  for (const link of [toShared, toOwn]) assert.equal(await status(link), 404);
  assert.equal(await status(cats), 200);
  const withToken = toShared.replace(/\?.*/, "");
  assert.equal(await status(withToken, bob.headers), 404);
  assert.equal(await status(withToken, cat.headers), 200);
  for (const who of [ann, cat]) await done(send(server, who, "DELETE", group));
  assert.equal(await status(cats), 404);
});

onEachEngine("the eraser keeps departures of members who left, not of erased users", async (server) => {
  const { bob, cat, group } = await trio(server);
  const { core } = server.app;
  await deleteUser(core, null, bob.id);
  await done(send(server, cat, "DELETE", group));
  assert.ok(await eventually(async () => !(await hasRemains(core.db))));
  const kept = await core.db.allValues(sql<[string]>`SELECT user_id FROM departures`);
  assert.deepEqual(kept, [[cat.id]]);
});

test("maxMembers counts members and invitations of a group, each name once", async (t) => {
  const server = await startApp(t, { maxMembers: 3 });
  const ann = await person(server, "Ann");
  const create = (members: string[]) => send(server, ann, "POST", "/v1/groups", { name: "x", members });
  assert.equal(await code(create(["a", "b", "c"]), 409), "count_limit_reached");
  const { id } = await read<{ id: string }>(create(["a", "A", "ann"]), 201);
  const invite = (username: string) => send(server, ann, "POST", `/v1/groups/${id}/members`, { username });
  assert.equal((await invite("b")).status, 201);
  assert.equal(await code(invite("c"), 409), "count_limit_reached");
  for (const known of ["B", "ann"]) assert.equal((await invite(known)).status, 201);
});
