// Acting for users: the header, whose limits, presence and streams it concerns, and the audit trail.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES, type Scope } from "../../../src/core/people/tokens.ts";
import { createFirstUser } from "../../../src/core/people/users.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { AUDIENCE, ISSUER, makeKey, signJwt, startProvider } from "../../support/identity-provider.ts";
import { ENGINES, onEachEngine, startOnEngine } from "../../support/on-engines.ts";
import { pair, person, read, send } from "../../support/people.ts";
import { openSocket, readAnswer } from "../../support/raw-socket.ts";

const BACK_END = SCOPES.filter((scope) => scope !== "admin");
const as = (id: string) => ({ "parley-act-as": id });

/** A user with the token of a back end. */
const backEnd = (server: TestApp, scopes: readonly Scope[] = BACK_END) => server.user({ scopes });

/** Returns the user as whom a back end sends its requests. */
const acting = ({ headers }: TestUser, id: string) => ({ id, token: "", headers: { ...headers, ...as(id) } });

async function entries(server: TestApp): Promise<Json[]> {
  const admin = await server.user({ scopes: ["admin"] });
  return (await asker(server, admin)("GET", "/v1/audit?limit=100")).body.data as Json[];
}

onEachEngine("a token with act_as sends requests as another user", async (server) => {
  const { ann, bob, conversation } = await pair(server);
  const shop = await backEnd(server);
  const asAnn = asker(server, acting(shop, ann.id));
  const me = await asAnn("GET", "/v1/me");
  assert.equal(me.body.id, ann.id);
  assert.deepEqual(me.body.scopes, BACK_END);
  const sent = await asAnn("POST", "/v1/messages", { conversation_id: conversation, text: "hi" });
  assert.equal(sent.status, 201, JSON.stringify(sent.body));
  assert.equal((sent.body.sender as Json).id, ann.id);
  const got = await asker(server, bob)("GET", `/v1/messages/${sent.body.id}`);
  assert.equal((got.body.sender as Json).id, ann.id);
  const byName = await asker(server, shop)(
    "GET",
    "/v1/me",
    undefined,
    as(`username:${ann.name.toUpperCase()}`),
  );
  assert.equal(byName.body.id, ann.id, JSON.stringify(byName.body));
});

test("Parley-Act-As takes usernames in percent-encoding, and is refused if it is malformed or unknown", async (t) => {
  const server = await startApp(t);
  const shop = await backEnd(server);
  const adele = await person(server, "Adèle, 50% & more");
  const get = (value: string, who = shop) => asker(server, who)("GET", "/v1/me", undefined, as(value));
  const found = await get(`username:${encodeURIComponent("ADÈLE, 50% & more")}`);
  assert.equal(found.body.id, adele.id);
  for (const value of [
    "",
    "usr_x",
    "adele",
    "username:",
    "username:%",
    "username:%zz",
    "username:%E8",
    "username:Ad\u00e8le",
    "username:a%00",
    "username:%20a",
    `username:${"a".repeat(129)}`,
    `${adele.id} `.padEnd(40, "x"),
    `${adele.id},${adele.id}`,
  ]) {
    const { status, body } = await get(value);
    assert.deepEqual([status, body.code, body.param], [400, "invalid_parameter", "Parley-Act-As"], value);
  }
  for (const value of ["usr_00000000000000000000000000", "username:nobody"]) {
    const { status, body } = await get(value);
    assert.deepEqual([status, body.code, body.param], [404, "user_not_found", "Parley-Act-As"], value);
  }
  const { body } = await get("username:@ann");
  assert.equal(body.detail, 'No user matches Parley-Act-As. Leave out the "@" of "@ann".');
});

test("Parley-Act-As needs the scope act_as, which neither default scopes nor admin include", async (t) => {
  const server = await startApp(t);
  const ann = await person(server, "ann");
  for (const who of [await server.user(), await server.user({ scopes: ["admin"] })]) {
    for (const value of [ann.id, who.id, "username:nobody", "usr_x"]) {
      const { status, body, headers } = await asker(server, who)("GET", "/v1/me", undefined, as(value));
      assert.deepEqual([status, body.code], [403, "insufficient_scope"]);
      assert.match(headers.get("www-authenticate")!, /scope="act_as"/);
    }
  }
  const { status } = await asker(server, ann)("GET", "/v1/me", undefined, {
    ...as(ann.id),
    authorization: "Bearer parley_x",
  });
  assert.equal(status, 401);
});

