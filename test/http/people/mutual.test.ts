// Contacts that a back end creates on both sides, and users who accept everyone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp, type TestApp, type TestUser } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { ENGINES, onEachEngine, startOnEngine } from "../../support/on-engines.ts";
import { type Person, person, read, say, send } from "../../support/people.ts";
import { published } from "../../support/published.ts";

let count = 0;

/** Creates Ann, Bob and a back end. */
async function scene(server: TestApp) {
  const number = ++count;
  const [ann, bob] = [await person(server, `Ann${number}`), await person(server, `Bob${number}`)];
  const shop = await server.user({ scopes: SCOPES });
  return { ann, bob, shop };
}

const acting = ({ headers }: TestUser, { id }: TestUser) => ({
  ...{ id, token: "" },
  headers: { ...headers, "parley-act-as": id },
});

/** Connects two users, and returns the contact of the first. */
async function connect(server: TestApp, shop: TestUser, who: Person, name: string, more: object = {}) {
  const { status, body } = await asker(server, acting(shop, who))("POST", "/v1/contacts", {
    username: name,
    mutual: true,
    ...more,
  });
  return { status, body };
}

const contactsOf = async (server: TestApp, who: TestUser) =>
  (await asker(server, who)("GET", "/v1/contacts")).body.data as Json[];
const messagesOf = async (server: TestApp, who: TestUser, conversation: unknown) =>
  ((await asker(server, who)("GET", `/v1/messages?conversation_id=${conversation}`)).body.data as Json[]).map(
    ({ text }) => text,
  );
const eventsOf = async (server: TestApp, who: TestUser) =>
  ((await asker(server, who)("GET", "/v1/events?types=contact.created")).body.data as Json[]).map(
    ({ payload }) => payload as Json,
  );

onEachEngine("a mutual contact gives both users each other, in one conversation", async (server) => {
  const { ann, bob, shop } = await scene(server);
  const made = await connect(server, shop, ann, bob.name, { display_name: "Bobby" });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const [own] = await contactsOf(server, ann);
  const [theirs] = await contactsOf(server, bob);
  assert.deepEqual(own, made.body);
  assert.deepEqual([own!.username, own!.display_name, own!.phone_number], [bob.name, "Bobby", ""]);
  assert.deepEqual([theirs!.username, theirs!.display_name, theirs!.phone_number], [ann.name, null, ""]);
  assert.equal(theirs!.conversation_id, own!.conversation_id);
  await say(server, ann, own!.conversation_id as string, "hi");
  assert.deepEqual(await messagesOf(server, bob, own!.conversation_id), ["hi"]);
  await published(server);
  for (const [who, contact] of [
    [ann, own],
    [bob, theirs],
  ] as const)
    assert.deepEqual(
      (await eventsOf(server, who)).map(({ id }) => id),
      [contact!.id],
    );
  const again = await connect(server, shop, ann, bob.name.toUpperCase());
  assert.deepEqual([again.status, again.body.code, again.body.existing_id], [409, "contact_exists", own!.id]);
});

onEachEngine("if one of two users has the other, mutual adds only what is missing", async (server) => {
  for (const first of ["ann", "bob"] as const) {
    const people = await scene(server);
    const { ann, bob, shop } = people;
    const other = first === "ann" ? bob : ann;
    const before = await read<Json>(
      send(server, people[first], "POST", "/v1/contacts", {
        ...{ username: other.name, phone_number: "+15550100", display_name: "Mine" },
      }),
      201,
    );
    await say(server, people[first], before.conversation_id as string, "waits");
    const made = await connect(server, shop, ann, bob.name);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.body.conversation_id, before.conversation_id);
    const [kept] = await contactsOf(server, people[first]);
    assert.deepEqual([kept!.id, kept!.display_name, kept!.phone_number], [before.id, "Mine", "+15550100"]);
    assert.deepEqual(await messagesOf(server, other, before.conversation_id), ["waits"]);
    const [listed] = await contactsOf(server, ann);
    // Bob has been active since.
    assert.deepEqual({ ...listed, last_active_at: null }, { ...made.body, last_active_at: null });
  }
});

