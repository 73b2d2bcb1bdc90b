// Retries of temporary failures repeat the same request, and take effect once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { etagOf, Parley } from "../../packages/parley-client/src/index.ts";
import { startApp, startOn, type TestApp } from "../support/app.ts";
import { freePort } from "../support/command.ts";
import { storedFiles } from "../support/files-on-disk.ts";
import { type Between, type Fate, proxy } from "../support/proxy.ts";
import { onEngines } from "./engines.ts";
import { failure } from "./failure.ts";

const ADA = { username: "ada", phone_number: "555-0100" };

/** Creates a client behind a proxy. The first requests get these fates in order; later ones pass. */
async function throughProxy(
  t: Parameters<typeof proxy>[0],
  server: TestApp,
  ...fates: Fate[]
): Promise<{ parley: Parley; url: string; seen: Between["seen"] }> {
  const { url, seen } = await proxy(t, server.url, () => fates.shift() ?? "pass");
  const { token } = await server.user();
  return { parley: new Parley({ url, token }), url, seen };
}

const busy = (seconds?: number): Fate => ({
  status: 503,
  ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
});

onEngines("a contact is created once although answers were lost", async (t, config) => {
  const server = await startOn(t, config);
  const { parley, seen } = await throughProxy(t, server, "lose the answer", "lose the answer");
  const made = await parley.contacts.create(ADA);
  assert.equal(seen.length, 3);
  assert.match(seen[0]!.key!, /^[0-9a-f]{32}$/);
  assert.equal(new Set(seen.map(({ key }) => key)).size, 1);
  assert.deepEqual(await parley.contacts.list(), { has_more: false, data: [made] });
  await parley.contacts.create({ ...ADA, username: "grace" }, { idempotencyKey: "mine" });
  assert.equal(seen.at(-1)!.key, "mine");
});

onEngines(
  "an upload whose answer was lost is stored once, if its source can be read twice",
  async (t, config) => {
    const server = await startOn(t, config);
    const bytes = Buffer.alloc(300_000, "x");
    const lost = "lose the answer";
    const { parley, seen } = await throughProxy(t, server, lost, "pass", lost);
    const fromBlob = await parley.attachments.upload(new File([bytes], "blob"));
    const fromPath = await parley.attachments.upload(process.execPath.replace(/node$/, "../LICENSE"));
    assert.equal(seen.length, 4);
    assert.deepEqual([seen[0]!.key, seen[2]!.key], [seen[1]!.key, seen[3]!.key]);
    assert.deepEqual(
      (await parley.attachments.list()).data.map(({ id }) => id),
      [fromPath.id, fromBlob.id],
    );
    assert.equal((await parley.me()).storage.used, fromBlob.file_size + fromPath.file_size);
    assert.ok((await storedFiles(config)).length <= 2);
  },
);

test("a typing announcement is not retried once it is outdated", async (t) => {
  const { parley, seen } = await throughProxy(t, await startApp(t), busy());
  const error = await failure(parley.conversations.typing("cnv_x"));
  assert.deepEqual([error.status, seen.length], [503, 1]);
});

test("an upload from a stream is retried only if nothing of the stream was read", async (t) => {
  const server = await startApp(t);
  async function* chunks() {
    yield new Uint8Array(10);
  }
  const { parley, seen } = await throughProxy(t, server, "lose the answer");
  const error = await failure(parley.attachments.upload(chunks(), { filename: "x" }));
  assert.deepEqual([error.code, seen.length], ["connection_failed", 1]);
  const refused: number[] = [];
  const { token } = await server.user();
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const unconnected: typeof fetch = (input, init) => {
    refused.push(1);
    return fetch(refused.length === 1 ? nobody : input, init);
  };
  const second = new Parley({ url: server.url, token, fetch: unconnected });
  assert.equal((await second.attachments.upload(chunks(), { filename: "x" })).file_size, 10);
  assert.equal(refused.length, 2);
});

test("the client waits after 429, and each request takes effect once", async (t) => {
  const server = await startApp(t, { requestsPerSecond: 5 });
  const { token } = await server.user();
  const parley = new Parley({ url: server.url, token });
  const began = performance.now();
  const names = Array.from({ length: 20 }, (_, i) => `friend ${i}`);
  const made = await Promise.all(names.map((username) => parley.contacts.create({ ...ADA, username })));
  assert.equal(new Set(made.map(({ id }) => id)).size, 20);
  assert.ok(performance.now() - began > 1000, "Of 20 ten may come at once, and five a second after that.");
  const hasty = new Parley({ url: server.url, token, maxRetries: 0 });
  const many = await Promise.allSettled(names.map(() => hasty.me()));
  const error = many.find((one) => one.status === "rejected")!.reason;
  assert.deepEqual([error.code, error.status, error.retryAfter >= 1], ["rate_limited", 429, true]);
});

