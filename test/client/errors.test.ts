// Every failure is one kind of error with a code.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Parley } from "../../packages/parley-client/src/index.ts";
import { startApp } from "../support/app.ts";
import { freePort } from "../support/command.ts";
import { proxy, silentServer } from "../support/proxy.ts";
import { clientOf } from "./engines.ts";
import { failure } from "./failure.ts";

test("an API error has its code, field, request id and further members", async (t) => {
  const server = await startApp(t);
  const parley = await clientOf(server);
  const fields = { username: "ada", phone_number: "555-0100" };
  const { id } = await parley.contacts.create(fields);
  const taken = await failure(parley.contacts.create(fields));
  assert.deepEqual([taken.name, taken.code, taken.status], ["ParleyApiError", "contact_exists", 409]);
  assert.equal(taken.members.existing_id, id);
  assert.match(taken.requestId!, /^req_/);
  assert.equal(taken.members.type, `${server.url}/docs/errors/contact_exists`);
  assert.equal(taken.retryAfter, undefined);
  const invalid = await failure(parley.contacts.list({ limit: 1000 }));
  assert.deepEqual([invalid.code, invalid.status, invalid.param], ["invalid_parameter", 400, "limit"]);
  const many = await failure(
    (async () => {
      for await (const _ of parley.contacts.list({ limit: 0 }));
    })(),
  );
  assert.equal(many.code, "invalid_parameter");
  const stranger = new Parley({ url: server.url, token: "parley_x" });
  assert.deepEqual(await codes(stranger), Array(6).fill("invalid_token"));
  const reader = await clientOf(server, {}, { scopes: ["contacts:read"] });
  assert.equal((await failure(reader.attachments.list())).code, "insufficient_scope");
  for (const odd of ["", "..", "a/b?c#d", "con_x", "名"]) {
    assert.equal((await failure(parley.contacts.retrieve(`${odd}\u0000`))).status, 404, odd);
  }
});

/** Returns the code with which each kind of call fails. */
async function codes(parley: Parley): Promise<string[]> {
  const failures = [
    parley.me(),
    parley.contacts.list(),
    parley.contacts.create({ username: "ada", phone_number: "555-0100" }),
    parley.attachments.upload(new Blob(["x".repeat(100_000)]), { filename: "x" }),
    parley.attachments.download("att_x"),
    parley.events.stream().next(),
  ].map(failure);
  return (await Promise.all(failures)).map(({ code }) => code);
}

test("a server that is unreachable, silent or not Parley gives an error", async (t) => {
  const gone = new Parley({ url: `http://127.0.0.1:${await freePort()}`, token: "x", maxRetries: 0 });
  assert.deepEqual(await codes(gone), Array(6).fill("connection_failed"));
  const silent = new Parley({ url: await silentServer(t), token: "x", timeoutMs: 200 });
  assert.deepEqual((await codes(silent)).slice(0, 5), Array(5).fill("timeout"));
  const front = await proxy(t, "", () => ({
    status: 502,
    headers: { "content-type": "text/html" },
    body: "<h1>Bad",
  }));
  const proxied = new Parley({ url: front.url, token: "x" });
  assert.deepEqual(await codes(proxied), Array(6).fill("unexpected_answer"));
  const error = await failure(proxied.me());
  assert.deepEqual([error.status, error.detail.includes("502")], [502, true]);
  const cheat = await proxy(t, "", () => ({ status: 200, body: "<h1>Welcome" }));
  const welcomed = await failure(new Parley({ url: cheat.url, token: "x" }).me());
  assert.deepEqual([welcomed.code, welcomed.status], ["unexpected_answer", 200]);
});

test("responses that are not Parley's are reported as unexpected", async (t) => {
  const problem = { "content-type": "application/problem+json" };
  const answers: { status: number; headers?: Record<string, string>; body?: string }[] = [
    { status: 500, headers: problem, body: '{"type":"about:blank","title":"Gateway"}' },
    { status: 502, headers: problem, body: '{"code":502,"detail":"Bad gateway"}' },
    { status: 502, headers: problem, body: '{"code":"x","detail"' },
    { status: 400, headers: problem, body: "null" },
    { status: 200, body: "null" },
    { status: 200, body: "5" },
    { status: 200, body: "" },
  ];
  for (const answer of answers) {
    const { url, seen } = await proxy(t, "", () => answer);
    const error = await failure(new Parley({ url, token: "x" }).me());
    assert.deepEqual([error.code, error.status], ["unexpected_answer", answer.status], answer.body);
    assert.match(error.detail, /not from Parley/);
    assert.equal(seen.length, 1);
  }
});

