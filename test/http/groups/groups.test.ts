// Groups: who may join, who sees what, and who decides.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { startApp, startOn, type TestApp, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { add, code, filesOf, give, type Person, person, read, say, send } from "../../support/people.ts";

interface Group {
  id: string;
  name: string;
  description: string | null;
  avatar_url: string | null;
  conversation_id: string | null;
  history: string;
  role: string;
  invited_by: { id: string; username: string } | null;
  member_count: number;
  created_at: number;
}

interface Member {
  id: string;
  group_id: string;
  user_id: string | null;
  username: string | null;
  role: string;
}

interface Message {
  id: string;
  type: string;
  sender: { id: string } | null;
  text: string | null;
  data: Record<string, unknown> | null;
}

interface Event {
  type: string;
  notify?: boolean;
  payload: { id: string };
  conversation_id: string | null;
}

interface Page<T> {
  has_more: boolean;
  data: T[];
}

const groupOf = (server: TestApp, who: Person, id: string) =>
  read<Group>(send(server, who, "GET", `/v1/groups/${id}`), 200);
const groupsOf = async (server: TestApp, who: Person) =>
  (await read<Page<Group>>(send(server, who, "GET", "/v1/groups?limit=100"), 200)).data;
const membersOf = async (server: TestApp, who: Person, id: string) =>
  (await read<Page<Member>>(send(server, who, "GET", `/v1/groups/${id}/members?limit=100`), 200)).data;
const messagesOf = async (server: TestApp, who: Person, conversation: string) =>
  (
    await read<Page<Message>>(
      send(server, who, "GET", `/v1/messages?conversation_id=${conversation}&limit=100`),
      200,
    )
  ).data.reverse();
const textsOf = async (server: TestApp, who: Person, conversation: string) =>
  (await messagesOf(server, who, conversation)).map(({ type, text }) => text ?? type);

async function make(server: TestApp, who: Person, fields: object = {}): Promise<Group> {
  return read<Group>(send(server, who, "POST", "/v1/groups", { name: "Climbing", ...fields }), 201);
}

const join = (server: TestApp, who: Person, id: string) =>
  read<Group>(send(server, who, "POST", `/v1/groups/${id}/join`), 200);

async function leave(server: TestApp, who: Person, id: string): Promise<void> {
  assert.equal((await send(server, who, "DELETE", `/v1/groups/${id}`)).status, 204);
}

function onBothEngines(name: string, run: (server: TestApp) => Promise<void>): void {
  test(`sqlite: ${name}`, async (t) => run(await startApp(t)));
  test(`postgres: ${name}`, async (t) => run(await startOnPostgres(t)));
}

async function startOnPostgres(t: TestContext): Promise<TestApp> {
  const databaseUrl = await testDatabase(t);
  return startOn(t, { ...(await testConfig(t)), databaseUrl, secrets: ["s".repeat(32)] });
}

/** Three who all have each other as contacts. */
async function three(server: TestApp): Promise<[Person, Person, Person]> {
  const [ann, bob, cat] = [
    await person(server, "Ann"),
    await person(server, "Bob"),
    await person(server, "Cat"),
  ] as const;
  for (const who of [ann, bob, cat])
    for (const other of [ann, bob, cat]) if (who !== other) await add(server, who, other.name);
  return [ann, bob, cat];
}

onBothEngines("a group is invited into, joined, used and left", async (server) => {
  const [ann, bob, cat] = await three(server);
  const made = await make(server, ann, { members: ["bob", "CAT"], description: "On Sundays\nat nine" });
  assert.equal(made.role, "admin");
  assert.equal(made.member_count, 1);
  assert.equal(made.description, "On Sundays\nat nine");
  assert.equal(made.history, "joined");
  const seen = await groupOf(server, bob, made.id);
  assert.deepEqual([seen.role, seen.conversation_id, seen.invited_by?.username], ["invited", null, "Ann"]);
  assert.equal(
    await code(send(server, bob, "GET", `/v1/messages?conversation_id=${made.conversation_id}`), 404),
    "conversation_not_found",
  );
  await say(server, ann, made.conversation_id!, "before Bob");
  const joined = await join(server, bob, made.id);
  assert.deepEqual(
    [joined.role, joined.conversation_id, joined.invited_by],
    ["member", made.conversation_id, null],
  );
  assert.deepEqual(await join(server, bob, made.id), joined);
  await say(server, bob, made.conversation_id!, "hello");
  await give(server, bob, made.conversation_id!, "map");
  assert.deepEqual(await textsOf(server, ann, made.conversation_id!), [
    "joined",
    "before Bob",
    "joined",
    "hello",
    "text",
  ]);
  assert.deepEqual(await textsOf(server, bob, made.conversation_id!), ["joined", "hello", "text"]);
  assert.deepEqual(
    (await filesOf(server, ann)).map(({ filename }) => filename),
    ["map"],
  );
  assert.deepEqual(
    (await membersOf(server, ann, made.id)).map(({ username, role, user_id }) => [
      username,
      role,
      user_id !== null,
    ]),
    [
      ["CAT", "invited", false],
      ["Bob", "member", true],
      ["Ann", "admin", true],
    ],
  );
  assert.deepEqual(
    (await membersOf(server, bob, made.id)).map(({ username }) => username),
    ["Bob", "Ann"],
  );
  assert.equal(await code(send(server, cat, "GET", `/v1/groups/${made.id}/members`), 404), "group_not_found");
  const inbox = await read<
    Page<{ kind: string; group_id: string; name: string; unread_count: number; last_message: Message }>
  >(send(server, ann, "GET", "/v1/conversations?kind=group"), 200);
  assert.deepEqual(
    inbox.data.map(({ kind, group_id, name, unread_count }) => [kind, group_id, name, unread_count]),
    [["group", made.id, "Climbing", 2]],
  );
  await leave(server, bob, made.id);
  assert.equal(await code(send(server, bob, "GET", `/v1/groups/${made.id}`), 404), "group_not_found");
  assert.equal(
    await code(send(server, bob, "GET", `/v1/messages?conversation_id=${made.conversation_id}`), 404),
    "conversation_not_found",
  );
  assert.equal((await textsOf(server, ann, made.conversation_id!)).at(-1), "left");
  await leave(server, cat, made.id);
  assert.deepEqual(await groupsOf(server, cat), []);
  await leave(server, ann, made.id);
  assert.deepEqual(await groupsOf(server, ann), []);
  assert.deepEqual(await filesOf(server, ann), []);
});

