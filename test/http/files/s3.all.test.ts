import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { type TestContext, test } from "node:test";
import { createApp } from "../../../src/app.ts";
import { appendToUpload } from "../../../src/core/files/upload-resumable.ts";
import { startOn, testConfig, upload } from "../../support/app.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { clientOf, contentOf, credentials, noS3, storeUrl, testBucket } from "../../support/engines/s3.ts";
import { eventually } from "../../support/files-on-disk.ts";

const LARGE = 9 * 1024 * 1024;
const options = { skip: noS3 };

interface Made {
  id: string;
  file_url: string;
  file_type: string;
}

async function start(t: TestContext, redirectFiles = false) {
  const store = testBucket(t);
  const server = await startOn(t, { ...(await testConfig(t)), store, redirectFiles });
  const user = await server.user();
  const send = async (bytes: Uint8Array<ArrayBuffer> | string, name = "a.bin", type = "") => {
    const answer = await upload(server.url, user, new File([bytes], name, { type }));
    assert.equal(answer.status, 201);
    return (await answer.json()) as Made;
  };
  return { server, user, store, send };
}

test("files in S3 are downloaded whole and by range, except empty ones", options, async (t) => {
  const { store, send } = await start(t);
  const sizes = [0, 1, 32 * 1024, 300_000, LARGE];
  for (const size of sizes) {
    const bytes = randomBytes(size);
    const { file_url } = await send(bytes);
    const whole = await fetch(file_url);
    assert.equal(whole.status, 200);
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes), String(size));
    if (size < 10) continue;
    const part = await fetch(file_url, { headers: { range: `bytes=5-${size - 2}` } });
    assert.equal(part.status, 206);
    assert.equal(part.headers.get("content-range"), `bytes 5-${size - 2}/${size}`);
    assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(5, size - 1)));
    const head = await fetch(file_url, { method: "HEAD" });
    assert.equal(head.headers.get("content-length"), String(size));
  }
  const { objects, uploads } = await contentOf(store);
  assert.equal(objects.length, sizes.length - 1);
  assert.deepEqual(uploads, []);
});

test("each part of a resumable upload is recorded before the next is sent", options, async (t) => {
  const { server, user } = await start(t);
  const { core } = server.app;
  const caller = { userId: user.id, tokenId: null, scopes: new Set<string>(), actedById: null };
  const headers = { ...user.headers, "upload-complete": "?0" };
  for (const checksum of [false, true]) {
    const begun = await fetch(`${server.url}/v1/uploads?filename=a`, { method: "POST", headers });
    const { id } = (await begun.json()) as { id: string };
    const recorded: number[] = [];
    const { write } = core.db;
    core.db.write = ((name: "advanceUpload", input: { parts: string | null }) => {
      if (name === "advanceUpload") recorded.push(JSON.parse(input.parts ?? '{"next":1}').next);
      return write.call(core.db, name, input as never);
    }) as typeof write;
    // Chunks of another size than parts.
    const chunk = randomBytes(6 * 1024 * 1024);
    const whole = Buffer.concat(Array(12).fill(chunk));
    async function* body() {
      for (let i = 0; i < 12; i++) yield chunk;
    }
    const expected = createHash("sha256").update(whole).digest();
    await appendToUpload(core, caller, id, {
      offset: 0,
      length: whole.length,
      isLast: false,
      announcedBytes: whole.length,
      checksum: checksum ? { algorithm: "sha256", expected, mismatch: "checksum_mismatch" } : undefined,
      bytes: body(),
      end: () => {},
    });
    core.db.write = write;
    const steps = recorded.map((next, i) => next - (recorded[i - 1] ?? 1));
    assert.ok(recorded.length > 5 && steps.every((step) => step <= 1), recorded.join());
  }
});

test("a missing bucket is not created if the database has files", options, async (t) => {
  const { server, send, store } = await start(t);
  await send("x");
  await server.app.stop();
  const wrong = { ...store, bucket: `${store.bucket}-wrong` };
  await assert.rejects(
    createApp({ ...server.config, store: wrong }),
    /is not there, and the database has files/,
  );
  await (await createApp(server.config)).stop();
});