test("a redirect is reported and not followed, except for files", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  const { attachments } = new Parley({ url: server.url, token });
  const made = await attachments.upload(new File(["text"], "a.txt"));
  const elsewhere = server.url.replace("127.0.0.1", "localhost");
  for (const to of ["", elsewhere]) {
    const { url, seen } = await proxy(t, server.url, (path) =>
      path.endsWith("?") ? "pass" : { status: 301, headers: { location: `${to}${path}?` } },
    );
    const moved = new Parley({ url, token });
    const calls = [
      () => moved.contacts.create({ username: "ada", phone_number: "555-0100" }),
      () => moved.me(),
      () => moved.events.stream().next(),
    ];
    for (const call of calls) {
      const error = await failure(call());
      assert.deepEqual([error.code, error.status], ["unexpected_answer", 301]);
      assert.match(error.detail, /^The server redirects to .*\/v1\/.*\?, and the client does not follow/);
    }
    // The stream first tries a WebSocket.
    assert.equal(seen.length, 4);
  }
  const { url } = await proxy(t, server.url, (path) =>
    path.startsWith("/files/") ? { status: 302, headers: { location: made.file_url } } : "pass",
  );
  const stored = await new Parley({ url, token }).attachments.download(made.id);
  assert.equal(await (await stored.blob()).text(), "text");
});

test("an invalid argument throws a TypeError that says what is accepted", async (t) => {
  const odd = [
    "chat.example.com",
    "chat.example.com:8080",
    "http://ada:secret@127.0.0.1",
    "http://127.0.0.1/?a=b",
    "http://127.0.0.1/?",
    "http://127.0.0.1/#",
    "ftp://127.0.0.1",
  ];
  for (const url of odd) assert.throws(() => new Parley({ url, token: "x" }), TypeError, url);
  const url = "http://127.0.0.1:8080/parley/";
  for (const token of [undefined, null, "", 5, {}])
    assert.throws(() => new Parley({ url, token: token as string }), /^TypeError: token must be/);
  const between = await proxy(t, "", () => ({ status: 200, body: "{}" }));
  const { contacts, attachments, webhooks } = new Parley({ url: `${between.url}/parley/`, token: "x" });
  for (const id of ["", ".", "..", undefined as unknown as string]) {
    const calls = [
      () => contacts.retrieve(id),
      () => contacts.delete(id),
      () => contacts.block(id),
      () => webhooks.redeliver("x", id),
    ];
    for (const call of calls) await assert.rejects(call, /^TypeError: An id must be a string/);
    await assert.rejects(Promise.resolve(webhooks.listDeliveries(id)), TypeError);
  }
  for (const source of [null, undefined, 5, {}, ["x"]]) {
    const upload = attachments.upload(source as never, { filename: "x" });
    await assert.rejects(upload, /^TypeError: Pass a path, a Blob or File/);
  }
  assert.equal(between.seen.length, 0);
  await contacts.retrieve("con_x");
  assert.equal(between.seen[0]!.path, "/parley/v1/contacts/con_x");
});

test("an aborted request rejects with the caller's reason, also between retries", async (t) => {
  const url = await silentServer(t);
  const parley = new Parley({ url, token: "x" });
  await assert.rejects(parley.me({ signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await assert.rejects(parley.me({ signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(Promise.resolve(parley.contacts.list({}, { signal: AbortSignal.timeout(50) })), {
    name: "TimeoutError",
  });
  const busy = await proxy(t, "", () => ({ status: 503, headers: { "retry-after": "30" } }));
  const waiting = new Parley({ url: busy.url, token: "x" });
  await assert.rejects(waiting.me({ signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  assert.equal(busy.seen.length, 1);
});

test("the caller's own fetch and token function are used for each request", async (t) => {
  const server = await startApp(t);
  const { token } = await server.user();
  let asked = 0;
  const addresses: string[] = [];
  const parley = new Parley({
    url: server.url,
    token: () => {
      asked++;
      return token;
    },
    fetch: (input, init) => {
      addresses.push(String(input));
      return fetch(input, init);
    },
  });
  await parley.me();
  await parley.attachments.upload(new Blob(["x"]), { filename: "x" });
  assert.equal(asked, 2);
  assert.deepEqual(addresses, [`${server.url}/v1/me`, `${server.url}/v1/attachments`]);
  const failing = new Parley({ url: server.url, token: () => Promise.reject(new RangeError("no token")) });
  await assert.rejects(failing.me(), RangeError);
  const odd = new Parley({ url: server.url, token: "名" });
  await assert.rejects(odd.me(), TypeError);
  const fields = { username: "ada", phone_number: "555-0100" };
  await assert.rejects(parley.contacts.create(fields, { idempotencyKey: "a\nb" }), TypeError);
});

test("`as` refuses what names no user", () => {
  const parley = new Parley({ url: "http://127.0.0.1:1", token: "x" });
  for (const user of [undefined, null, "", 7, "\ud800"])
    assert.throws(() => parley.as(user as string), TypeError, String(user));
});
