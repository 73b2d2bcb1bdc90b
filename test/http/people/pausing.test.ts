// Pausing a user: what is refused, what ends, what waits, and what others see of it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { signInByOpenId } from "../../../src/core/people/sign-in-browser.ts";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startApp, type TestApp, type TestUser, upload } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { credentialsOf, openWebSocket, startSocket } from "../../support/event-socket.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { DAY_MS, hook, LIMITS, newest } from "../../support/hooks.ts";
import { AUDIENCE, ISSUER, makeKey, ownSettings, signJwt } from "../../support/identity-provider.ts";
import { ENGINES, onEachEngine, onEachEngineWith, startOnEngine } from "../../support/on-engines.ts";
import { type Person, pair, person, say } from "../../support/people.ts";
import { published } from "../../support/published.ts";
import { pushServer, subscribe } from "../../support/push-server.ts";
import { beginRequest, beginUpload, FORM_HEAD, FORM_TAIL, readAnswer } from "../../support/raw-socket.ts";
import { receiver } from "../../support/receiver.ts";

const admin = (server: TestApp) => server.user({ scopes: SCOPES });

/** Pauses or resumes a user as an administrator. */
async function setPaused(server: TestApp, boss: TestUser, { id }: Pick<TestUser, "id">, paused: boolean) {
  const { status, body } = await asker(server, boss)("PUT", `/v1/users/${id}`, { paused });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function codeOf(server: TestApp, who: TestUser, path = "/v1/me"): Promise<unknown> {
  const { status, body } = await asker(server, who)("GET", path);
  assert.ok(status === 200 || (status === 403 && String(body.detail).includes("--resume")), `${status}`);
  return body.code ?? status;
}

onEachEngine("a paused user is refused until an administrator resumes them", async (server) => {
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const ask = asker(server, boss);
  assert.equal(await codeOf(server, ann), 200);
  const before = (await ask("GET", `/v1/users/${ann.id}`)).body;
  assert.equal(before.paused_at, null);
  const started = Math.floor(Date.now() / 1000);
  const paused = await setPaused(server, boss, ann, true);
  assert.ok(Number(paused.paused_at) >= started && Number(paused.paused_at) <= Date.now() / 1000);
  for (const path of ["/v1/me", "/v1/conversations", "/v1/snapshot", "/v1/events"])
    assert.equal(await codeOf(server, ann, path), "user_paused");
  const send = await asker(server, ann)("POST", "/v1/messages", { conversation_id: "cnv_x", text: "hi" });
  assert.deepEqual([send.status, send.body.code], [403, "user_paused"]);
  assert.equal(await codeOf(server, boss), 200);
  assert.deepEqual((await ask("GET", `/v1/users?username=ann`)).body.data, [
    Object.fromEntries(Object.entries(paused).filter(([name]) => !/^(unread_conv|identities)/.test(name))),
  ]);
  const token = (await ask("POST", "/v1/tokens", { user_id: ann.id })).body.token;
  const later = { ...ann, headers: { authorization: `Bearer ${token}` } };
  assert.equal(await codeOf(server, later), "user_paused");
  assert.equal((await setPaused(server, boss, ann, false)).paused_at, null);
  assert.equal(await codeOf(server, ann), 200);
  assert.equal(await codeOf(server, later), 200);
});

onEachEngine("pausing changes the version, is audited by name, and is idempotent", async (server) => {
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const ask = asker(server, boss);
  const path = `/v1/users/${ann.id}`;
  const etag = String((await ask("GET", path)).headers.get("etag"));
  const paused = await ask("PUT", path, { paused: true }, { "if-match": etag });
  assert.equal(paused.status, 200);
  assert.notEqual(paused.headers.get("etag"), etag);
  const late = await ask("PUT", path, { paused: false }, { "if-match": etag });
  assert.deepEqual([late.status, late.body.code], [412, "precondition_failed"]);
  const again = await ask("PUT", path, { paused: true, display_name: "Ann" });
  assert.deepEqual([again.body.paused_at, again.body.display_name], [paused.body.paused_at, "Ann"]);
  await setPaused(server, boss, ann, false);
  await setPaused(server, boss, ann, false);
  const trail = (await ask("GET", "/v1/audit?actions=user.paused,user.resumed")).body.data as Json[];
  assert.deepEqual(
    trail.map(({ action, actor_id, object_id }) => [action, actor_id, object_id]),
    [
      ["user.resumed", boss.id, ann.id],
      ["user.paused", boss.id, ann.id],
    ],
  );
});

test("only an administrator pauses, with a boolean, and nobody pauses themselves", async (t) => {
  const server = await startApp(t);
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const put = async (who: TestUser, id: string, paused: unknown) => {
    const { status, body } = await asker(server, who)("PUT", `/v1/users/${id}`, { paused });
    return [status, body.code, body.param];
  };
  assert.deepEqual(await put(ann, ann.id, true), [403, "insufficient_scope", undefined]);
  for (const wrong of ["yes", 1, null, ""])
    assert.deepEqual(await put(boss, ann.id, wrong), [400, "invalid_parameter", "paused"]);
  assert.deepEqual(await put(boss, boss.id, true), [400, "invalid_parameter", "paused"]);
  const acting = { ...boss, headers: { ...boss.headers, "parley-act-as": ann.id } };
  for (const id of [ann.id, boss.id])
    assert.deepEqual(await put(acting, id, true), [400, "invalid_parameter", "paused"]);
  assert.deepEqual(await put(boss, boss.id, false), [200, undefined, undefined]);
  const me = await asker(server, ann)("PUT", "/v1/me", { paused: true });
  assert.deepEqual([me.status, me.body.code], [400, "unknown_parameter"]);
  const made = await asker(server, boss)("POST", "/v1/users", { username: "x", paused: true });
  assert.deepEqual([made.status, made.body.code], [400, "unknown_parameter"]);
});

onEachEngine("nobody acts as a paused user, nor does a paused user act as others", async (server) => {
  const [ann, boss, shop] = [await person(server, "ann"), await admin(server), await admin(server)];
  const actingAs = (name: string) => ({ ...shop, headers: { ...shop.headers, "parley-act-as": name } });
  await setPaused(server, boss, ann, true);
  assert.equal(await codeOf(server, actingAs(ann.id)), "user_paused");
  assert.equal(await codeOf(server, actingAs("username:ANN")), "user_paused");
  assert.equal(await codeOf(server, shop), 200);
  await setPaused(server, boss, ann, false);
  assert.equal(await codeOf(server, actingAs(ann.id)), 200);
  await setPaused(server, boss, shop, true);
  assert.equal(await codeOf(server, actingAs(ann.id)), "user_paused");
});

onEachEngine(
  "a body that ends after a pause or a revocation is refused, but an upload finishes",
  async (server) => {
    const boss = await admin(server);
    const ask = asker(server, boss);
    const body = JSON.stringify({ username: "late" });
    const json = { "content-type": "application/json", "content-length": body.length };
    // The server sends 100 Continue once the caller is let through, and it reads the body.
    const waiting = { expect: "100-continue" };
    const end = async (who: TestUser, code: string, change: () => Promise<unknown>) => {
      const sockets = [
        await beginRequest(server.url, "POST /v1/users", who, { ...json, ...waiting }),
        await beginRequest(server.url, "POST /v1/messages", who, { ...json, ...waiting }),
        await beginUpload(server.url, who, { "content-length": (FORM_HEAD + FORM_TAIL).length, ...waiting }),
      ];
      await Promise.all(sockets.map((socket) => once(socket, "data")));
      await change();
      const [user, message, upload] = await Promise.all(
        sockets.map((socket, i) => {
          socket.write(i === 2 ? FORM_HEAD + FORM_TAIL : body);
          return readAnswer(socket);
        }),
      );
      for (const answer of [user, message]) assert.ok(answer!.includes(`"code":"${code}"`), answer);
      assert.match(upload!, /^HTTP\/1\.1 201 /);
    };
    const [ann, shop] = [await person(server, "ann"), await admin(server)];
    const { id } = (await ask("POST", "/v1/token_search", { token: shop.token })).body;
    const acting = { ...shop, headers: { ...shop.headers, "parley-act-as": ann.id } };
    await end(acting, "user_paused", () => setPaused(server, boss, ann, true));
    await end(shop, "user_paused", () => setPaused(server, boss, shop, true));
    await setPaused(server, boss, shop, false);
    await end(shop, "invalid_token", () => ask("DELETE", `/v1/tokens/${id}`));
    assert.deepEqual((await ask("GET", "/v1/users?username=late")).body.data, []);
  },
);

test("a paused user has no session: neither an existing one, nor a new one by token or link", async (t) => {
  const server = await startApp(t);
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  const post = (path: string, body: Record<string, string> | null, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { method: "POST", headers, body: body && new URLSearchParams(body) });
  const key = { "parley-session": "a".repeat(64) };
  const started = await post("/session", null, { ...ann.headers, ...key });
  const cookie = { cookie: started.headers.getSetCookie()[0]!.split(";")[0]! };
  const { code } = (await (await post("/sign-in-link", null, ann.headers)).json()) as { code: string };
  const session = { ...ann, headers: { ...key, ...cookie } as never };
  assert.equal(await codeOf(server, session), 200);
  await setPaused(server, boss, ann, true);
  assert.equal(await codeOf(server, session), "user_paused");
  const refused = [
    await post("/session", null, { ...ann.headers, ...key }),
    await post("/session", { code }, key),
    await post("/sign-in", { code }),
    await post("/sign-in-link", null, ann.headers),
  ];
  for (const response of refused)
    assert.deepEqual([response.status, ((await response.json()) as Json).code], [403, "user_paused"]);
  const ended = await fetch(`${server.url}/session`, { method: "DELETE", headers: session.headers });
  assert.equal(ended.status, 204);
});

for (const engine of ENGINES) {
  test(`JWTs and sign-ins of a paused user are refused, and their claims are not taken (${engine})`, async (t) => {
    const key = makeKey("HS256", "a");
    const server = await startOnEngine(t, engine, {}, {}, { jwt: ownSettings(key) });
    const boss = await admin(server);
    const claims = { iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 600, sub: "42" };
    const tokenOf = (more: object): TestUser => {
      const token = signJwt(key, { ...claims, ...more });
      return { id: "", token, headers: { authorization: `Bearer ${token}` } };
    };
    const named = { preferred_username: "ada", name: "Ada" };
    const id = String((await asker(server, tokenOf(named))("GET", "/v1/me")).body.id);
    await setPaused(server, boss, { id }, true);
    assert.equal(await codeOf(server, tokenOf(named)), "user_paused");
    assert.equal(await codeOf(server, tokenOf({ ...named, name: "Eve" })), "user_paused");
    const signIn = signInByOpenId(server.app.core, { sub: "42", ...named, name: "Eve" });
    await assert.rejects(signIn, { code: "user_paused" });
    const { body } = await asker(server, boss)("GET", `/v1/users/${id}`);
    assert.equal(body.display_name, "Ada");
    assert.deepEqual((await asker(server, boss)("GET", `/v1/tokens?user_id=${id}`)).body.data, []);
    await setPaused(server, boss, { id }, false);
    assert.equal(await codeOf(server, tokenOf(named)), 200);
  });
}

onEachEngine("pausing ends the streams of the user, and of those who act as the user", async (server, t) => {
  const { ann, bob, conversation } = await pair(server);
  const [boss, shop] = [await admin(server), await admin(server)];
  const acting = { ...shop, headers: { ...shop.headers, "parley-act-as": ann.id } };
  const streams = [await listen(t, server, ann), await listen(t, server, acting)];
  const socket = await startSocket(t, server, ann);
  const others = await listen(t, server, bob);
  await setPaused(server, boss, ann, true);
  await Promise.all(streams.map(({ ended }) => ended));
  assert.equal(await socket.closing(), 4403);
  await say(server, bob, conversation, "still here");
  await others.wait(1);
  const refused = await openWebSocket(t, server);
  refused.send(credentialsOf(ann));
  assert.equal(await refused.closing(), 4403);
  assert.equal(refused.frames[0]!.code, "user_paused");
  await setPaused(server, boss, ann, false);
  const events = (await asker(server, ann)("GET", "/v1/events?limit=100")).body.data as Json[];
  const texts = events.map(({ payload }) => (payload as Json).text);
  assert.ok(texts.includes("still here"), "the event waited");
});

onEachEngineWith(
  LIMITS,
  "webhooks and pushes of a paused user wait, and others learn nothing",
  async (server, t) => {
    const { ann, bob, conversation } = await pair(server);
    const boss = await admin(server);
    const [to, device] = [await receiver(t), await pushServer(t)];
    const webhook = await hook(server, ann, to, { events: "message.created" });
    await subscribe(server, ann, device.device());
    await say(server, ann, conversation, "before");
    await to.wait(1);
    const shown = async () => {
      const ask = asker(server, bob);
      const rows = ["contacts", "conversations", `messages?conversation_id=${conversation}`, "snapshot"];
      return Promise.all(rows.map(async (row) => (await ask("GET", `/v1/${row}`)).body));
    };
    await published(server);
    // Activity is written a moment after a request.
    const isActive = async () => JSON.stringify(await shown()).includes('"last_active_at":1');
    assert.ok(await eventually(isActive));
    const before = await shown();
    await setPaused(server, boss, ann, true);
    assert.equal(await codeOf(server, ann), "user_paused");
    await published(server);
    assert.deepEqual(await shown(), before);
    await say(server, bob, conversation, "while paused");
    await newest(server, boss, webhook, { state: "pending", attempts: 0 });
    // A webhook of somebody else that gets a later event shows that the job has run since.
    const [others, bobs] = [await receiver(t), { events: "message.created" }];
    await hook(server, bob, others, bobs);
    await say(server, bob, conversation, "and later");
    await others.wait(1);
    assert.deepEqual([to.received.length, device.pushed.length], [1, 0]);
    await setPaused(server, boss, ann, false);
    const texts = (await to.wait(3)).map(({ event }) => event.payload.text);
    assert.deepEqual(texts, ["before", "while paused", "and later"]);
    await device.wait(1);
  },
);

onEachEngineWith(
  LIMITS,
  "a pause ends a running attempt, which is repeated afterwards",
  async (server, t) => {
    const { ann, bob, conversation } = await pair(server);
    const boss = await admin(server);
    let isSilent = true;
    const gone = Promise.withResolvers<void>();
    const to = await receiver(t, (response) => {
      response.on("close", gone.resolve);
      return isSilent || undefined;
    });
    const webhook = await hook(server, ann, to, { events: "message.created" });
    await say(server, bob, conversation, "hello");
    await to.wait(1);
    await setPaused(server, boss, ann, true);
    await gone.promise;
    isSilent = false;
    await setPaused(server, boss, ann, false);
    await newest(server, boss, webhook, { state: "delivered", attempts: 1 });
  },
);

for (const engine of ENGINES) {
  test(`the time of a pause does not count as time in which a webhook has failed (${engine})`, async (t) => {
    let now = Date.now();
    const server = await startOnEngine(t, engine, LIMITS, { clock: () => now });
    const { ann, bob, conversation } = await pair(server);
    const boss = await admin(server);
    const to = await receiver(t, (response) => response.writeHead(500).end());
    const webhook = await hook(server, ann, to, { events: "message.created" });
    await say(server, bob, conversation, "hello");
    await newest(server, boss, webhook, { attempts: 1 });
    await setPaused(server, boss, ann, true);
    now += 5 * DAY_MS;
    await setPaused(server, boss, ann, false);
    await newest(server, boss, webhook, { attempts: 2, state: "pending" });
    const { body } = await asker(server, boss)("GET", `/v1/webhooks/${webhook.id}`);
    assert.equal(body.enabled, true);
  });
}

onEachEngine(
  "a paused user's files, signed links and messages stay, and activity does not move",
  async (server) => {
    const { ann, bob, conversation } = await pair(server);
    const boss = await admin(server);
    const file = await upload(server.url, ann, new File(["bytes"], "a.txt"), {
      conversation_id: conversation,
    });
    const { id, file_url } = (await file.json()) as { id: string; file_url: string };
    assert.ok(await eventually(async () => (await seenAt(server, boss, ann)) !== null));
    const before = await seenAt(server, boss, ann);
    await setPaused(server, boss, ann, true);
    assert.equal((await fetch(file_url)).status, 200);
    assert.equal((await asker(server, bob)("GET", `/v1/attachments/${id}`)).status, 200);
    assert.equal(await codeOf(server, ann), "user_paused");
    await asker(server, bob)("GET", "/v1/me");
    assert.equal(await seenAt(server, boss, ann), before);
  },
);

async function seenAt(server: TestApp, boss: TestUser, { id }: Person): Promise<unknown> {
  return (await asker(server, boss)("GET", `/v1/users/${id}`)).body.last_active_at;
}

test("requests of a paused user count against the rate limit", async (t) => {
  const now = Date.UTC(2026, 0, 1);
  const server = await startApp(t, { requestsPerSecond: 1 }, { clock: () => now });
  const [ann, boss] = [await person(server, "ann"), await admin(server)];
  await setPaused(server, boss, ann, true);
  const codes: unknown[] = [];
  for (let i = 0; i < 3; i++) codes.push((await asker(server, ann)("GET", "/v1/me")).body.code);
  assert.deepEqual(codes, ["user_paused", "user_paused", "rate_limited"]);
});