test("two Parley-Act-As headers are refused", async (t) => {
  const server = await startApp(t);
  const [ann, shop] = [await person(server, "ann"), await backEnd(server)];
  const head = `GET /v1/me HTTP/1.1\r\nhost: x\r\nauthorization: ${shop.headers.authorization}\r\n`;
  const line = `parley-act-as: ${ann.id}\r\n`;
  for (const [lines, status] of [
    [line, "200"],
    [line + line, "400"],
  ]) {
    const socket = await openSocket(server.url);
    socket.write(`${head}${lines}\r\n`);
    assert.match(await readAnswer(socket), new RegExp(`^HTTP/1.1 ${status}`));
    socket.destroy();
  }
});

test("neither a new token, the first one, nor a JWT has act_as", async (t) => {
  const key = makeKey("ES256", "key");
  const provider = await startProvider(t, key);
  const server = await startOn(t, { ...(await testConfig(t)), jwt: provider.settings });
  assert.ok(
    !(await asker(server, await server.user())("GET", "/v1/me")).body.scopes?.toString().includes("act_as"),
  );
  const ann = await person(server, "ann");
  const exp = Math.floor(Date.now() / 1000) + 600;
  for (const scope of ["act_as", `act_as ${BACK_END.join(" ")}`]) {
    const token = signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub: "shop", exp, scope });
    const who = { id: "", token, headers: { authorization: `Bearer ${token}` } };
    const me = await asker(server, who)("GET", "/v1/me");
    assert.ok(!(me.body.scopes as string[]).includes("act_as"));
    const { status, body } = await asker(server, who)("GET", "/v1/me", undefined, as(ann.id));
    assert.deepEqual([status, body.code], [403, "insufficient_scope"]);
  }
  const fresh = await startApp(t);
  const token = await createFirstUser(fresh.app.core);
  const me = await asker(fresh, { id: "", token: "", headers: { authorization: `Bearer ${token}` } })(
    "GET",
    "/v1/me",
  );
  assert.deepEqual(
    me.body.scopes,
    SCOPES.filter((scope) => scope !== "act_as"),
  );
});

test("a session neither acts for another user nor is made as one", async (t) => {
  const server = await startApp(t);
  const [ann, shop] = [await person(server, "ann"), await backEnd(server)];
  const key = { "parley-session": "a".repeat(64) };
  const post = (more: object) =>
    fetch(`${server.url}/session`, { method: "POST", headers: { ...shop.headers, ...key, ...more } });
  const refused = await post(as(ann.id));
  assert.equal(refused.status, 400);
  assert.equal(refused.headers.get("set-cookie"), null);
  const cookie = (await post({})).headers.get("set-cookie")!.split(";")[0]!;
  const get = (more: object) =>
    fetch(`${server.url}/v1/me`, { headers: { cookie, ...key, ...more } }).then(async (answer) => [
      answer.status,
      ((await answer.json()) as Json).id ?? null,
    ]);
  assert.deepEqual(await get({}), [200, shop.id]);
  assert.deepEqual(await get(as(ann.id)), [400, null]);
});

test("a page of another origin may not send Parley-Act-As", async (t) => {
  const server = await startOn(t, { ...(await testConfig(t)), corsOrigins: ["https://app.example"] });
  const answer = await fetch(`${server.url}/v1/me`, {
    method: "OPTIONS",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "GET",
      "access-control-request-headers": "authorization, parley-act-as",
    },
  });
  assert.equal(answer.headers.get("access-control-allow-headers"), "authorization");
});

