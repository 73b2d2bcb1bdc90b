// Where webhooks must not lead: not when they are made, and not when they are sent.
import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { test } from "node:test";
import { Webhook } from "standardwebhooks";
import { lookUpPublic, post } from "../../src/util/post.ts";
import { isPublicAddress } from "../../src/util/public-address.ts";
import { startApp, startOn, testConfig } from "./app.ts";
import { asker, type Json } from "./asker.ts";
import { eventually } from "./files-on-disk.ts";
import { add, person } from "./people.ts";
import { receiver } from "./receiver.ts";

const REFUSED = [
  ...[
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "example.com",
    "",
  ],
  ...[
    "https://user@example.com/",
    "https://:secret@example.com/",
    "https://example.com/#a",
    "https://example.com/#",
  ],
  ...[
    "https://127.0.0.1/",
    "https://127.1:8443/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
  ],
  ...[
    "https://0.0.0.0/",
    "https://10.1.2.3/",
    "https://172.20.0.1/",
    "https://192.168.0.1/",
    "https://100.64.0.1/",
  ],
  ...[
    "https://169.254.169.254/latest/meta-data/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
  ],
  ...[
    "https://[::]/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[fe80::1]/",
  ],
  ...["https://[fd00::1]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://[ff02::1]/"],
  ...["https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://①②⑦.0.0.1/"],
  `https://example.com/${"a".repeat(2048)}`,
];
const TAKEN = [
  "https://example.com/",
  "https://example.com:8443/hook?a=b",
  "https://8.8.8.8/",
  "https://[2606:4700::1111]/",
];

test("only https to a public address is taken, in whatever spelling, and also in an update", async (t) => {
  const server = await startApp(t);
  const ask = asker(server, await person(server, "ann"));
  const { body } = await ask("POST", "/v1/webhooks", { url: TAKEN[0] });
  for (const url of REFUSED) {
    for (const [method, path] of [
      ["POST", "/v1/webhooks"],
      ["PUT", `/v1/webhooks/${body.id}`],
    ] as const) {
      const refused = await ask(method, path, { url });
      assert.deepEqual(
        [refused.status, refused.body.code, refused.body.param],
        [400, "invalid_parameter", "url"],
        url,
      );
      assert.match(String(refused.body.detail), /^url must .*https/);
    }
  }
  for (const url of TAKEN) assert.equal((await ask("POST", "/v1/webhooks", { url })).status, 201, url);
});

test("with PARLEY_WEBHOOKS_ALLOW_PRIVATE others are taken, but not with credentials or a fragment", async (t) => {
  const server = await startApp(t, { webhooksAllowPrivate: true });
  const ask = asker(server, await person(server, "ann"));
  for (const url of ["http://127.0.0.1:8000/", "https://localhost/", "http://[fd00::1]/"])
    assert.equal((await ask("POST", "/v1/webhooks", { url })).status, 201, url);
  for (const url of ["http://a:b@127.0.0.1/", "http://127.0.0.1/#a", "ftp://127.0.0.1/", "file:///"])
    assert.equal((await ask("POST", "/v1/webhooks", { url })).status, 400, url);
});

test("a webhook that was allowed before is asked for again: nothing is sent", async (t) => {
  const config = await testConfig(t);
  const allowing = { ...config, limits: { ...config.limits, webhooksAllowPrivate: true } };
  const first = await startOn(t, allowing);
  const ann = await person(first, "ann");
  const canary = await receiver(t);
  const { body } = await asker(first, ann)("POST", "/v1/webhooks", { url: canary.url });
  await first.app.stop();
  const second = await startOn(t, config);
  await add(second, ann, "x");
  let told: Json | undefined;
  const failed = async () => {
    const page = await asker(second, ann)("GET", `/v1/webhooks/${body.id}/deliveries`);
    told = (page.body.data as Json[])[0];
    return told !== undefined && Number(told.attempts) > 0;
  };
  assert.ok(await eventually(failed));
  assert.match(String(told!.last_error), /not public/);
  assert.equal(canary.received.length, 0);
});

const lookUp = (name: string, all: boolean) =>
  new Promise((resolve, reject) =>
    lookUpPublic(name, { all }, (error, found) => (error ? reject(error) : resolve(found))),
  );

// The names of this machine lead to itself by its own resolver: as a name would that led elsewhere before.
test("a name that leads to this machine is refused when it is connected to, and not a byte is sent", async (t) => {
  let connections = 0;
  const canary = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(canary, "listening");
  t.after(() => canary.close());
  const { port } = canary.address() as { port: number };
  for (const all of [true, false])
    await assert.rejects(lookUp("localhost", all) as Promise<unknown>, /not public/);
  // A public address is handed on as it was looked at.
  assert.deepEqual(await lookUp("8.8.8.8", true), [{ address: "8.8.8.8", family: 4 }]);
  assert.equal(await lookUp("8.8.8.8", false), "8.8.8.8");
  const { signal } = new AbortController();
  const what = { headers: {}, body: "{}", timeoutMs: 5000, signal };
  // Capitals and a dot at the end are no way around: the name is looked up as it is.
  for (const host of ["localhost", "LOCALHOST", "localhost."]) {
    await assert.rejects(async () => post({ ...what, url: `https://${host}:${port}/`, allowPrivate: false }));
  }
  assert.equal(connections, 0);
  await assert.rejects(async () => post({ ...what, url: `http://localhost:${port}/`, allowPrivate: true }));
  assert.equal(connections, 1);
});

/** Set where the machine's own name leads to itself, which is what its resolver says of it mostly. */
const ownName = await lookup(hostname(), { all: true }).then(
  (found) => found.every(({ address }) => !isPublicAddress(address)) && hostname() !== "localhost",
  () => false,
);
const noName = ownName ? false : "the name of this machine does not lead to itself";

test("a webhook at a name that leads to this machine is made, but nothing is sent", {
  skip: noName,
}, async (t) => {
  let connections = 0;
  const canary = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0);
  await once(canary, "listening");
  t.after(() => canary.close());
  const { port } = canary.address() as { port: number };
  const url = `https://${hostname()}:${port}/`;
  for (const [webhooksAllowPrivate, error, expected] of [
    [false, /has an address that is not public/, 0],
    [true, /./, 1],
  ] as const) {
    const server = await startApp(t, { webhooksAllowPrivate });
    const ask = asker(server, await person(server, "ann"));
    const { status, body } = await ask("POST", "/v1/webhooks", { url });
    assert.equal(status, 201);
    await ask("POST", `/v1/webhooks/${body.id}/test`);
    let told: Json = {};
    const tried = async () => {
      [told] = (await ask("GET", `/v1/webhooks/${body.id}/deliveries`)).body.data as [Json];
      return told.attempts === 1;
    };
    assert.ok(await eventually(tried), JSON.stringify(told));
    assert.match(String(told.last_error), error);
    assert.equal(connections, expected);
    await server.app.stop();
  }
});

test("signatures are those that Standard Webhooks publishes", () => {
  const webhook = new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const signed = webhook.sign(
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    new Date(1614265330_000),
    '{"test": 2432232314}',
  );
  assert.equal(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});
