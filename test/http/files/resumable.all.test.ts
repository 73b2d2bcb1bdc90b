// Resumable uploads: another project's client, restarts, several nodes, and limits.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { Upload } from "tus-js-client";
import type { Limits } from "../../../src/config/limits.ts";
import { startApp, startOn, type TestApp, type TestUser, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { contentOf, noS3, testBucket } from "../../support/engines/s3.ts";
import { honest } from "../../support/engines/scanner.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { create, newUpload, patch, tus } from "../../support/tus.ts";
import { clean, infected, LARGE as LARGE_FOR_SCAN, SIZES, site } from "./scan-site.ts";

const LARGE = randomBytes(20 * 1024 * 1024 + 5);
const HOUR_MS = 3600 * 1000;

async function assertFile(server: TestApp, user: TestUser, answer: Response, bytes: Buffer): Promise<void> {
  assert.ok(answer.status < 300, await answer.clone().text());
  const id = answer.headers.get("parley-attachment");
  const attachment = await fetch(`${server.url}/v1/attachments/${id}`, { headers: user.headers });
  const { file_url } = (await attachment.json()) as { file_url: string };
  const url = new URL(file_url);
  const file = await fetch(server.url + url.pathname + url.search);
  assert.ok(Buffer.from(await file.arrayBuffer()).equals(bytes), "the file has other bytes");
  const sha256 = createHash("sha256").update(bytes).digest("base64");
  assert.equal(file.headers.get("repr-digest"), `sha-256=:${sha256}:`);
}

const countFiles = async (server: TestApp) => (await storedFiles(server.config)).length;

test("tus-js-client resumes an aborted upload", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const options = {
    endpoint: `${server.url}/v1/uploads`,
    headers: user.headers,
    metadata: { filename: "large.bin", filetype: "application/octet-stream" },
    chunkSize: 5 * 1024 * 1024,
  };
  const { promise: aborted, resolve } = Promise.withResolvers<string>();
  const first = new Upload(LARGE, {
    ...options,
    onProgress: (sent) => {
      if (sent > 11_000_000) void first.abort().then(() => resolve(first.url!));
    },
  });
  first.start();
  const uploadUrl = await aborted;
  const sentFrom: number[] = [];
  const id = await new Promise<string>((resolve, reject) => {
    const second = new Upload(LARGE, {
      ...options,
      uploadUrl,
      onProgress: (sent) => sentFrom.push(sent),
      onSuccess: ({ lastResponse }) => resolve(lastResponse.getHeader("Parley-Attachment")!),
      onError: reject,
    });
    second.start();
  });
  assert.ok(sentFrom[0]! >= 10 * 1024 * 1024, `it continued from ${sentFrom[0]}`);
  await assertFile(server, user, new Response(null, { headers: { "parley-attachment": id } }), LARGE);
});

for (const [when, length] of [
  ["after its creation with a length", LARGE.length],
  ["after its creation without one", "deferred"],
] as const) {
  test(`a resumable upload continues after a restart, ${when}`, async (t) => {
    const config = await testConfig(t);
    const before = await startOn(t, config);
    const user = await before.user();
    const path = await newUpload(before, user, length);
    assert.equal((await patch(before, user, path, 0, LARGE.subarray(0, 9_000_001))).status, 204);
    await before.app.stop();
    const after = await startOn(t, config);
    const head = await tus(after, user, "HEAD", path);
    assert.equal(head.headers.get("upload-offset"), "9000001");
    const rest = LARGE.subarray(9_000_001);
    const last = await patch(after, user, path, 9_000_001, rest, { "upload-length": `${LARGE.length}` });
    await assertFile(after, user, last, LARGE);
  });
}

/** Starts two nodes of one service, with PostgreSQL and an S3 store. */
async function startTwoNodes(t: TestContext): Promise<[TestApp, TestApp]> {
  const shared = { databaseUrl: await testDatabase(t), store: testBucket(t), secrets: ["s".repeat(32)] };
  const start = async () => startOn(t, { ...(await testConfig(t)), ...shared });
  return [await start(), await start()];
}