onEachEngine("the phone numbers of mutual contacts are those that the users have", async (server) => {
  const { ann, shop } = await scene(server);
  const post = (body: object) => read<{ id: string }>(send(server, shop, "POST", "/v1/users", body), 201);
  const carol = `carol${++count}`;
  const { id } = await post({ username: carol, phone_number: "+44 20 7946 0000" });
  const { body } = await connect(server, shop, ann, carol);
  assert.equal(body.phone_number, "+44 20 7946 0000");
  const found = await asker(server, ann)("GET", "/v1/contacts?phone_number=442079460000");
  assert.equal((found.body.data as Json[]).length, 1);
  const dave = await person(server, `dave${++count}`);
  const asCarol = asker(server, acting(shop, { id, token: "", headers: { authorization: "" } }));
  const given = await asCarol("POST", "/v1/contacts", {
    ...{ username: dave.name, mutual: true, phone_number: "555" },
  });
  assert.equal(given.body.phone_number, "555");
  assert.equal((await contactsOf(server, dave))[0]!.phone_number, "+44 20 7946 0000");
});

onEachEngine("mutual shows no phone number if one of the two blocks the other", async (server) => {
  for (const blocker of ["ann", "bob", "request"] as const) {
    const people = await scene(server);
    const { ann, bob, shop } = people;
    for (const who of [ann, bob])
      await read(send(server, who, "PUT", "/v1/me", { phone_number: "+44 20 7946 0000" }), 200);
    if (blocker !== "request") {
      const other = blocker === "ann" ? bob : ann;
      await asker(server, people[blocker])("PUT", `/v1/blocks/${other.name}`);
    }
    const { status, body } = await connect(server, shop, ann, bob.name, { blocked: blocker === "request" });
    assert.deepEqual([status, body.phone_number], [201, ""], blocker);
    const [theirs] = await contactsOf(server, bob);
    assert.equal(theirs!.phone_number, "", blocker);
  }
});

onEachEngine("mutual lifts no block of the other user", async (server) => {
  const { ann, bob, shop } = await scene(server);
  assert.equal((await send(server, bob, "PUT", `/v1/blocks/${ann.name}`)).status, 204);
  const { status, body } = await connect(server, shop, ann, bob.name);
  assert.equal(status, 201, JSON.stringify(body));
  await say(server, ann, body.conversation_id as string, "hi");
  assert.deepEqual(await messagesOf(server, bob, body.conversation_id), []);
  const blocks = (await asker(server, bob)("GET", "/v1/blocks")).body.data as Json[];
  assert.deepEqual(
    blocks.map(({ username }) => username),
    [ann.name],
  );
  assert.equal(
    ((await asker(server, bob)("GET", "/v1/contacts?active=false")).body.data as Json[]).length,
    1,
  );
  // Bob's messages reach Ann, who has not blocked him.
  await say(server, bob, body.conversation_id as string, "yes?");
  assert.deepEqual(await messagesOf(server, ann, body.conversation_id), ["yes?", "hi"]);
  assert.equal((await contactsOf(server, ann))[0]!.last_active_at, null);
});

onEachEngine("mutual lifts the caller's own block only if it adds the contact", async (server) => {
  for (const hasContact of [true, false]) {
    const { ann, bob, shop } = await scene(server);
    if (hasContact)
      await read(send(server, ann, "POST", "/v1/contacts", { username: bob.name, phone_number: "555" }), 201);
    await asker(server, ann)("PUT", `/v1/blocks/${bob.name}`);
    assert.equal((await connect(server, shop, ann, bob.name)).status, 201);
    const blocks = (await asker(server, ann)("GET", "/v1/blocks")).body.data as Json[];
    assert.equal(blocks.length, hasContact ? 1 : 0);
  }
});

