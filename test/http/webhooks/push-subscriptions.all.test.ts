// Push subscriptions: accepted keys, one per endpoint, limits, scopes.
import assert from "node:assert/strict";
import { createECDH } from "node:crypto";
import { test } from "node:test";
import { deleteUser } from "../../../src/core/people/users.ts";
import { raw } from "../../../src/db/sql.ts";
import { startApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { LIMITS } from "../../support/hooks.ts";
import { onEachEngineWith } from "../../support/on-engines.ts";
import { pair, person, say } from "../../support/people.ts";
import { type Device, pushServer, subscribe } from "../../support/push-server.ts";

const PATH = "/v1/push_subscriptions";

function device(name: string): Device {
  const pair = createECDH("prime256v1");
  pair.generateKeys();
  const auth = Buffer.alloc(16, name).toString("base64url");
  return { endpoint: `https://push.example.com/${name}`, p256dh: pair.getPublicKey("base64url"), auth };
}

test("push subscriptions have ETags, and the audit trail has the origin of their endpoint only", async (t) => {
  const server = await startApp(t, LIMITS);
  const ask = asker(server, await person(server, "ann"));
  const phone = device("phone");
  const { body } = await ask("POST", PATH, phone);
  const path = `${PATH}/${body.id}`;
  const etag = (await ask("GET", path)).headers.get("etag")!;
  assert.equal((await ask("GET", path, undefined, { "if-none-match": etag })).status, 304);
  assert.equal((await ask("DELETE", path, undefined, { "if-match": '"9"' })).status, 412);
  assert.equal((await ask("DELETE", path, undefined, { "if-match": etag })).status, 204);
  assert.equal((await ask("DELETE", path)).status, 404);
  const admin = asker(server, await server.user({ scopes: ["admin"] }));
  const trail = JSON.stringify((await admin("GET", "/v1/audit?limit=100")).body);
  assert.match(trail, /push_subscription\.deleted.*push_subscription\.created/);
  assert.ok(!trail.includes("/phone") && !trail.includes(phone.auth));
});

onEachEngineWith(LIMITS, "a known endpoint gets newer keys, per user", async (server, t) => {
  const { ann, bob, conversation } = await pair(server);
  const ask = asker(server, ann);
  const to = await pushServer(t);
  const old = to.device("/browser");
  const first = await ask("POST", PATH, old);
  const same = await ask("POST", PATH, old);
  assert.deepEqual([first.status, same.status, same.body], [201, 200, first.body]);
  const etag = async () => (await ask("GET", `${PATH}/${first.body.id}`)).headers.get("etag");
  assert.equal(await etag(), '"1"');
  const renewed = await ask("POST", PATH, to.device("/browser"));
  assert.deepEqual([renewed.status, renewed.body, await etag()], [200, first.body, '"2"']);
  assert.equal(renewed.headers.get("location"), `${server.url}${PATH}/${first.body.id}`);
  const theirs = await asker(server, bob)("POST", PATH, old);
  assert.equal(theirs.status, 201);
  assert.notEqual(theirs.body.id, first.body.id);
  assert.equal(((await ask("GET", PATH)).body.data as Json[]).length, 1);
  // Only a device with the newer keys can decrypt the next push.
  await say(server, bob, conversation, "hello");
  assert.equal((await to.wait(1))[0]!.event.user_id, ann.id);
});

onEachEngineWith(LIMITS, "a user has at most 20 push subscriptions, besides webhooks", async (server) => {
  const ask = asker(server, await person(server, "ann"));
  const hook = { url: "https://receiver.invalid/" };
  const asked = Array.from({ length: 30 }, (_, i) => ask("POST", PATH, device(`device-${i}`)));
  const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array<number>(20).fill(201), ...Array<number>(10).fill(409)]);
  const refused = await ask("POST", PATH, device("another"));
  assert.equal(refused.body.code, "count_limit_reached");
  assert.match(String(refused.body.detail), /^You have 20 push subscriptions, and may have 20\./);
  for (let i = 0; i < 20; i++) assert.equal((await ask("POST", "/v1/webhooks", hook)).status, 201);
  assert.equal((await ask("POST", "/v1/webhooks", hook)).status, 409);
  const [pushes, hooks] = [await ask("GET", `${PATH}?limit=100`), await ask("GET", "/v1/webhooks?limit=100")];
  for (const [{ body }, form] of [
    [pushes, /^psh_/],
    [hooks, /^whk_/],
  ] as const) {
    const ids = (body.data as Json[]).map(({ id }) => String(id));
    assert.equal(ids.length, 20);
    for (const id of ids) assert.match(id, form);
  }
  const [push] = pushes.body.data as Json[];
  const known = await ask("POST", PATH, { ...device("new"), endpoint: String(push!.endpoint) });
  assert.equal(known.status, 200, "also with as many as may be");
});