test("parts of a resumable upload may reach different nodes", { skip: noS3 }, async (t) => {
  const [a, b] = await startTwoNodes(t);
  const user = await a.user();
  const path = await newUpload(a, user, LARGE.length);
  const cuts = [0, 1, 9_000_000, 9_000_001, 18_000_000, LARGE.length];
  let last = await patch(a, user, path, 0, LARGE.subarray(0, 1));
  for (let at = 1; at < cuts.length - 1; at++) {
    const node = at % 2 === 0 ? a : b;
    const head = await tus(node, user, "HEAD", path);
    assert.equal(head.headers.get("upload-offset"), `${cuts[at]}`);
    last = await patch(at % 3 === 0 ? a : b, user, path, cuts[at]!, LARGE.subarray(cuts[at], cuts[at + 1]));
    assert.equal(last.status, 204, await last.clone().text());
  }
  await assertFile(b, user, last, LARGE);
});

test("a node that lost a resumable upload to another cannot write to it", { skip: noS3 }, async (t) => {
  const [a, b] = await startTwoNodes(t);
  const user = await a.user();
  const path = await newUpload(a, user, LARGE.length);
  const late = request(a.url + path, {
    method: "PATCH",
    headers: {
      ...{ ...user.headers, "tus-resumable": "1.0.0", "content-type": "application/offset+octet-stream" },
      ...{ "upload-offset": 0, "content-length": LARGE.length },
    },
  });
  const answered = once(late, "response") as Promise<[IncomingMessage]>;
  late.write(Buffer.alloc(1000));
  assert.ok(await eventually(async () => a.app.core.runningUploads.has(user.id)));
  assert.equal((await tus(b, user, "HEAD", path)).headers.get("upload-offset"), "0");
  assert.equal((await patch(b, user, path, 0, LARGE.subarray(0, 9_000_000))).status, 204);
  late.end(Buffer.alloc(LARGE.length - 1000));
  assert.equal((await answered)[0].statusCode, 404);
  await assertFile(b, user, await patch(b, user, path, 9_000_000, LARGE.subarray(9_000_000)), LARGE);
});

test("a resumable upload expires, and the sweep erases its bytes", async (t) => {
  const config = await testConfig(t, { uploadHours: 2 });
  let now = Date.now();
  const clock = () => now;
  const before = await startOn(t, config, { clock });
  const user = await before.user();
  const path = await newUpload(before, user, 100);
  const complete = await newUpload(before, user, 2);
  const file = await patch(before, user, complete, 0, Buffer.from("ab"));
  assert.equal((await patch(before, user, path, 0, Buffer.from("cd"))).status, 204);
  assert.equal(await countFiles(before), 2);
  now += 2 * HOUR_MS - 1000;
  // Each part postpones the expiry.
  assert.equal((await patch(before, user, path, 2, Buffer.from("ef"))).status, 204);
  now += HOUR_MS;
  assert.equal((await tus(before, user, "HEAD", path)).status, 200);
  now += HOUR_MS + 1000;
  for (const method of ["GET", "HEAD", "DELETE"])
    assert.equal((await tus(before, user, method, path)).status, 404, method);
  assert.equal((await patch(before, user, path, 4, Buffer.from("gh"))).status, 404);
  await before.app.stop();
  const after = await startOn(t, config, { clock });
  assert.ok(await eventually(async () => (await countFiles(after)) === 1));
  await assertFile(after, user, file, Buffer.from("ab"));
});

test("a resumable upload that ends empty erases the bytes of a refused body", { skip: noS3 }, async (t) => {
  const store = testBucket(t);
  const inBucket = async () => {
    const { objects, uploads } = await contentOf(store);
    return objects.length + uploads.length;
  };
  const onS3 = await startOn(t, { ...(await testConfig(t)), store });
  const onDisk = await startApp(t);
  for (const [server, count] of [
    [onS3, inBucket],
    [onDisk, () => countFiles(onDisk)],
  ] as const) {
    const user = await server.user();
    const path = await newUpload(server, user, "deferred");
    const checksum = { "upload-checksum": `sha1 ${createHash("sha1").digest("base64")}` };
    assert.equal((await patch(server, user, path, 0, LARGE, checksum)).status, 460);
    assert.ok((await count()) > 0);
    const ended = await patch(server, user, path, 0, Buffer.alloc(0), { "upload-length": "0" });
    assert.equal(ended.status, 204, await ended.text());
    assert.ok(await eventually(async () => (await count()) === 0));
  }
});