onBothEngines("a join with a key is done once", async (server) => {
  const [ann, bob] = await three(server);
  const { id } = await make(server, ann, { members: ["bob"] });
  for (const replayed of [null, "true"]) {
    const headers = { "idempotency-key": "join" };
    const answer = await send(server, bob, "POST", `/v1/groups/${id}/join`, undefined, headers);
    assert.deepEqual([answer.status, answer.headers.get("idempotent-replayed")], [200, replayed]);
  }
});

onBothEngines(
  "an invitation is seen by whom the inviter is a contact of, and is judged each time",
  async (server) => {
    const [ann, bob] = [await person(server, "Ann"), await person(server, "Bob")];
    const { id } = await make(server, ann, { members: ["bob"] });
    assert.deepEqual(await groupsOf(server, bob), []);
    assert.equal(await code(send(server, bob, "POST", `/v1/groups/${id}/join`), 404), "group_not_found");
    const contact = await add(server, bob, "ann");
    assert.deepEqual(
      (await groupsOf(server, bob)).map((group) => group.id),
      [id],
    );
    await send(server, bob, "PUT", `/v1/contacts/${contact.id}/block`);
    assert.deepEqual(await groupsOf(server, bob), []);
    await send(server, bob, "DELETE", "/v1/blocks/ANN");
    assert.deepEqual(
      (await groupsOf(server, bob)).map((group) => group.id),
      [id],
    );
    await send(server, bob, "DELETE", `/v1/contacts/${contact.id}`);
    assert.equal(await code(send(server, bob, "GET", `/v1/groups/${id}`), 404), "group_not_found");
    await add(server, bob, "ann");
    const changes = async () => {
      const path = "/v1/events?types=group.created,group.deleted&limit=100";
      const { data } = await read<Page<Event>>(send(server, bob, "GET", path), 200);
      return data.map(({ type, payload, conversation_id }) => [type, payload.id, conversation_id]).reverse();
    };
    const expected = ["created", "deleted", "created", "deleted", "created"];
    // Events have their places soon after the commit.
    assert.ok(await eventually(async () => (await changes()).length >= expected.length));
    assert.deepEqual(
      await changes(),
      expected.map((change) => [`group.${change}`, id, null]),
    );
  },
);

onBothEngines("what happens in a group alerts nobody", async (server) => {
  const [ann, bob] = await three(server);
  const { id, conversation_id: conversation } = await make(server, ann, { members: ["bob"] });
  await join(server, bob, id);
  const [seat] = await membersOf(server, ann, id);
  await send(server, ann, "PUT", `/v1/groups/${id}/members/${seat!.id}`, { role: "admin" });
  await say(server, ann, conversation!, "hello");
  const alerts = async () => {
    const { data } = await read<Page<Event>>(
      send(server, bob, "GET", "/v1/events?types=message.created"),
      200,
    );
    return data.map(({ notify }) => notify).reverse();
  };
  assert.ok(await eventually(async () => (await alerts()).length >= 3));
  assert.deepEqual(await alerts(), [false, false, true]);
});