onEachEngine("a request as another user is activity of the holder, not of that user", async (server) => {
  const ann = await person(server, "ann");
  const shop = await backEnd(server);
  const admin = await server.user({ scopes: ["admin"] });
  const seen = async (id: string) =>
    (await asker(server, admin)("GET", `/v1/users/${id}`)).body.last_active_at as number | null;
  await read(send(server, acting(shop, ann.id), "GET", "/v1/contacts"), 200);
  assert.ok(await eventually(async () => (await seen(shop.id)) !== null));
  assert.equal(await seen(ann.id), null);
});

for (const engine of ENGINES)
  test(`messages count for the user, requests for the token (${engine})`, async (t) => {
    const now = Date.UTC(2026, 0, 1);
    const limits = { requestsPerSecond: 50, messagesPerMinute: 2 };
    const server = await startOnEngine(t, engine, limits, { clock: () => now });
    const { ann, bob, conversation } = await pair(server);
    const shop = await backEnd(server);
    const say = async (who: TestUser) =>
      (await asker(server, who)("POST", "/v1/messages", { conversation_id: conversation, text: "x" })).status;
    assert.deepEqual([await say(acting(shop, ann.id)), await say(ann)], [201, 201]);
    assert.deepEqual([await say(ann), await say(acting(shop, ann.id))], [429, 429]);
    assert.equal(await say(acting(shop, bob.id)), 201);
    const left = async (who: TestUser) =>
      Number(/r=(\d+)/.exec((await asker(server, who)("GET", "/v1/me")).headers.get("ratelimit")!)![1]);
    const [own, ofShop] = [await left(ann), await left(acting(shop, ann.id))];
    for (let i = 0; i < 20; i++) await left(acting(shop, ann.id));
    assert.deepEqual([await left(ann), await left(acting(shop, ann.id))], [own - 1, ofShop - 21]);
  });

onEachEngine("a stream as another user ends with the token, its holder, or that user", async (server, t) => {
  const admin = await server.user({ scopes: ["admin"] });
  const ends = {
    token: async (shop: TestUser) => {
      const { body } = await asker(server, admin)("GET", `/v1/tokens?user_id=${shop.id}`);
      const [{ id } = { id: "" }] = body.data as { id: string }[];
      return asker(server, admin)("DELETE", `/v1/tokens/${id}`);
    },
    holder: (shop: TestUser) => asker(server, admin)("DELETE", `/v1/users/${shop.id}`),
    user: (_: TestUser, ann: TestUser) => asker(server, admin)("DELETE", `/v1/users/${ann.id}`),
  };
  for (const [name, end] of Object.entries(ends)) {
    const { ann, bob, conversation } = await pair(server);
    const shop = await backEnd(server);
    const [stream, other] = [
      await listen(t, server, acting(shop, ann.id)),
      await listen(t, server, acting(await backEnd(server), bob.id)),
    ];
    const sent = { conversation_id: conversation, text: "hi" };
    await read(send(server, bob, "POST", "/v1/messages", sent), 201);
    assert.equal((await stream.wait(1))[0]!.type, "message.created");
    assert.equal((await end(shop, ann)).status, 204, name);
    await stream.ended;
    await read(send(server, bob, "POST", "/v1/messages", sent), 201);
    await other.wait(2);
    other.close();
  }
});

onEachEngine("webhooks, push subscriptions and links made as a user are that user's", async (server) => {
  const { ann, bob, conversation } = await pair(server);
  const shop = await backEnd(server);
  const asAnn = asker(server, acting(shop, ann.id));
  const hook = await asAnn("POST", "/v1/webhooks", { url: "https://shop.example/hook" });
  assert.equal(hook.status, 201, JSON.stringify(hook.body));
  const hooks = async (who: TestUser) =>
    ((await asker(server, who)("GET", "/v1/webhooks")).body.data as Json[]).map(({ id }) => id);
  assert.deepEqual([await hooks(ann), await hooks(shop)], [[hook.body.id], []]);
  const form = new FormData();
  form.set("conversation_id", conversation);
  form.set("file", new File(["hello"], "a.txt"));
  const uploaded = await fetch(`${server.url}/v1/attachments`, {
    method: "POST",
    headers: acting(shop, ann.id).headers,
    body: form,
  });
  const file = (await uploaded.json()) as { id: string; uploader_id: string; file_url: string };
  assert.equal(uploaded.status, 201, JSON.stringify(file));
  assert.match(file.file_url, new RegExp(`user=${ann.id}`));
  assert.equal((await asker(server, bob)("GET", `/v1/attachments/${file.id}`)).status, 200);
  assert.equal((await asker(server, shop)("GET", `/v1/attachments/${file.id}`)).status, 404);
});