test("a resumable upload reserves its length from the start", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 1000 });
  const user = await server.user();
  const path = await newUpload(server, user, 600);
  const refused = await create(server, user, 500);
  assert.equal(refused.status, 507);
  assert.equal(((await refused.json()) as { code: string }).code, "quota_exceeded");
  assert.equal((await tus(server, user, "DELETE", path)).status, 204);
  const other = await newUpload(server, user, 1000);
  await assertFile(
    server,
    user,
    await patch(server, user, other, 0, LARGE.subarray(0, 1000)),
    LARGE.subarray(0, 1000),
  );
  assert.equal((await create(server, user, 1)).status, 507);
});

test("a resumable upload of unknown length ends at the quota or file limit, and leaves nothing", async (t) => {
  for (const limits of [{ userQuotaBytes: 1000 }, { maxFileBytes: 1000 }] satisfies Partial<Limits>[]) {
    const server = await startApp(t, limits);
    const user = await server.user();
    const path = await newUpload(server, user, "deferred");
    assert.equal((await patch(server, user, path, 0, LARGE.subarray(0, 900))).status, 204);
    const status = "maxFileBytes" in limits ? 413 : 507;
    // A part whose declared length exceeds the limit is refused before its body is read.
    assert.equal((await patch(server, user, path, 900, LARGE.subarray(900, 1001))).status, status);
    assert.equal((await tus(server, user, "HEAD", path)).headers.get("upload-offset"), "900");
    assert.equal((await patchUnknown(server, user, path, 900, LARGE.subarray(900, 1001))).status, status);
    assert.equal((await tus(server, user, "HEAD", path)).status, 404);
    assert.ok(await eventually(async () => (await countFiles(server)) === 0));
  }
});

/** Sends a part without Content-Length. */
function patchUnknown(
  server: TestApp,
  user: TestUser,
  path: string,
  offset: number,
  bytes: Uint8Array,
): Promise<Response> {
  return fetch(server.url + path, {
    method: "PATCH",
    headers: {
      ...user.headers,
      "tus-resumable": "1.0.0",
      "content-type": "application/offset+octet-stream",
      "upload-offset": String(offset),
    },
    body: new Blob([new Uint8Array(bytes)]).stream(),
    duplex: "half",
  });
}

test("resumable uploads of unknown length share the quota", async (t) => {
  const server = await startApp(t, { userQuotaBytes: 1_000_000, minAppendBytes: 1000 });
  const user = await server.user();
  const paths = await Promise.all(Array.from({ length: 5 }, () => newUpload(server, user, "deferred")));
  const bytes = Buffer.alloc(600_000);
  const given = [];
  for (const path of paths) given.push((await patchUnknown(server, user, path, 0, bytes)).status);
  assert.deepEqual(given, [204, 507, 507, 507, 507]);
  assert.equal((await patchUnknown(server, user, paths[0]!, 600_000, bytes.subarray(0, 999))).status, 400);
  assert.equal((await tus(server, user, "HEAD", paths[0]!)).headers.get("upload-offset"), "600000");
});

test("a restart keeps the reservations of resumable uploads", async (t) => {
  const config = await testConfig(t, { userQuotaBytes: 1000 });
  const before = await startOn(t, config);
  const user = await before.user();
  const path = await newUpload(before, user, 600);
  await before.app.stop();
  const after = await startOn(t, config);
  assert.equal((await create(after, user, 500)).status, 507);
  assert.equal((await patch(after, user, path, 0, LARGE.subarray(0, 600))).status, 204);
});

test("limits of resumable uploads: number per user, file size, minimum part size", async (t) => {
  const server = await startApp(t, { maxUploads: 2, maxFileBytes: 5000, minAppendBytes: 1000 });
  const user = await server.user();
  const path = await newUpload(server, user, 2500);
  await newUpload(server, user, 1);
  const third = await create(server, user, 1);
  assert.equal(third.status, 409);
  assert.equal(((await third.json()) as { code: string }).code, "count_limit_reached");
  assert.match(third.headers.get("content-type")!, /problem/);
  assert.equal((await patch(server, user, path, 0, LARGE.subarray(0, 999))).status, 400);
  const first = await patch(server, user, path, 0, LARGE.subarray(0, 2000));
  assert.equal(first.headers.get("upload-limit"), "max-size=5000, min-append-size=1000, max-age=86400");
  await assertFile(
    server,
    user,
    await patch(server, user, path, 2000, LARGE.subarray(2000, 2500)),
    LARGE.subarray(0, 2500),
  );
  assert.equal((await create(server, user, 5001)).status, 413);
  assert.equal((await create(server, user, 5000)).status, 201);
  const told = await fetch(`${server.url}/v1/uploads`, { method: "OPTIONS" });
  assert.equal(told.headers.get("tus-max-size"), "5000");
});

