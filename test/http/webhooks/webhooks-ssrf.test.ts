// Addresses that webhooks and pushes must not reach, checked when the URL is set and at the connection.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { sql } from "../../../src/db/sql.ts";
import { post, publicLookup } from "../../../src/util/post.ts";
import { startApp, startOn, testConfig } from "../../support/app.ts";
import { asker, type Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { hook, newest } from "../../support/hooks.ts";
import { add, pair, person, read, say, send } from "../../support/people.ts";
import { type Receiver, receiver } from "../../support/receiver.ts";
import { ALIAS, nameServer } from "../search/name-server.ts";
import { DEVICE } from "../visibility/matrix-rows.ts";

const REFUSED = [
  ...`http://example.com/ ftp://example.com/ file:///etc/passwd javascript:alert(1) example.com
    https://user@example.com/ https://:secret@example.com/ https://example.com/#a https://example.com/#
    https://127.0.0.1/ https://127.1:8443/ https://2130706433/ https://0x7f000001/ https://0177.0.0.1/
    https://0.0.0.0/ https://10.1.2.3/ https://172.20.0.1/ https://192.168.0.1/ https://100.64.0.1/
    https://169.254.169.254/latest/meta-data/ https://198.18.0.1/ https://224.0.0.1/ https://255.255.255.255/
    https://[::]/ https://[::1]/ https://[::ffff:127.0.0.1]/ https://[::ffff:a9fe:a9fe]/ https://[fe80::1]/
    https://[fd00::1]/ https://[64:ff9b::7f00:1]/ https://[2002:7f00:1::]/ https://[ff02::1]/
    https://localhost/ https://LOCALHOST./ https://a.localhost/ https://①②⑦.0.0.1/`.split(/\s+/),
  "",
  `https://example.com/${"a".repeat(2048)}`,
];
const TAKEN =
  "https://example.com/ https://example.com:8443/hook?a=b https://8.8.8.8/ https://[2606:4700::1111]/".split(
    " ",
  );

test("only https to a public address is accepted for webhooks and pushes, in any spelling", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await person(server, "ann"));
  const { body } = await ask("POST", "/v1/webhooks", { url: TAKEN[0] });
  for (const url of REFUSED) {
    for (const [method, path, param] of [
      ["POST", "/v1/webhooks", "url"],
      ["PUT", `/v1/webhooks/${body.id}`, "url"],
      ["POST", "/v1/push_subscriptions", "endpoint"],
    ] as const) {
      const refused = await ask(method, path, param === "url" ? { url } : { ...DEVICE, endpoint: url });
      assert.deepEqual(
        [refused.status, refused.body.code, refused.body.param],
        [400, "invalid_parameter", param],
        url,
      );
      assert.match(String(refused.body.detail), new RegExp(`^${param} must .*https`));
    }
  }
  for (const url of TAKEN) {
    assert.equal((await ask("POST", "/v1/webhooks", { url })).status, 201, url);
    assert.equal(
      (await ask("POST", "/v1/push_subscriptions", { ...DEVICE, endpoint: url })).status,
      201,
      url,
    );
  }
});

test("PARLEY_WEBHOOKS_ALLOW_PRIVATE accepts http and private addresses, but no credentials or fragments", async (t) => {
  const server = await startApp(t, { webhooksAllowPrivate: true });
  const ask = asker(server, await person(server, "ann"));
  for (const url of ["http://127.0.0.1:8000/", "https://localhost/", "http://[fd00::1]/"])
    assert.equal((await ask("POST", "/v1/webhooks", { url })).status, 201, url);
  for (const url of ["http://a:b@127.0.0.1/", "http://127.0.0.1/#a", "ftp://127.0.0.1/", "file:///"])
    assert.equal((await ask("POST", "/v1/webhooks", { url })).status, 400, url);
});

test("a private address accepted earlier gets no deliveries once PARLEY_WEBHOOKS_ALLOW_PRIVATE is off", async (t) => {
  const config = await testConfig(t);
  const allowing = { ...config, limits: { ...config.limits, webhooksAllowPrivate: true } };
  const first = await startOn(t, allowing);
  const ann = await person(first, "ann");
  const canary = await receiver(t);
  const { body } = await asker(first, ann)("POST", "/v1/webhooks", { url: canary.url });
  await first.app.stop();
  const second = await startOn(t, config);
  await add(second, ann, "x");
  let shown: Json | undefined;
  const failed = async () => {
    const page = await asker(second, ann)("GET", `/v1/webhooks/${body.id}/deliveries`);
    shown = (page.body.data as Json[])[0];
    return shown !== undefined && Number(shown.attempts) > 0;
  };
  assert.ok(await eventually(failed));
  assert.deepEqual([shown!.last_status, canary.received.length], [null, 0]);
});