test("deleted and refused files leave S3 within seconds", options, async (t) => {
  const { server, user, store, send } = await start(t);
  const { id, file_url } = await send(randomBytes(LARGE));
  const refused = await upload(server.url, user, new File([randomBytes(LARGE)], "a"), {
    message_id: "msg_x",
  });
  assert.equal(refused.status, 404);
  assert.equal((await contentOf(store)).objects.length, 1);
  const gone = await fetch(`${server.url}/v1/attachments/${id}`, { method: "DELETE", headers: user.headers });
  assert.equal(gone.status, 204);
  assert.equal((await fetch(file_url)).status, 404);
  assert.ok(await eventually(async () => (await contentOf(store)).objects.length === 0));
  assert.deepEqual(await contentOf(store), { objects: [], uploads: [] });
});

test("aborted downloads from S3 do not harm the server", options, async (t) => {
  const { send } = await start(t);
  const bytes = randomBytes(3 * LARGE);
  const { file_url } = await send(bytes);
  for (let i = 0; i < 20; i++) {
    const [answer] = (await once(get(file_url), "response")) as [IncomingMessage];
    await once(answer, "data");
    answer.destroy();
  }
  assert.ok(Buffer.from(await (await fetch(file_url)).arrayBuffer()).equals(bytes));
});

test("a damaged object in S3 is noticed, and its last bytes are not sent", options, async (t) => {
  const { server, send, store } = await start(t);
  const { id, file_url } = await send(randomBytes(LARGE));
  const key = (await contentOf(store)).objects[0]!;
  const writer = await server.app.core.blobs.create(key);
  await writer.write(randomBytes(LARGE));
  await writer.store();
  const download = async () => (await fetch(file_url)).arrayBuffer();
  await assert.rejects(download, "the last bytes are held back");
  assert.ok(server.app.core.damaged.has(id));
  assert.equal((await fetch(file_url, { headers: { range: "bytes=0-9" } })).status, 500);
});

test("with PARLEY_FILES=redirect a GET redirects to the store", options, async (t) => {
  const { server, user, send } = await start(t, true);
  const proxy = await startOn(t, {
    ...server.config,
    dataFolder: `${server.config.dataFolder}-proxy`,
    redirectFiles: false,
  });
  const other = await proxy.user();
  for (const [name, type] of [
    ["a.txt", "text/plain"],
    ["page.html", "text/html"],
    ["Größe “1”; x=y.pdf", "application/pdf"],
    ["€ & ü.bin", ""],
  ] as const) {
    const bytes = randomBytes(100).toString("base64");
    const made = await send(bytes, name, type);
    const same = (await (await upload(proxy.url, other, new File([bytes], name, { type }))).json()) as Made;
    for (const query of ["", "&download=1"]) {
      const sent = await fetch(made.file_url + query, { redirect: "manual" });
      assert.equal(sent.status, 302);
      assert.equal(sent.headers.get("etag"), null);
      assert.equal(sent.headers.get("cache-control"), "private, max-age=150");
      assert.equal(sent.headers.get("vary"), "Sec-Fetch-Site, Sec-Fetch-Mode");
      const found = await fetch(sent.headers.get("location")!);
      assert.equal(found.status, 200);
      const expected = await fetch(same.file_url + query);
      for (const header of ["content-type", "content-disposition", "content-length"])
        assert.equal(found.headers.get(header), expected.headers.get(header), `${name}: ${header}`);
      assert.equal(await found.text(), bytes);
    }
    const byToken = await fetch(new URL(made.file_url).origin + new URL(made.file_url).pathname, {
      headers: user.headers,
      redirect: "manual",
    });
    assert.equal(byToken.status, 302);
    assert.equal(byToken.headers.get("cache-control"), "private, no-store");
    const part = await fetch(made.file_url, { headers: { range: "bytes=1-5" } });
    assert.equal(part.status, 206);
    assert.equal(await part.text(), bytes.slice(1, 6));
  }
});