test("503 is retried after Retry-After with the same key, a limited number of times", async (t) => {
  const server = await startApp(t);
  const { parley, seen } = await throughProxy(t, server, busy(1), busy());
  await parley.contacts.create(ADA);
  assert.equal(seen.length, 3);
  assert.equal(new Set(seen.map(({ key }) => key)).size, 1);
  assert.ok(seen[1]!.at - seen[0]!.at >= 1000);
  assert.ok(seen[2]!.at - seen[1]!.at < 1000);
  const never = await throughProxy(t, server, ...Array(9).fill(busy(0)));
  assert.equal((await failure(never.parley.me())).status, 503);
  assert.equal(never.seen.length, 5);
  const later = await throughProxy(t, server, busy(3600));
  assert.equal((await failure(later.parley.me())).retryAfter, 3600);
  assert.equal(later.seen.length, 1);
  const date = { "retry-after": new Date(Date.now() + 2000).toUTCString() };
  const dated = await throughProxy(t, server, { status: 503, headers: date });
  await dated.parley.me();
  const waited = dated.seen[1]!.at - dated.seen[0]!.at;
  assert.ok(waited > 500 && waited < 3500, String(waited));
});

test("messages are retried for longer than other requests, and arrive once and in order", async (t) => {
  const server = await startApp(t);
  const refuse = (_path: string, { length }: Between["seen"]): Fate =>
    length % 8 === 0 ? "lose the answer" : length % 8 < 7 ? busy(0) : "pass";
  const { url } = await proxy(t, server.url, refuse);
  const { token } = await server.user();
  const direct = new Parley({ url: server.url, token });
  const { conversation_id } = await direct.me();
  const parley = new Parley({ url, token });
  for (const text of ["1", "2"]) await parley.messages.create({ conversation_id, text });
  const sent = await Array.fromAsync(direct.messages.list({ conversation_id }));
  assert.deepEqual(
    sent.map(({ text }) => text),
    ["2", "1"],
  );
  const down = await throughProxy(t, server, ...Array(9).fill(busy(0)));
  const hasty = new Parley({ url: down.url, token, retryForMs: 0 });
  assert.equal((await failure(hasty.messages.create({ conversation_id, text: "3" }))).status, 503);
  const counted = new Parley({ url: down.url, token, maxRetries: 1 });
  assert.equal((await failure(counted.messages.create({ conversation_id, text: "4" }))).status, 503);
  assert.equal(down.seen.length, 3);
  const patient = new Parley({ url: down.url, token });
  for (const files of [[], [new File(["x"], "x.txt")]]) {
    const once = patient.messages.create({ conversation_id, text: "5" }, { files, retryForMs: 0 });
    assert.equal((await failure(once)).status, 503);
  }
  assert.equal(down.seen.length, 5, "a message can have a separate limit");
});

test("the client waits for a first attempt that is still running", async (t) => {
  const server = await startApp(t);
  const problem = { code: "idempotency_in_progress", detail: "Wait.", title: "", type: "", status: 409 };
  const headers = { "content-type": "application/problem+json", "retry-after": "0" };
  const { parley, seen } = await throughProxy(t, server, {
    status: 409,
    headers,
    body: JSON.stringify(problem),
  });
  await parley.contacts.create(ADA);
  assert.equal(seen.length, 2);
});

test("a delete whose answer was lost counts as done, and a conditional change is not repeated blindly", async (t) => {
  const server = await startApp(t);
  const { parley } = await throughProxy(t, server, "pass", "pass", "lose the answer", "lose the answer");
  const { id } = await parley.contacts.create(ADA);
  const ifMatch = etagOf(await parley.contacts.retrieve(id));
  const error = await failure(parley.contacts.update(id, { display_name: "Ada" }, { ifMatch }));
  assert.equal(error.code, "connection_failed");
  await parley.contacts.delete(id);
  assert.deepEqual((await parley.contacts.list()).data, []);
  assert.equal((await failure(parley.contacts.delete(id))).status, 404);
});

test("the weak ETag of a response that a proxy has compressed becomes strong again", async (t) => {
  const headers = { "content-type": "application/json", etag: 'W/"7"' };
  const { url } = await proxy(t, "", () => ({ status: 200, headers, body: "{}" }));
  const parley = new Parley({ url, token: "x" });
  assert.equal(etagOf(await parley.contacts.retrieve("con_1")), '"7"');
});

test("unblocking an unknown contact fails, also after a lost connection", async (t) => {
  const { parley, seen } = await throughProxy(t, await startApp(t), "lose the answer");
  const error = await failure(parley.contacts.unblock("con_00000000000000000000000000"));
  assert.equal(error.code, "contact_not_found");
  assert.equal(seen.length, 2);
});

test("each wait is reported before it begins", async (t) => {
  const { url } = await proxy(t, "", (_path, seen) => (seen.length === 0 ? busy(1) : { status: 500 }));
  const waits: [number, string, number | undefined][] = [];
  const parley = new Parley({
    url,
    token: "x",
    onWait: (ms, { code, retryAfter }) => waits.push([Math.floor(ms / 1000), code, retryAfter]),
  });
  await failure(parley.me());
  assert.deepEqual(waits, [[1, "unexpected_answer", 1]]);
});

test("errors of the request itself are not retried", async (t) => {
  const server = await startApp(t);
  const { parley, seen } = await throughProxy(t, server, { status: 500 });
  assert.equal((await failure(parley.me())).code, "unexpected_answer");
  assert.equal((await failure(parley.contacts.list({ limit: 0 }))).code, "invalid_parameter");
  await parley.contacts.create(ADA);
  await failure(parley.contacts.create(ADA));
  assert.equal(seen.length, 4);
});
