// Webhooks: their events, the signatures of deliveries, and changes of webhooks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { createToken, SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { sharedApp, startApp, type TestApp } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { listen } from "../../support/event-stream.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { DAY_MS, deliveries, hook, LIMITS, newest, verify } from "../../support/hooks.ts";
import { add, give, person } from "../../support/people.ts";
import { receiver } from "../../support/receiver.ts";
import { row, scenarios } from "../../support/scenarios.ts";

test("a webhook gets the events of its user, of its types, signed, equal to those of a stream", async (t) => {
  const server = await startApp(t, LIMITS);
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  await add(server, ann, "before");
  const [all, some, bobs] = [await receiver(t), await receiver(t), await receiver(t)];
  const { secret, ...made } = await hook(server, ann, all);
  assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  await hook(server, ann, some, { events: ["attachment.created"] });
  await hook(server, bob, bobs, { events: "contact.created attachment.created" });
  const stream = await listen(t, server, ann);
  const contact = await add(server, ann, "bob");
  await add(server, bob, "ann");
  await give(server, ann, contact.conversation_id, "file");
  const got = await all.wait(3);
  const events = await stream.wait(3);
  assert.deepEqual(
    got.map(({ event }) => event),
    events,
  );
  for (const each of got) {
    verify(secret, each);
    assert.equal(each.headers["webhook-id"], each.event.id);
    assert.equal(each.headers["content-type"], "application/json");
    assert.equal(each.headers["user-agent"], "Parley");
    const changed = { ...each, body: each.body.replace('"type"', '"type" ') };
    assert.throws(() => verify(secret, changed), /No matching signature/);
  }
  const link = got[2]!.event.payload.file_url as string;
  assert.equal(await (await fetch(link)).text(), "file");
  assert.deepEqual(
    (await some.wait(1)).map(({ event }) => event.type),
    ["attachment.created"],
  );
  assert.deepEqual(
    (await bobs.wait(2)).map(({ event }) => event.type),
    ["contact.created", "attachment.created"],
  );
  const ask = asker(server, ann);
  assert.deepEqual((await ask("GET", `/v1/webhooks/${made.id}`)).body, made);
  const listed = (await ask("GET", "/v1/webhooks")).body.data as Json[];
  assert.deepEqual([listed.length, listed[1]], [2, made]);
  assert.ok(!JSON.stringify(listed).includes("whsec_"));
  const told = await newest(server, ann, made, { state: "delivered" });
  assert.deepEqual([told.event_id, told.attempts, told.last_status], [events[2]!.id, 1, 204]);
  await ask("POST", `/v1/webhooks/${made.id}/test`);
  const tested = (await all.wait(4))[3]!.event;
  assert.deepEqual([tested.type, "sequence" in tested], ["webhook.test", false]);
});

const open = sharedApp(LIMITS);

/** Creates Ann, who has a webhook. */
async function scene(server: TestApp) {
  const people = { ann: await server.user(), admin: await server.user({ scopes: SCOPES }) };
  const ask = asker(server, people.ann);
  const { body } = await ask("POST", "/v1/webhooks", { url: "http://127.0.0.1:1/" });
  const { headers } = await ask("GET", `/v1/webhooks/${body.id}`);
  return { server, people, ids: { hook: body.id, etag: headers.get("etag") } };
}

const PUT = "PUT /v1/webhooks/<hook>";
const gone = async ({ server, people, ids }: Awaited<ReturnType<typeof scene>>) =>
  asker(server, people.ann)("DELETE", `/v1/webhooks/${ids.hook}`);
const disable = async ({ server, people, ids }: Awaited<ReturnType<typeof scene>>) =>
  asker(server, people.ann)("PUT", `/v1/webhooks/${ids.hook}`, { enabled: false });

scenarios(open, scene, [
  row("a webhook is updated if If-Match has its ETag", PUT, 200, {
    body: { url: "http://127.0.0.1:2/" },
    headers: { "if-match": "<etag>" },
    answer: { url: "http://127.0.0.1:2/" },
  }),
  [
    "a webhook is not updated if If-Match has another ETag",
    PUT,
    412,
    {
      body: { url: "http://127.0.0.1:2/" },
      headers: { "if-match": '"9"' },
      async after({ server, people: { ann }, ids }) {
        const { body } = await asker(server, ann)("GET", `/v1/webhooks/${ids.hook}`);
        assert.equal(body.url, "http://127.0.0.1:1/");
      },
    },
  ],
  row("a webhook is limited to some event types", PUT, 200, {
    body: { events: ["contact.deleted"] },
    answer: { events: ["contact.deleted"] },
  }),
  row("null subscribes a webhook to all event types", PUT, 200, {
    body: { events: null },
    answer: { events: null },
  }),
  row("a form disables a webhook", PUT, 200, { body: "enabled=false", answer: { enabled: false } }),
  ["a webhook is deleted", "DELETE /v1/webhooks/<hook>", 204, {}],
  ...["GET", "DELETE", "PUT", "POST /secret", "POST /test", "GET /deliveries"].map((each) => {
    const [method, more = ""] = each.split(" ");
    const details = {
      before: gone,
      answer: { code: "webhook_not_found" },
      ...(method === "PUT" && { body: {} }),
    };
    return [
      `${each} of a deleted webhook is 404`,
      `${method} /v1/webhooks/<hook>${more}`,
      404,
      details,
    ] as const;
  }),
  [
    "a disabled webhook is not tested",
    "POST /v1/webhooks/<hook>/test",
    409,
    { before: disable, answer: { code: "webhook_disabled" } },
  ],
  row("a webhook without admin is not for all users", "POST /v1/webhooks", 403, {
    body: { url: "http://127.0.0.1:1/", all_users: true },
    answer: { code: "insufficient_scope" },
  }),
  [
    "an admin creates an all-users webhook",
    "POST /v1/webhooks",
    201,
    {
      as: "admin",
      body: { url: "http://127.0.0.1:1/", all_users: true },
      answer: { all_users: true },
    },
  ],
]);