/** A server that counts connections. */
async function canaryServer(t: TestContext) {
  const canary = { connections: 0, port: 0 };
  const server = createServer((socket) => {
    canary.connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  canary.port = (server.address() as AddressInfo).port;
  return canary;
}

test("each address of a name must be public at the time of the connection", async (t) => {
  const leads: Record<string, string[]> = {
    "public.example": ["8.8.8.8", "1.1.1.1"],
    "private.example": ["127.0.0.1"],
    "both.example": ["8.8.8.8", "10.0.0.1"],
    "none.example": [],
    "alias.example": [ALIAS],
  };
  const makeResolver = await nameServer(t, (name) => leads[name]);
  const lookUp = (name: string, all: boolean) =>
    new Promise((resolve, reject) =>
      publicLookup(makeResolver())(name, { all }, (error, found) => (error ? reject(error) : resolve(found))),
    );
  for (const all of [true, false]) {
    await assert.rejects(
      lookUp("private.example", all),
      /private\.example has an address that is not public/,
    );
    await assert.rejects(lookUp("both.example", all), /not public/);
    await assert.rejects(lookUp("none.example", all), /ENOTFOUND none\.example/);
    await assert.rejects(lookUp("alias.example", all), /alias\.example has no address/);
    await assert.rejects(lookUp("silent.example", all), /ETIMEOUT silent\.example/);
  }
  assert.deepEqual(await lookUp("public.example", true), [
    { address: "8.8.8.8", family: 4 },
    { address: "1.1.1.1", family: 4 },
  ]);
  assert.equal(await lookUp("public.example", false), "8.8.8.8");
});

test("no spelling of localhost is reached, unless PARLEY_WEBHOOKS_ALLOW_PRIVATE is on", async (t) => {
  const canary = await canaryServer(t);
  const makeResolver = await nameServer(t, () => ["127.0.0.1"]);
  const { signal } = new AbortController();
  const what = { headers: {}, body: "{}", timeoutMs: 5000, signal, makeResolver };
  for (const host of "localhost LOCALHOST localhost. a.example a.example.".split(" ")) {
    const url = `https://${host}:${canary.port}/`;
    await assert.rejects(async () => post({ ...what, url, allowPrivate: false }), /not public/);
  }
  assert.equal(canary.connections, 0);
  const url = `http://localhost:${canary.port}/`;
  await assert.rejects(async () => post({ ...what, url, allowPrivate: true }));
  assert.equal(canary.connections, 1);
});

test("a push to an address that resolves to this machine is not sent", async (t) => {
  const canary = await canaryServer(t);
  const makeResolver = await nameServer(t, () => ["127.0.0.1"]);
  const config = await testConfig(t);
  const allowing = { ...config, limits: { ...config.limits, webhooksAllowPrivate: true } };
  const first = await startOn(t, allowing);
  const { ann, bob, conversation } = await pair(first);
  for (const host of ["127.0.0.1", "localhost", "push.example"]) {
    const endpoint = `https://${host}:${canary.port}/`;
    await read(send(first, ann, "POST", "/v1/push_subscriptions", { ...DEVICE, endpoint }), 201);
  }
  await first.app.stop();
  const second = await startOn(t, config, { makeResolver });
  await say(second, bob, conversation, "hello");
  const attempts = () => second.app.core.db.all<{ attempts: number }>(sql`SELECT attempts FROM deliveries`);
  const isTried = async () => {
    const found = await attempts();
    return found.length === 3 && found.every((each) => each.attempts > 0);
  };
  assert.ok(await eventually(isTried));
  assert.equal(canary.connections, 0);
});

test("DNS rebinding never reaches this machine", async (t) => {
  const canary = await canaryServer(t);
  let asked = 0;
  const makeResolver = await nameServer(t, () => (asked++ % 4 < 2 ? [] : ["127.0.0.1"]));
  const server = await startApp(t, {}, { makeResolver });
  const ask = asker(server, await person(server, "ann"));
  const { status, body } = await ask("POST", "/v1/webhooks", {
    url: `https://rebind.example:${canary.port}/`,
  });
  assert.equal(status, 201);
  for (let i = 0; i < 6; i++) {
    await ask("POST", `/v1/webhooks/${body.id}/test`);
    const tried = async () => {
      const { data } = (await ask("GET", `/v1/webhooks/${body.id}/deliveries`)).body as { data: Json[] };
      return data.length === i + 1 && data.every(({ attempts }) => Number(attempts) > 0);
    };
    assert.ok(await eventually(tried));
  }
  assert.ok(asked >= 12, "each delivery asks anew");
  assert.equal(canary.connections, 0);
});

test("a delivery does not reveal why no answer came: unknown name, closed port or silent server", async (t) => {
  const makeResolver = await nameServer(
    t,
    (name) => ({ "none.example": [], "internal.example": ["10.0.0.5"], "alias.example": [ALIAS] })[name],
  );
  const canary = await canaryServer(t);
  const silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(silent, "listening");
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const hosts = ["none.example", "internal.example", "alias.example", "unanswered.example"];
  const addresses = {
    false: hosts.map((host) => `https://${host}/`),
    true: [
      "http://127.0.0.1:1/",
      "https://127.0.0.1:1/",
      ...["http", "https"].map((protocol) => `${protocol}://127.0.0.1:${canary.port}/`),
      ...["http", "https"].map((protocol) => `${protocol}://127.0.0.1:${port}/`),
      "http://unknown.invalid/",
    ],
  };
  const errors = new Set<string>();
  for (const [webhooksAllowPrivate, urls] of Object.entries(addresses)) {
    const limits = { webhooksAllowPrivate: webhooksAllowPrivate === "true", webhookTimeoutMs: 1000 };
    // The clock stands still, so nothing is retried.
    const server = await startApp(t, limits, { makeResolver, clock: () => Date.UTC(2026, 0, 1) });
    const ann = await person(server, "ann");
    for (const url of urls) {
      const made = await hook(server, ann, { url } as Receiver);
      await asker(server, ann)("POST", `/v1/webhooks/${made.id}/test`);
      const {
        id: _,
        event_id: __,
        next_attempt_at,
        ...shown
      } = await newest(server, ann, made, {
        attempts: 1,
      });
      assert.ok(next_attempt_at, url);
      errors.add(JSON.stringify(shown));
    }
  }
  assert.equal(errors.size, 1, [...errors].join("\n"));
  const { last_error, last_status } = JSON.parse([...errors][0]!) as Json;
  assert.equal(last_error, "No answer came within 1 s, or the address could not be reached.");
  assert.equal(last_status, null);
});