test("mutual needs act_as, reading contacts, a user of the name, and room in both lists", async (t) => {
  const server = await startApp(t, { maxContacts: 2 });
  const { ann, bob, shop } = await scene(server);
  const fields = { username: bob.name, phone_number: "555", mutual: true };
  const refused = await asker(server, ann)("POST", "/v1/contacts", fields);
  assert.deepEqual([refused.status, refused.body.code], [403, "insufficient_scope"]);
  const writer = await server.user({ scopes: ["act_as", "contacts:write"] });
  const unread = await asker(server, writer)("POST", "/v1/contacts", fields);
  assert.deepEqual([unread.status, unread.body.code], [403, "insufficient_scope"]);
  assert.match(unread.headers.get("www-authenticate")!, /scope="contacts:read"/);
  const unknown = await connect(server, shop, ann, "nobody");
  assert.deepEqual(
    [unknown.status, unknown.body.code, unknown.body.param],
    [404, "user_not_found", "username"],
  );
  const missing = await asker(server, ann)("POST", "/v1/contacts", { username: bob.name });
  assert.deepEqual(
    [missing.status, missing.body.code, missing.body.param],
    [400, "missing_parameter", "phone_number"],
  );
  for (const username of ["x", "y"])
    await read(send(server, bob, "POST", "/v1/contacts", { username, phone_number: "555" }), 201);
  const full = await connect(server, shop, ann, bob.name);
  assert.deepEqual([full.status, full.body.code, full.body.param], [409, "count_limit_reached", "username"]);
  assert.deepEqual(await contactsOf(server, ann), []);
});

onEachEngine(
  "a retry of a mutual contact returns the first one, and names all users in the audit trail",
  async (server) => {
    const { ann, bob, shop } = await scene(server);
    const asAnn = asker(server, acting(shop, ann));
    const body = { username: bob.name, mutual: true };
    const [first, again] = [
      await asAnn("POST", "/v1/contacts", body, { "idempotency-key": "k" }),
      await asAnn("POST", "/v1/contacts", body, { "idempotency-key": "k" }),
    ];
    assert.deepEqual([first.status, again.status, again.body], [201, 201, first.body]);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    const audit = await asker(server, shop)("GET", "/v1/audit?actions=contact.created");
    assert.deepEqual(
      (audit.body.data as Json[]).map(({ actor_id, acted_by_id }) => [actor_id, acted_by_id]).sort(),
      [
        [ann.id, shop.id],
        [bob.id, shop.id],
      ].sort(),
    );
  },
);

for (const engine of ENGINES)
  test(`a bot that accepts everyone gets the first message of each user who adds it (${engine})`, async (t) => {
    // Ann and Bob fill the bot's list, and Carol is still added.
    const server = await startOnEngine(t, engine, { maxContacts: 2 });
    const { ann, bob, shop } = await scene(server);
    const post = (body: object) => asker(server, shop)("POST", "/v1/users", body);
    const shown = { display_name: "The helper", avatar_url: "https://example.com/helper.png" };
    const bot = (await post({ username: "Helper", kind: "bot", accepts_everyone: true, ...shown })).body;
    assert.deepEqual([bot.kind, bot.accepts_everyone, bot.message_limit], ["bot", true, null]);
    const asBot = acting(shop, { id: bot.id as string, token: "", headers: { authorization: "" } });
    await asker(server, shop)("PUT", `/v1/users/${ann.id}`, { phone_number: "+44 20 7946 0000" });
    for (const who of [ann, bob]) {
      const contact = await read<Json>(
        send(server, who, "POST", "/v1/contacts", { username: "helper", phone_number: "000" }),
        201,
      );
      assert.deepEqual([contact.profile_name, contact.avatar_url], [shown.display_name, shown.avatar_url]);
      await say(server, who, contact.conversation_id as string, `from ${who.name}`);
      assert.deepEqual(await messagesOf(server, asBot, contact.conversation_id), [`from ${who.name}`]);
      await say(server, asBot, contact.conversation_id as string, "hello");
      assert.deepEqual(await messagesOf(server, who, contact.conversation_id), ["hello", `from ${who.name}`]);
    }
    assert.deepEqual(
      (await contactsOf(server, asBot)).map(({ username, phone_number }) => [username, phone_number]),
      [
        [bob.name, ""],
        [ann.name, ""],
      ],
    );
    // A block by the bot stays.
    const carol = await person(server, `carol${++count}`);
    await asker(server, asBot)("PUT", `/v1/blocks/${carol.name}`);
    const contact = await read<Json>(
      send(server, carol, "POST", "/v1/contacts", { username: "helper", phone_number: "000" }),
      201,
    );
    assert.deepEqual([contact.profile_name, contact.avatar_url], [null, null]);
    await say(server, carol, contact.conversation_id as string, "hi");
    assert.deepEqual(await messagesOf(server, asBot, contact.conversation_id), []);
    // Others are not added back, until they accept everyone.
    const dave = await person(server, `dave${++count}`);
    const plain = await read<Json>(
      send(server, carol, "POST", "/v1/contacts", { username: dave.name, phone_number: "000" }),
      201,
    );
    await say(server, carol, plain.conversation_id as string, "hi");
    assert.deepEqual(await contactsOf(server, dave), []);
    const changed = await asker(server, shop)("PUT", `/v1/users/${dave.id}`, { accepts_everyone: true });
    assert.deepEqual([changed.status, changed.body.accepts_everyone], [200, true]);
    await read(send(server, ann, "POST", "/v1/contacts", { username: dave.name, phone_number: "000" }), 201);
    assert.deepEqual(
      (await contactsOf(server, dave)).map(({ username }) => username),
      [ann.name],
    );
  });