test("a complete resumable upload is scanned, and an infected one is deleted", async (t) => {
  const { server, scanner, ann } = await site(t, { timeoutMs: 3000 });
  for (const size of SIZES) {
    const path = await newUpload(server, ann, size);
    assert.equal((await patch(server, ann, path, 0, infected(size).subarray(0, 10))).status, 204);
    const refused = await patch(server, ann, path, 10, infected(size).subarray(10));
    assert.equal(refused.status, 422);
    assert.equal(((await refused.json()) as { code: string }).code, "file_infected");
    assert.equal((await tus(server, ann, "HEAD", path)).status, 404);
  }
  assert.ok(await eventually(async () => (await countFiles(server)) === 0));
  const path = await newUpload(server, ann, LARGE_FOR_SCAN);
  scanner.behaviour = () => {};
  const bytes = clean(LARGE_FOR_SCAN);
  assert.equal((await patch(server, ann, path, 0, bytes)).status, 503);
  scanner.behaviour = honest;
  // All bytes have arrived, so a HEAD completes the upload.
  await assertFile(server, ann, await tus(server, ann, "HEAD", path), bytes);
});

test("a resumable upload of a refused type is deleted, one beyond the daily limit stays", async (t) => {
  const server = await startApp(t, { refusedTypes: ["text/*"], filesPerDay: 1 });
  const user = await server.user();
  const text = new URL((await create(server, user, 4, "a.txt")).headers.get("location")!).pathname;
  const refused = await patch(server, user, text, 0, Buffer.from("text"));
  assert.equal(((await refused.json()) as { code: string }).code, "file_type_refused");
  assert.equal((await tus(server, user, "HEAD", text)).status, 404);
  const [one, two] = [await newUpload(server, user, 4), await newUpload(server, user, 4)];
  assert.equal((await patch(server, user, one, 0, Buffer.from("1234"))).status, 204);
  assert.equal((await patch(server, user, two, 0, Buffer.from("1234"))).status, 429);
  assert.equal((await tus(server, user, "GET", two)).status, 200);
  assert.equal((await create(server, user, 4)).status, 429);
});

/** Creates an upload of the IETF draft over a socket, and returns all that the server sends. */
function rawCreation(server: TestApp, user: TestUser, version: string): Promise<string> {
  const { port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write(
        `POST /v1/uploads?filename=a HTTP/1.1\r\nHost: x\r\nAuthorization: ${user.headers.authorization}\r\n` +
          `Connection: close\r\nUpload-Complete: ?1\r\n${version}Content-Length: 4\r\n\r\nfour`,
      ),
    );
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("close", () => resolve(text)).on("error", reject);
  });
}

test("a 104 response has the address of the upload only for clients that ask for it", async (t) => {
  const named = "Upload-Draft-Interop-Version: 6\r\n";
  const on = await startApp(t, { informsOfUploads: true });
  const user = await on.user();
  const told = await rawCreation(on, user, named);
  assert.match(told, /^HTTP\/1\.1 104 [^\r]*\r\n/);
  assert.match(told, /^Location: \S+\/v1\/uploads\/upl_\w+\r\nUpload-Draft-Interop-Version: 6\r\n/m);
  assert.match(told, /\r\n\r\nHTTP\/1\.1 200 /);
  assert.match(await rawCreation(on, user, ""), /^HTTP\/1\.1 200 /);
  const off = await startApp(t);
  assert.match(await rawCreation(off, await off.user(), named), /^HTTP\/1\.1 200 /);
});

test("a resumable upload whose first bytes are invalid has no address", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const answer = await fetch(`${server.url}/v1/uploads?filename=a`, {
    method: "POST",
    headers: {
      ...user.headers,
      "tus-resumable": "1.0.0",
      "upload-length": "3",
      "content-type": "application/offset+octet-stream",
    },
    // Its length is not known in advance.
    body: new Blob(["more than three"]).stream(),
    duplex: "half",
  });
  assert.equal(((await answer.json()) as { code: string }).code, "upload_length_mismatch");
  assert.equal(answer.headers.get("location"), null);
  const list = await fetch(`${server.url}/v1/uploads`, { headers: user.headers });
  assert.deepEqual(((await list.json()) as { data: unknown[] }).data, []);
});
