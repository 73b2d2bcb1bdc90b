// Push subscriptions: their fields, one per endpoint, and their owner.
import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import { test } from "node:test";
import {
  call,
  faulty,
  form,
  fresh,
  isNow,
  json,
  location,
  me,
  problem,
  type Reply,
  unknownLike,
  walk,
} from "../client.ts";
import { needsSecond, second, target } from "../target.ts";

const PATH = "/v1/push_subscriptions";

interface Subscription {
  id: string;
  endpoint: string;
  expires_at: number | null;
  created_at: number;
}

function device(endpoint = `https://push.invalid/${fresh("device")}`): Record<string, string> {
  const pair = createECDH("prime256v1");
  pair.generateKeys();
  return { endpoint, p256dh: pair.getPublicKey("base64url"), auth: randomBytes(16).toString("base64url") };
}

function subscription(reply: Reply, status = 200): Subscription {
  assert.equal(reply.status, status, reply.text);
  return shape(reply.json);
}

function shape(value: unknown): Subscription {
  const body = value as Subscription;
  assert.deepEqual(Object.keys(body), ["id", "endpoint", "expires_at", "created_at"]);
  assert.match(body.id, /^psh_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  return body;
}

async function create(fields = device(), token = target.token): Promise<Subscription> {
  return subscription(await call("POST", PATH, { ...json(fields), token }), 201);
}

const page = (reply: Reply) => {
  const { has_more, data } = reply.json as { has_more: boolean; data: unknown[] };
  return { has_more, data: data.map(shape) };
};

/** A user may have few, and others of this run also count. */
async function remove(...all: Subscription[]): Promise<void> {
  for (const { id } of all) assert.equal((await call("DELETE", `${PATH}/${id}`)).status, 204);
}

test("a device subscribes with its browser's three values, and never reads the keys back", async () => {
  const { push_public_key } = (await me()) as unknown as { push_public_key: string };
  assert.equal(Buffer.from(push_public_key, "base64url").length, 65);
  const fields = device();
  const reply = await call("POST", PATH, form(fields));
  const made = subscription(reply, 201);
  assert.equal(location(reply), `${new URL(target.url).pathname.replace(/\/$/, "")}${PATH}/${made.id}`);
  assert.equal(made.endpoint, fields.endpoint);
  isNow(made.created_at);
  const read = await call("GET", `${PATH}/${made.id}`);
  assert.deepEqual(subscription(read), made);
  for (const { text } of [reply, read])
    assert.ok(!text.includes(fields.auth!) && !text.includes(fields.p256dh!));
  await remove(made);
  problem(await call("GET", `${PATH}/${made.id}`), 404, "push_subscription_not_found");
});

test("the same endpoint is the same subscription, with the newer keys", async () => {
  const made = await create();
  const again = subscription(await call("POST", PATH, json(device(made.endpoint))), 200);
  assert.deepEqual(again, made);
  const found = (await walk(`${PATH}?limit=100`, page, "starting_after")).flat();
  assert.equal(found.filter(({ endpoint }) => endpoint === made.endpoint).length, 1);
  await remove(made);
});

test("subscriptions are listed in pages, the newest first", async () => {
  const made = [await create(), await create(), await create()];
  const pages = await walk(`${PATH}?limit=2`, page, "starting_after");
  const ids = pages.flat().map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id) => made.some((each) => each.id === id)),
    made.map(({ id }) => id).reverse(),
  );
  assert.deepEqual(ids, [...ids].sort().reverse());
  await remove(...made);
});

test("an invalid field is named", async () => {
  const fields = device();
  for (const [name, value] of [
    ["endpoint", "http://push.example.com/"],
    ["endpoint", "https://user:secret@push.example.com/"],
    ["endpoint", "push"],
    ["p256dh", "x"],
    ["p256dh", fields.p256dh!.slice(0, -1)],
    ["auth", "x"],
    ["auth", `${fields.auth}A`],
  ] as const)
    faulty(await call("POST", PATH, json({ ...fields, [name]: value })), name, "invalid_parameter");
  for (const name of Object.keys(fields)) {
    const { [name]: _, ...rest } = fields;
    faulty(await call("POST", PATH, json(rest)), name, "missing_parameter");
  }
  faulty(await call("POST", PATH, json({ ...fields, keys: {} })), "keys", "unknown_parameter");
});

test("another user's subscription answers like one that does not exist", { skip: needsSecond }, async () => {
  const made = await create();
  for (const method of ["GET", "DELETE"]) {
    const theirs = await call(method, `${PATH}/${made.id}`, { token: second() });
    const none = await call(method, `${PATH}/${unknownLike(made.id)}`, { token: second() });
    const { request_id: _, ...one } = problem(theirs, 404, "push_subscription_not_found");
    const { request_id: __, ...other } = problem(none, 404, "push_subscription_not_found");
    assert.deepEqual(one, other);
  }
  // A request for the same endpoint does not reveal it, either.
  const { id } = await create(device(made.endpoint), second());
  assert.notEqual(id, made.id);
  assert.equal((await call("DELETE", `${PATH}/${id}`, { token: second() })).status, 204);
  assert.deepEqual(subscription(await call("GET", `${PATH}/${made.id}`)), made);
  await remove(made);
});