onEachEngine("an Idempotency-Key belongs to the user as whom it is sent", async (server) => {
  const { ann, bob, conversation } = await pair(server);
  const shop = await backEnd(server);
  const say = (who: TestUser) =>
    asker(server, who)(
      "POST",
      "/v1/messages",
      { conversation_id: conversation, text: "x" },
      { "idempotency-key": "k" },
    );
  const first = await say(acting(shop, ann.id));
  const [again, own, other] = [
    await say(acting(shop, ann.id)),
    await say(ann),
    await say(acting(shop, bob.id)),
  ];
  for (const { body, headers } of [again, own])
    assert.deepEqual([body.id, headers.get("idempotent-replayed")], [first.body.id, "true"]);
  assert.notEqual(other.body.id, first.body.id);
});

onEachEngine("the audit trail names the user, and the holder who acts as that user", async (server) => {
  const { ann, bob, conversation } = await pair(server);
  const shop = await backEnd(server);
  const asAnn = asker(server, acting(shop, ann.id));
  const one = async (...asked: Parameters<typeof asAnn>) => {
    const answer = await asAnn(...asked);
    assert.ok(answer.status < 300, `${asked[0]} ${asked[1]}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const carol = await one("POST", "/v1/contacts", { username: "carol", phone_number: "+15550100" });
  await one("PUT", `/v1/contacts/${carol.id}`, { display_name: "C" });
  await one("PUT", `/v1/contacts/${carol.id}/block`);
  await one("DELETE", "/v1/blocks/carol");
  await one("DELETE", `/v1/contacts/${carol.id}`);
  const { id } = await one("POST", "/v1/messages", { conversation_id: conversation, text: "x" });
  await one("PUT", `/v1/messages/${id}`, { text: "y" });
  await one("PUT", `/v1/messages/${id}/reactions/%F0%9F%91%8D`);
  await one("DELETE", `/v1/messages/${id}/reactions/%F0%9F%91%8D`);
  // The second request changes nothing, and has an entry, too.
  for (let i = 0; i < 2; i++) await one("PUT", `/v1/conversations/${conversation}/read`, { message_id: id });
  await one("PUT", `/v1/conversations/${conversation}`, { is_pinned: true });
  await one("DELETE", `/v1/messages/${id}`);
  const other = await asker(server, bob)("POST", "/v1/messages", {
    conversation_id: conversation,
    text: "z",
  });
  await one("DELETE", `/v1/messages/${other.body.id}?for=me`);
  const all = await entries(server);
  const acted = all.filter(({ acted_by_id }) => acted_by_id !== null);
  assert.deepEqual(acted.map(({ action, object_id }) => [action, object_id]).reverse(), [
    ["contact.created", carol.id],
    ["contact.renamed", carol.id],
    ["block.created", carol.id],
    ["block.deleted", ann.id],
    ["contact.deleted", carol.id],
    ["message.created", id],
    ["message.updated", id],
    ["reaction.created", id],
    ["reaction.deleted", id],
    ["conversation.read", conversation],
    ["conversation.read", conversation],
    ["conversation.updated", conversation],
    ["message.deleted", id],
    ["message.hidden", other.body.id],
  ]);
  for (const { actor_id, acted_by_id, token_id } of acted) {
    assert.deepEqual([actor_id, acted_by_id], [ann.id, shop.id]);
    assert.match(token_id as string, /^tok_/);
  }
  const admin = await server.user({ scopes: ["admin"] });
  for (const who of [ann, shop]) {
    const { body } = await asker(server, admin)("GET", `/v1/audit?limit=100&actor_id=${who.id}`);
    const found = (body.data as Json[]).filter(({ acted_by_id }) => acted_by_id !== null);
    assert.deepEqual(found, acted);
  }
});