test("with PARLEY_FILES=redirect the server itself answers 304 and 4xx", options, async (t) => {
  const { server, send } = await start(t, true);
  const { file_url } = await send("0123456789", "a.txt");
  const ask = (url: string, init: RequestInit = {}) => fetch(url, { redirect: "manual", ...init });
  const head = await ask(file_url, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.equal(head.headers.get("content-length"), "10");
  const etag = head.headers.get("etag")!;
  assert.equal((await ask(file_url, { headers: { "if-none-match": etag } })).status, 304);
  assert.equal((await ask(file_url, { headers: { "if-match": '"other"' } })).status, 412);
  assert.equal((await ask(file_url, { headers: { range: "bytes=10-" } })).status, 416);
  assert.equal((await ask(file_url.replace(/signature=./, "signature="))).status, 403);
  const stranger = await server.user();
  const { origin, pathname } = new URL(file_url);
  assert.equal((await ask(origin + pathname, { headers: stranger.headers })).status, 404);
  const empty = await send("", "empty.txt");
  const answer = await ask(empty.file_url);
  assert.equal(answer.status, 200);
  assert.equal(await answer.text(), "");
});

test("a redirect to the store expires with the file link", options, async (t) => {
  let now = Date.now();
  const store = testBucket(t);
  const server = await startOn(
    t,
    { ...(await testConfig(t)), store, redirectFiles: true },
    { clock: () => now },
  );
  const user = await server.user();
  const { file_url } = (await (await upload(server.url, user, new File(["x"], "a"))).json()) as Made;
  now = Number(new URL(file_url).searchParams.get("expires")) * 1000 - 20_000;
  const sent = await fetch(file_url, { redirect: "manual" });
  assert.equal(new URL(sent.headers.get("location")!).searchParams.get("X-Amz-Expires"), "20");
  assert.equal(sent.headers.get("cache-control"), "private, max-age=10");
});

test("parley check compares rows with the bucket, and backup and restore refuse S3", options, async (t) => {
  const store = testBucket(t);
  const command = await commandLine(t, { PARLEY_STORE: storeUrl(store), ...credentials() });
  const headers = { authorization: `Bearer ${tokenOf(await command.serve())}` };
  for (const name of ["a", "b", "c"]) {
    const body = new FormData();
    body.set("file", new File([name.repeat(1000)], name));
    const made = await fetch(`${command.url}/v1/attachments`, { method: "POST", headers, body });
    assert.equal(made.status, 201);
  }
  const clean = await command.run("check");
  assert.equal(clean.code, 0, clean.stderr + clean.stdout);
  assert.match(clean.stdout, /3 files.*0 findings/);
  const s3 = clientOf(store);
  const [gone, other] = (await contentOf(store)).objects as [string, string];
  const orphan = "ab".repeat(16);
  const Bucket = store.bucket;
  await s3.deleteObject({ Bucket, Key: gone });
  await s3.putObject({ Bucket, Key: other, Body: "x".repeat(1000) });
  await s3.putObject({ Bucket, Key: orphan, Body: "x" });
  await s3.putObject({ Bucket, Key: "notes.txt", Body: "x" });
  const found = await command.run("check", "--json");
  assert.equal(found.code, 1);
  const findings = found.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const told = findings.map(
    ({ kind, path, files }) => `${kind} ${path?.replace(`s3://${Bucket}/`, "") ?? files}`,
  );
  const expected = [
    `missing ${gone}`,
    `damaged ${other}`,
    `orphan ${orphan}`,
    "foreign notes.txt",
    "summary 3",
  ];
  assert.deepEqual(told.sort(), expected.sort());
  for (const each of ["backup", "restore"]) {
    const refused = await command.run(each, `${command.env.HOME}/copy`);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /PARLEY_STORE is set/);
  }
});

// Prints each module of the SDK that is loaded.
const HOOKS = `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) {
  if (/node_modules\\/@(?:aws-sdk|smithy)\\//.test(url)) process.stderr.write("loaded " + url + "\\n");
  return next(url, context);
} });`;

test("the AWS SDK is loaded only with PARLEY_STORE", options, async (t) => {
  const NODE_OPTIONS = `--import=data:text/javascript;base64,${Buffer.from(HOOKS).toString("base64")}`;
  const embedded = await commandLine(t, { NODE_OPTIONS });
  const server = await embedded.serve();
  assert.equal((await fetch(`${embedded.url}/readyz`)).status, 200);
  assert.doesNotMatch(server.stderr(), /loaded/);
  const PARLEY_STORE = storeUrl(testBucket(t));
  const stored = await commandLine(t, { NODE_OPTIONS, PARLEY_STORE, ...credentials() });
  const other = await stored.serve();
  assert.equal((await fetch(`${stored.url}/readyz`)).status, 200);
  assert.match(other.stderr(), /loaded \S+@aws-sdk\/client-s3/);
});