onBothEngines("to decline tells nobody, and stands until an admin withdraws", async (server) => {
  const [ann, bob] = await three(server);
  const { id } = await make(server, ann, { members: ["bob"] });
  await leave(server, bob, id);
  assert.equal(await code(send(server, bob, "DELETE", `/v1/groups/${id}`), 404), "group_not_found");
  const again = await read<Member>(
    send(server, ann, "POST", `/v1/groups/${id}/members`, { username: "BOB" }),
    201,
  );
  assert.deepEqual([again.username, again.role, again.user_id], ["bob", "invited", null]);
  assert.deepEqual(await groupsOf(server, bob), []);
  assert.equal((await send(server, ann, "DELETE", `/v1/groups/${id}/members/${again.id}`)).status, 204);
  assert.equal(
    await code(send(server, ann, "DELETE", `/v1/groups/${id}/members/${again.id}`), 404),
    "member_not_found",
  );
  const last = await read<Member>(
    send(server, ann, "POST", `/v1/groups/${id}/members`, { username: "BOB" }),
    201,
  );
  assert.equal(last.username, "BOB");
  assert.deepEqual(
    (await groupsOf(server, bob)).map((group) => group.id),
    [id],
  );
});

onBothEngines("there is always an admin", async (server) => {
  const [ann, bob, cat] = await three(server);
  const { id, conversation_id } = await make(server, ann, { members: ["bob", "cat"] });
  await join(server, bob, id);
  await join(server, cat, id);
  const seats = new Map((await membersOf(server, ann, id)).map((member) => [member.username, member.id]));
  const role = (who: Person, of: string, to: string) =>
    send(server, who, "PUT", `/v1/groups/${id}/members/${seats.get(of)}`, { role: to });
  assert.equal(await code(role(bob, "Bob", "admin"), 403), "not_admin");
  assert.equal((await read<Member>(role(ann, "Ann", "member"), 200)).role, "member");
  const roles = async (who: Person) =>
    Object.fromEntries((await membersOf(server, who, id)).map(({ username, role }) => [username, role]));
  assert.deepEqual(await roles(cat), { Ann: "member", Bob: "admin", Cat: "member" });
  assert.equal(
    (await send(server, bob, "DELETE", `/v1/groups/${id}/members/${seats.get("Ann")}`)).status,
    204,
  );
  await deleteUser(server.app.core, null, bob.id);
  assert.deepEqual(await roles(cat), { Cat: "admin" });
  assert.equal((await read<Member>(role(cat, "Cat", "member"), 200)).role, "admin");
  const said = await messagesOf(server, cat, conversation_id!);
  assert.deepEqual(
    said.map(({ type, sender, data }) => [
      type,
      sender?.id ?? null,
      (data?.user as { id: string } | null)?.id ?? null,
      data?.role,
    ]),
    [
      ["joined", cat.id, null, undefined],
      ["role", ann.id, null, "admin"],
      ["role", ann.id, ann.id, "member"],
      ["removed", null, ann.id, undefined],
      ["left", null, null, undefined],
      ["role", null, cat.id, "admin"],
    ],
  );
});

onBothEngines(
  "with history all a new member sees what was sent before, less what blocked users had sent",
  async (server) => {
    const [ann, bob, cat] = await three(server);
    const { id, conversation_id: conversation } = await make(server, ann, {
      history: "all",
      members: ["bob", "cat"],
    });
    await join(server, bob, id);
    for (let n = 0; n < 4; n++) {
      await say(server, bob, conversation!, `bob ${n}`);
      if (n % 2 === 1) await give(server, ann, conversation!, `ann ${n}`);
    }
    await send(server, cat, "PUT", "/v1/blocks/bob");
    const { limits } = server.app.core;
    limits.erasedRowsAtOnce = 2;
    await join(server, cat, id);
    limits.erasedRowsAtOnce = 250;
    assert.deepEqual(await textsOf(server, cat, conversation!), [
      "joined",
      "joined",
      "text",
      "text",
      "joined",
    ]);
    const shown = await read<{ unread_count: number }>(
      send(server, cat, "GET", `/v1/conversations/${conversation}`),
      200,
    );
    assert.equal(shown.unread_count, 0);
    assert.deepEqual(
      (await filesOf(server, cat)).map(({ filename }) => filename),
      ["ann 3", "ann 1"],
    );
    await say(server, bob, conversation!, "still blocked");
    assert.equal((await textsOf(server, cat, conversation!)).at(-1), "joined");
    await send(server, cat, "DELETE", "/v1/blocks/bob");
    await leave(server, cat, id);
    await read(send(server, ann, "POST", `/v1/groups/${id}/members`, { username: "cat" }), 201);
    await join(server, cat, id);
    assert.deepEqual(await textsOf(server, cat, conversation!), ["joined"]);
  },
);

test("a group has no more members than the setting allows, with those who are invited", async (t) => {
  const server = await startApp(t, { maxMembers: 3 });
  const ann = await person(server, "Ann");
  const full = send(server, ann, "POST", "/v1/groups", { name: "x", members: ["a", "b", "c"] });
  assert.equal(await code(full, 409), "count_limit_reached");
  const { id } = await make(server, ann, { members: ["a", "A", "ann"] });
  const invite = (username: string) => send(server, ann, "POST", `/v1/groups/${id}/members`, { username });
  assert.equal((await invite("b")).status, 201);
  assert.equal(await code(invite("c"), 409), "count_limit_reached");
  assert.equal((await invite("B")).status, 201);
  assert.equal((await invite("ann")).status, 201);
});
