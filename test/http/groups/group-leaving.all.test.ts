// What somebody gets of a group that is out of sight: nothing, also by streams that were open and links that were handed out.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { sql } from "../../../src/db/sql.ts";
import { startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { allEvents, listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, fieldsOf, give, type Person, person, read, say, send } from "../../support/people.ts";
import { openSocket } from "../../support/raw-socket.ts";

interface Group {
  id: string;
  conversation_id: string;
}

async function start(t: TestContext, engine: string): Promise<TestApp> {
  const config = await testConfig(t);
  if (engine === "sqlite") return startOn(t, config);
  return startOn(t, { ...config, databaseUrl: await testDatabase(t), secrets: ["s".repeat(32)] });
}

/** Ann's group with Bob and Cat. */
async function three(server: TestApp): Promise<{ people: [Person, Person, Person]; group: Group }> {
  const [ann, bob, cat] = [
    await person(server, "ann"),
    await person(server, "bob"),
    await person(server, "cat"),
  ];
  const body = { name: "Climbing", members: ["bob", "cat"] };
  const group = await read<Group>(send(server, ann, "POST", "/v1/groups", body), 201);
  for (const who of [bob, cat]) {
    await add(server, who, "ann");
    assert.equal((await send(server, who, "POST", `/v1/groups/${group.id}/join`)).status, 200);
  }
  return { people: [ann, bob, cat], group };
}

async function remove(server: TestApp, admin: Person, group: Group, name: string): Promise<void> {
  const path = `/v1/groups/${group.id}/members`;
  const { data } = await read<{ data: { id: string; username: string }[] }>(
    send(server, admin, "GET", path),
    200,
  );
  const { id } = data.find(({ username }) => username === name)!;
  assert.equal((await send(server, admin, "DELETE", `${path}/${id}`)).status, 204);
}

/** A stream that is read only when the test does. */
async function openStream(server: TestApp, { headers }: Person) {
  const socket = await openSocket(server.url);
  const lines = ["GET /v1/events HTTP/1.0", "host: x", `authorization: ${headers.authorization}`];
  socket.write(`${[...lines, "accept: text/event-stream"].join("\r\n")}\r\n\r\n`);
  await once(socket, "readable");
  socket.pause();
  return socket;
}

/** As long as messages may be, and of the longest characters. */
const LONG = "🧗".repeat(10_000);
const MESSAGES = 600;

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: open streams of a removed member have nothing that was written after`, async (t) => {
    const server = await start(t, engine);
    const { people, group } = await three(server);
    const [ann, bob, cat] = people;
    const id = group.conversation_id;
    const stream = await listen(t, server, bob);
    const slow = await openStream(server, bob);
    // More than what sockets and the server hold for a reader.
    for (let i = 0; i < MESSAGES; i += 20)
      await Promise.all(Array.from({ length: 20 }, () => say(server, ann, id, LONG)));
    await remove(server, ann, group, "bob");
    const later: string[] = [await give(server, cat, id, "after")];
    later.push(await say(server, cat, id, "after"));
    const renamed = await send(server, ann, "PUT", `/v1/groups/${group.id}`, { name: "after" });
    assert.equal(renamed.status, 200);
    const isRemoved = () => stream.events.some(({ type }) => type === "group.deleted");
    assert.ok(await eventually(async () => isRemoved()));
    // An event of Bob's own, so that both streams have got to the end.
    const { id: last } = await add(server, bob, "eve");
    let text = "";
    slow.setEncoding("utf8");
    slow.on("data", (chunk) => {
      text += chunk;
    });
    slow.resume();
    const hasLast = () => text.slice(-1000).includes(last) && stream.events.at(-1)!.payload.id === last;
    assert.ok(await eventually(async () => hasLast()), "the streams have no end");
    slow.destroy();
    for (const what of [text, JSON.stringify(stream.events), JSON.stringify(await allEvents(server, bob))]) {
      assert.ok(what.includes("group.deleted"));
      assert.ok(!what.includes("after"));
      for (const each of later) assert.ok(!what.includes(each));
    }
    const types = (all: string) => all.match(/"type":"[a-z]+\.[a-z]+"/g)!.slice(-2);
    assert.deepEqual(types(text), ['"type":"group.deleted"', '"type":"contact.created"']);
    const shown = text.split(LONG).length - 1;
    assert.ok(shown < MESSAGES, "what the slow reader had not been sent is ids");
    t.diagnostic(`${shown} of ${MESSAGES} messages were on their way to the slow reader`);
  });

  test(`${engine}: a link to a file of a group ends when its user does not see the file`, async (t) => {
    const server = await start(t, engine);
    const { people, group } = await three(server);
    const [ann, bob, cat] = people;
    const id = group.conversation_id;
    const linkOf = async (who: Person, file: string) =>
      (await read<{ file_url: string }>(send(server, who, "GET", `/v1/attachments/${file}`), 200)).file_url;
    const status = async (link: string, headers = {}) => (await fetch(link, { headers })).status;
    const shared = await give(server, ann, id, "shared");
    for (const who of [ann, cat])
      assert.equal((await send(server, who, "PUT", "/v1/blocks/bob")).status, 204);
    const own = await give(server, bob, id, "own");
    const [toShared, toOwn] = [await linkOf(bob, shared), await linkOf(bob, own)];
    const catsLink = await linkOf(cat, shared);
    for (const link of [toShared, toOwn, catsLink]) assert.equal(await status(link), 200);
    await remove(server, ann, group, "bob");
    for (const link of [toShared, toOwn]) assert.equal(await status(link), 404);
    assert.equal(await status(catsLink), 200);
    const withToken = toShared.replace(/\?.*/, "");
    assert.equal(await status(withToken, bob.headers), 404);
    assert.equal(await status(withToken, cat.headers), 200);
    for (const who of [ann, cat])
      assert.equal((await send(server, who, "DELETE", `/v1/groups/${group.id}`)).status, 204);
    assert.equal(await status(catsLink), 404);
  });

  test(`${engine}: an erased user is kept as nobody who may come back to the group`, async (t) => {
    const server = await start(t, engine);
    const { people, group } = await three(server);
    const [, bob, cat] = people;
    const { core } = server.app;
    await deleteUser(core, null, bob.id);
    assert.equal((await send(server, cat, "DELETE", `/v1/groups/${group.id}`)).status, 204);
    assert.ok(await eventually(async () => !(await hasRemains(core.db))));
    const kept = await core.db.all<{ user_id: string }>(sql`SELECT user_id FROM departures`);
    assert.deepEqual(
      kept.map(({ user_id }) => user_id),
      [cat.id],
    );
  });

  test(`${engine}: an invitation that ended shows only ids, also when there is another`, async (t) => {
    const server = await start(t, engine);
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    await add(server, bob, "ann");
    const group = await read<Group>(
      send(server, ann, "POST", "/v1/groups", { name: "Climbing", members: ["bob"] }),
      201,
    );
    await send(server, bob, "PUT", "/v1/blocks/ann");
    await send(server, bob, "DELETE", "/v1/blocks/ann");
    const changes = async () =>
      (await allEvents(server, bob)).filter(({ type }) => type.startsWith("group."));
    assert.ok(await eventually(async () => (await changes()).length === 3));
    const found = await changes();
    assert.deepEqual(
      found.map(({ type, payload }) => [type, payload.name]),
      [
        ["group.created", "Climbing"],
        ["group.deleted", undefined],
        ["group.created", "Climbing"],
      ],
    );
    assert.deepEqual(found[1]!.payload, { id: group.id, conversation_id: null });
  });

  test(`${engine}: who blocks somebody while adding them learns of no invitation`, async (t) => {
    const server = await start(t, engine);
    const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
    await read(send(server, ann, "POST", "/v1/groups", { name: "Climbing", members: ["bob"] }), 201);
    await read(send(server, bob, "POST", "/v1/contacts", { ...fieldsOf("ann"), blocked: true }), 201);
    assert.ok(await eventually(async () => (await allEvents(server, bob)).length > 0));
    assert.deepEqual(
      (await allEvents(server, bob)).map(({ type }) => type),
      ["contact.created"],
    );
  });
}