onEachEngineWith(LIMITS, "erasing a user erases push subscriptions and pending pushes", async (server, t) => {
  const { ann, bob, conversation } = await pair(server);
  const to = await pushServer(t, (response) => response.writeHead(503).end());
  await subscribe(server, ann, to.device());
  await say(server, bob, conversation, "hello");
  await to.wait(1);
  await deleteUser(server.app.core, null, ann.id);
  const { db } = server.app.core;
  const left = async () =>
    (
      await Promise.all(
        ["webhooks", "deliveries", "deleted_webhooks"].map((table) =>
          db.all(raw(`SELECT 1 AS one FROM ${table}`)),
        ),
      )
    ).flat().length;
  assert.ok(await eventually(async () => (await left()) === 0));
});

test("p256dh must be a point on the curve and auth 16 bytes, in base64url without padding", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await person(server, "ann"));
  const good = device("phone");
  const point = Buffer.from(good.p256dh, "base64url");
  const other = Buffer.from(point);
  other[64]! ^= 1;
  const compressed = Buffer.concat([Buffer.of(2 + (point[64]! & 1)), point.subarray(1, 33)]);
  const keys = [
    "",
    point.toString("base64"),
    point.toString("hex"),
    `${good.p256dh}=`,
    good.p256dh.slice(1),
    other.toString("base64url"),
    compressed.toString("base64url"),
    Buffer.alloc(65).toString("base64url"),
    Buffer.alloc(65, 4).toString("base64url"),
    Buffer.concat([Buffer.of(6), point.subarray(1)]).toString("base64url"),
  ].filter((key) => key !== good.p256dh);
  const secrets = [
    "",
    Buffer.alloc(15).toString("base64url"),
    Buffer.alloc(17).toString("base64url"),
    `${good.auth}==`,
    Buffer.alloc(16, 255).toString("base64"),
    `${good.auth.slice(0, -1)}B`,
  ];
  const cases = [
    ...[...keys, 5, null, [good.p256dh]].map((p256dh) => ["p256dh", { ...good, p256dh }] as const),
    ...[...secrets, 5, null].map((auth) => ["auth", { ...good, auth }] as const),
    ...["http://push.example.com/", "https://127.0.0.1/", `https://a.example/${"a".repeat(2048)}`].map(
      (endpoint) => ["endpoint", { ...good, endpoint }] as const,
    ),
  ];
  for (const [param, body] of cases) {
    const refused = await ask("POST", PATH, body);
    assert.deepEqual(
      [refused.status, refused.body.code, refused.body.param],
      [400, "invalid_parameter", param],
      JSON.stringify(body),
    );
  }
  for (const name of ["endpoint", "p256dh", "auth"] as const) {
    const { [name]: _, ...rest } = good;
    assert.equal((await ask("POST", PATH, rest)).body.code, "missing_parameter");
  }
  const nested = { endpoint: good.endpoint, keys: { p256dh: good.p256dh, auth: good.auth } };
  assert.equal((await ask("POST", PATH, nested)).body.code, "unknown_parameter");
  assert.equal((await ask("POST", PATH, good)).status, 201);
});

test("an Idempotency-Key creates one push subscription, and a replay returns it", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await person(server, "ann"));
  const key = { "idempotency-key": "k" };
  const first = await ask("POST", PATH, device("phone"), key);
  assert.equal(first.status, 201);
  // Other keys of the device make it another request.
  assert.equal((await ask("POST", PATH, device("phone"), key)).status, 422);
  const [again, later] = [device("laptop"), { "idempotency-key": "l" }];
  const made = await ask("POST", PATH, again, later);
  const replay = await ask("POST", PATH, again, later);
  assert.deepEqual([replay.status, replay.body], [201, made.body]);
  assert.equal(replay.headers.get("idempotent-replayed"), "true");
  assert.ok(
    !JSON.stringify(await server.app.core.db.all(raw("SELECT result FROM idempotency"))).includes(again.auth),
  );
});

test("a push subscription needs the scopes events:read and messages:read", async (t) => {
  const server = await startApp(t);
  for (const [scopes, status] of [
    [["events:read"], 403],
    [["messages:read"], 403],
    [["events:read", "messages:read"], 201],
  ] as const) {
    const ask = asker(server, await server.user({ scopes }));
    assert.equal((await ask("POST", PATH, device("phone"))).status, status, scopes.join());
  }
});