onEachEngine("a bot adds back all users who add it at once", async (server) => {
  const { shop } = await scene(server);
  const bot = await read<{ id: string }>(
    send(server, shop, "POST", "/v1/users", { username: "Many", kind: "bot", accepts_everyone: true }),
    201,
  );
  const people = await Promise.all(Array.from({ length: 12 }, () => person(server, `fan${++count}`)));
  const fields = { username: "many", phone_number: "000" };
  await Promise.all(people.map((who) => read(send(server, who, "POST", "/v1/contacts", fields), 201)));
  const asBot = acting(shop, { ...bot, token: "", headers: { authorization: "" } });
  const names = (await asker(server, asBot)("GET", "/v1/contacts?limit=50")).body.data as Json[];
  assert.deepEqual(names.map(({ username }) => username).sort(), people.map(({ name }) => name).sort());
});

test("a bot is added back beyond the limit of contacts, and never has a badge", async (t) => {
  const server = await startApp(t, { maxContacts: 1 });
  const { ann, bob, shop } = await scene(server);
  const bot = await read<{ id: string }>(
    send(server, shop, "POST", "/v1/users", { username: "Helper", kind: "bot", accepts_everyone: true }),
    201,
  );
  const asBot = acting(shop, { ...bot, token: "", headers: { authorization: "" } });
  for (const who of [ann, bob]) {
    const { conversation_id } = await read<{ conversation_id: string }>(
      send(server, who, "POST", "/v1/contacts", { username: "helper", phone_number: "000" }),
      201,
    );
    await say(server, who, conversation_id, "hi");
  }
  assert.equal((await contactsOf(server, asBot)).length, 2);
  const unread = async (path: string, who: TestUser) =>
    (await asker(server, who)("GET", path)).body.unread_conversations;
  assert.deepEqual([await unread("/v1/me", asBot), await unread(`/v1/users/${bot.id}`, shop)], [0, 0]);
});

test("message_limit of a user replaces that of the server", async (t) => {
  const server = await startApp(t, { requestsPerSecond: 500, messagesPerMinute: 2 });
  const { shop, bob } = await scene(server);
  for (const [limit, shown, accepted] of [
    [null, 2, 2],
    [3, 3, 3],
    [0, null, 6],
  ] as const) {
    const username = `limited${++count}`;
    const { id } = await read<{ id: string }>(
      send(server, shop, "POST", "/v1/users", { username, message_limit: limit === 0 ? 1 : limit }),
      201,
    );
    if (limit === 0) await read(send(server, shop, "PUT", `/v1/users/${id}`, { message_limit: limit }), 200);
    const who = acting(shop, { id, token: "", headers: { authorization: "" } });
    const me = await asker(server, who)("GET", "/v1/me");
    assert.equal((me.body.limits as Json).message_limit, shown);
    const { conversation_id } = await read<{ conversation_id: string }>(
      send(server, who, "POST", "/v1/contacts", { username: bob.name, phone_number: "000" }),
      201,
    );
    let sent = 0;
    while (sent < 6) {
      const { status } = await asker(server, who)("POST", "/v1/messages", { conversation_id, text: "x" });
      if (status === 429) break;
      sent++;
    }
    assert.equal(sent, accepted);
  }
  for (const message_limit of [-1, 1.5, 1_000_001, "3", true]) {
    const { status, body } = await asker(server, shop)("POST", "/v1/users", { username: "u", message_limit });
    assert.deepEqual([status, body.param], [400, "message_limit"]);
  }
});