test("a webhook gets no events while it is disabled, and none at its former URL", async (t) => {
  const server = await open();
  const ann = await server.user();
  const ask = asker(server, ann);
  const [first, second] = [await receiver(t), await receiver(t)];
  const made = await hook(server, ann, first);
  const path = `/v1/webhooks/${made.id}`;
  await ask("PUT", path, { url: second.url, enabled: false });
  await add(server, ann, "unseen");
  await ask("PUT", path, { enabled: true });
  await add(server, ann, "seen");
  assert.equal((await second.wait(1))[0]!.event.payload.username, "seen");
  const { id } = await newest(server, ann, made, { state: "delivered" });
  await ask("PUT", path, { enabled: false });
  const { status, body } = await ask("POST", `${path}/deliveries/${id}/redeliver`);
  assert.deepEqual([status, body.code], [409, "webhook_disabled"]);
  assert.equal((await ask("DELETE", path)).status, 204);
  await add(server, ann, "friend");
  await hook(server, ann, second);
  await add(server, ann, "last");
  await second.wait(2);
  assert.equal(first.received.length, 0);
});

test("only an admin token changes the URL or secret of an all-users webhook", async (t) => {
  const server = await startApp(t, LIMITS);
  const admin = await server.user({ scopes: SCOPES });
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const to = await receiver(t);
  const made = await hook(server, admin, to, { all_users: true });
  await add(server, ann, "x");
  await add(server, bob, "y");
  const names = (await to.wait(2)).map(({ event }) => event.payload.username);
  assert.deepEqual(names.sort(), ["x", "y"]);
  const { token } = await createToken(server.app.core, null, admin.id, {});
  const lesser = { ...admin, token, headers: { authorization: `Bearer ${token}` } };
  const ask = asker(server, lesser);
  const path = `/v1/webhooks/${made.id}`;
  assert.equal((await ask("GET", path)).status, 200);
  assert.equal((await ask("PUT", path, { url: to.url })).status, 403);
  assert.equal((await ask("POST", `${path}/secret`)).status, 403);
  await deleteUser(server.app.core, null, ann.id);
  assert.ok(await eventually(async () => (await deliveries(server, admin, made)).length === 1));
  await deleteUser(server.app.core, null, admin.id);
  for (const table of ["webhooks", "deliveries"])
    assert.deepEqual(await server.app.core.db.all(sql`SELECT * FROM ${raw(table)}`), []);
});

test("the old secret of a webhook also signs for a day after the rotation", async (t) => {
  let now = Date.now();
  const server = await startApp(t, LIMITS, { clock: () => now });
  const ann = await person(server, "ann");
  const ask = asker(server, ann);
  const to = await receiver(t);
  const { secret: old, id } = await hook(server, ann, to);
  const key = { "idempotency-key": "rotate" };
  const rotated = await ask("POST", `/v1/webhooks/${id}/secret`, undefined, key);
  assert.deepEqual([rotated.status, rotated.headers.get("cache-control")], [200, "no-store"]);
  const { secret } = rotated.body;
  assert.notEqual(secret, old);
  const again = await ask("POST", `/v1/webhooks/${id}/secret`, undefined, key);
  assert.deepEqual([again.body, again.headers.get("idempotent-replayed")], [rotated.body, "true"]);
  await add(server, ann, "x");
  const [both] = await to.wait(1);
  assert.equal(String(both!.headers["webhook-signature"]).split(" ").length, 2);
  verify(old, both!);
  verify(secret, both!);
  now += DAY_MS;
  await add(server, ann, "y");
  const alone = (await to.wait(2))[1]!;
  assert.equal(String(alone.headers["webhook-signature"]).split(" ").length, 1);
  const timestamp = Number(alone.headers["webhook-timestamp"]);
  assert.equal(timestamp, Math.floor(now / 1000));
  const signed = (by: unknown) =>
    new Webhook(String(by)).sign(alone.event.id, new Date(timestamp * 1000), alone.body);
  assert.equal(alone.headers["webhook-signature"], signed(secret));
  assert.notEqual(alone.headers["webhook-signature"], signed(old));
});

test("an Idempotency-Key creates one webhook, and a replay returns its secret, which is stored nowhere else", async (t) => {
  const server = await startApp(t, { ...LIMITS, maxWebhooks: 2 });
  const ask = asker(server, await person(server, "ann"));
  const fields = { url: "https://example.com/hook" };
  const create = (key: string, more = {}) =>
    ask("POST", "/v1/webhooks", { ...fields, ...more }, { "idempotency-key": key });
  const first = await create("a");
  const again = await create("a");
  assert.equal(first.status, 201);
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal((await create("a", { events: ["contact.created"] })).status, 422);
  const kept = await server.app.core.db.all<{ result: string }>(sql`SELECT result FROM idempotency`);
  assert.ok(kept.length > 0 && !JSON.stringify(kept).includes("whsec_"));
  assert.equal((await create("b")).status, 201);
  const refused = await create("c");
  assert.deepEqual([refused.status, refused.body.code], [409, "count_limit_reached"]);
  assert.match(String(refused.body.detail), /may have 2.*Delete.*PARLEY_MAX_WEBHOOKS/);
});
