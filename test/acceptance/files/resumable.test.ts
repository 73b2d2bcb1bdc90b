import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { attachment, call, faulty, fresh, location, newContact, problem, unknownLike } from "../client.ts";
import {
  assertBytes,
  createTus,
  DRAFTS,
  finished,
  metadata,
  newTus,
  type OpenRequest,
  offsetOf,
  openPatch,
  patchTus,
  TUS,
  TUS_TYPE,
} from "../resumables.ts";
import { needsSecond, second } from "../target.ts";
import { PNG } from "../upload.ts";

const BYTES = Buffer.from("The quick brown fox jumps over the lazy dog.");
/** More than two parts of an S3 store. */
const LARGE = randomBytes(20 * 1024 * 1024 + 77);

test("OPTIONS describes the server's features without a token", async () => {
  const reply = await call("OPTIONS", "/v1/uploads", { token: null });
  assert.equal(reply.status, 204);
  assert.equal(reply.headers.get("tus-version"), "1.0.0");
  assert.match(reply.headers.get("tus-extension")!, /creation,creation-with-upload/);
  assert.ok(reply.headers.get("tus-checksum-algorithm")!.split(",").includes("sha1"));
  assert.match(reply.headers.get("upload-limit")!, /max-age=\d+/);
});

test("a file in several parts becomes one attachment in the conversation of its metadata", async () => {
  const { conversation_id } = await newContact();
  const created = await createTus(BYTES.length, {
    filename: "fox.txt",
    filetype: "text/plain",
    conversation_id,
  });
  assert.equal(created.status, 201);
  assert.equal(created.headers.get("tus-resumable"), "1.0.0");
  assert.equal(created.headers.get("upload-offset"), "0");
  assert.ok(Date.parse(created.headers.get("upload-expires")!) > Date.now());
  const path = location(created);
  const first = await patchTus(path, 0, BYTES.subarray(0, 10));
  assert.equal(first.status, 204);
  assert.equal(first.headers.get("upload-offset"), "10");
  assert.ok(Date.parse(first.headers.get("upload-expires")!) > Date.now());
  assert.equal(await offsetOf(path), 10);
  const last = await patchTus(path, 10, BYTES.subarray(10));
  assert.equal(last.status, 204);
  const file = await finished(last);
  assert.deepEqual([file.filename, file.file_type], ["fox.txt", "text/plain"]);
  await assertBytes(file, BYTES);
  const list = await call("GET", `/v1/attachments?conversation_id=${conversation_id}`);
  assert.deepEqual(
    (list.json as { data: { id: string }[] }).data.map(({ id }) => id),
    [file.id],
  );
});

test("an upload is retrieved as JSON, before and after it is complete", async () => {
  const path = await newTus(4, { filename: "a.txt" });
  await patchTus(path, 0, "ab");
  const { created_at, expires_at, ...before } = (await call("GET", path)).json as Record<string, unknown>;
  assert.ok(Number(expires_at) > Number(created_at));
  const id = path.split("/").at(-1);
  assert.deepEqual(before, { id, filename: "a.txt", offset: 2, length: 4, attachment_id: null });
  const { id: attachmentId } = await finished(await patchTus(path, 2, "cd"));
  const after = (await call("GET", path)).json as Record<string, unknown>;
  assert.deepEqual([after.offset, after.attachment_id, after.filename], [4, attachmentId, null]);
});

test("HEAD returns length and metadata, and after a lost answer that the upload is complete", async () => {
  const fields = { filename: "naïve name.txt", filetype: "text/plain" };
  const path = await newTus(2, fields);
  const head = await call("HEAD", path, { headers: TUS });
  assert.equal(head.headers.get("upload-length"), "2");
  assert.equal(head.headers.get("upload-metadata"), metadata(fields));
  assert.equal(head.headers.get("cache-control"), "no-store");
  const { id } = await finished(await patchTus(path, 0, "ab"));
  const after = await call("HEAD", path, { headers: TUS });
  assert.equal(after.headers.get("upload-offset"), "2");
  assert.equal(after.headers.get("parley-attachment"), id);
});

test("creation may include bytes, even all of them", async () => {
  const headers = { "content-type": TUS_TYPE };
  const some = await createTus(BYTES.length, undefined, { headers, body: BYTES.subarray(0, 20) });
  assert.equal(some.status, 201, some.text);
  assert.equal(some.headers.get("upload-offset"), "20");
  await assertBytes(await finished(await patchTus(location(some), 20, BYTES.subarray(20))), BYTES);
  const all = await createTus(BYTES.length, undefined, { headers, body: BYTES });
  assert.equal(all.status, 201);
  await assertBytes(await finished(all), BYTES);
});

test("an empty file is complete on creation, with the attachment as later retrieved", async () => {
  const created = await createTus(0, { filename: "a.txt" }, { headers: { accept: "application/json" } });
  await assertBytes(await finished(created), Buffer.alloc(0));
  assert.deepEqual(created.json, (await call("GET", location(created))).json);
});

test("a deferred length may be set later, once", async () => {
  const path = await newTus("deferred");
  const head = await call("HEAD", path, { headers: TUS });
  assert.equal(head.headers.get("upload-defer-length"), "1");
  assert.equal(head.headers.get("upload-length"), null);
  await patchTus(path, 0, BYTES.subarray(0, 4));
  const length = { "upload-length": `${BYTES.length}` };
  assert.equal((await patchTus(path, 4, BYTES.subarray(4, 8), length)).status, 204);
  problem(await patchTus(path, 8, "x", { "upload-length": "12" }), 400, "upload_length_mismatch");
  assert.equal((await patchTus(path, 8, "", length)).status, 204, "the same once more");
  await assertBytes(await finished(await patchTus(path, 8, BYTES.subarray(8))), BYTES);
});

test("a deferred length may not be less than the received bytes", async () => {
  const path = await newTus("deferred");
  await patchTus(path, 0, "abcd");
  problem(await patchTus(path, 4, "", { "upload-length": "3" }), 400, "upload_length_mismatch");
  const file = await finished(await patchTus(path, 4, "", { "upload-length": "4" }));
  await assertBytes(file, Buffer.from("abcd"));
});

test("a large file in parts of odd sizes is stored byte for byte", async () => {
  const path = await newTus(LARGE.length, { filename: "large.bin" });
  const cuts = [0, 5, 9 * 1024 * 1024 + 1, 9 * 1024 * 1024 + 2, 17_000_000, LARGE.length];
  let last = await patchTus(path, 0, LARGE.subarray(0, cuts[1]));
  for (let at = 1; at < cuts.length - 1; at++) {
    assert.equal(await offsetOf(path), cuts[at]);
    last = await patchTus(path, cuts[at]!, LARGE.subarray(cuts[at], cuts[at + 1]));
    assert.equal(last.status, 204, last.text);
  }
  await assertBytes(await finished(last), LARGE);
});

test("a checksum is verified, and bytes with a wrong one are not stored", async () => {
  const path = await newTus(BYTES.length);
  const sum = (name: string, bytes: Buffer) => `${name} ${createHash(name).update(bytes).digest("base64")}`;
  const [one, two] = [BYTES.subarray(0, 16), BYTES.subarray(16)];
  problem(await patchTus(path, 0, one, { "upload-checksum": sum("sha1", two) }), 460, "checksum_mismatch");
  assert.equal(await offsetOf(path), 0);
  assert.equal((await patchTus(path, 0, one, { "upload-checksum": sum("sha1", one) })).status, 204);
  const digest = (bytes: Buffer) => ({
    "content-digest": `${sum("sha256", bytes).replace("sha256 ", "sha-256=:")}:`,
  });
  problem(await patchTus(path, 16, two, digest(one)), 400, "digest_mismatch");
  for (const odd of ["md4 AAAA", "sha1", "sha1 !", "sha1 AAAA"])
    faulty(await patchTus(path, 16, two, { "upload-checksum": odd }), "Upload-Checksum");
  await assertBytes(await finished(await patchTus(path, 16, two, digest(two))), BYTES);
});

test("a large part with a wrong checksum can be sent again", async () => {
  const path = await newTus(LARGE.length);
  const wrong = { "upload-checksum": `sha1 ${createHash("sha1").digest("base64")}` };
  assert.equal((await patchTus(path, 0, LARGE.subarray(0, 9_000_000))).status, 204);
  problem(await patchTus(path, 9_000_000, randomBytes(LARGE.length - 9_000_000), wrong), 460);
  assert.equal(await offsetOf(path), 9_000_000);
  await assertBytes(await finished(await patchTus(path, 9_000_000, LARGE.subarray(9_000_000))), LARGE);
});

test("a wrong offset is 409 with the right one, and adds nothing", async () => {
  const path = await newTus(10);
  await patchTus(path, 0, "abcd");
  for (const offset of [0, 3, 5, 10, 11]) {
    const reply = await patchTus(path, offset, "x");
    const body = problem(reply, 409, "upload_offset_mismatch") as unknown as Record<string, unknown>;
    assert.equal(reply.headers.get("upload-offset"), "4");
    assert.match(String(body.type), /#mismatching-upload-offset$/);
    assert.deepEqual([body["expected-offset"], body["provided-offset"]], [4, offset]);
  }
  for (const odd of ["5abc", "-1", "1.5", "", "00", "9007199254740993"])
    faulty(await patchTus(path, 0, "x", { "upload-offset": odd }), "Upload-Offset");
  assert.equal(await offsetOf(path), 4);
});

test("a complete upload accepts no more bytes", async () => {
  const path = await newTus(2);
  await finished(await patchTus(path, 0, "ab"));
  const body = problem(await patchTus(path, 2, "c"), 400, "upload_completed");
  assert.match(body.type, /#completed-upload$/);
});

test("bytes beyond the length are refused before they are sent, and without a Content-Length the upload is void", async () => {
  const path = await newTus(4);
  const body = problem(await patchTus(path, 0, "abcde"), 400, "upload_length_mismatch");
  assert.match(body.type, /#inconsistent-upload-length$/);
  assert.equal(await offsetOf(path), 0);
  const reply = await fetchChunked(path, ["abc", "de"]);
  assert.equal(reply, 400);
  assert.equal((await call("HEAD", path, { headers: TUS })).status, 404);
});

/** Sends a body in chunks, without Content-Length. */
async function fetchChunked(path: string, chunks: string[]): Promise<number> {
  const { request, answered } = openPatch(
    path,
    { ...TUS, "content-type": TUS_TYPE, "upload-offset": "0", "transfer-encoding": "chunked" },
    undefined,
    Buffer.from(chunks[0]!),
  );
  request.end(chunks[1]);
  const status = await answered;
  assert.notEqual(status, "closed");
  return status as number;
}

/** More than a server buffers before it stores. */
const MUCH = 9 * 1024 * 1024;

/**
 * Sends much of `LARGE` without ending the request, and waits until the server has stored some of it: `stored` bytes
 * in total.
 */
async function openLarge(path: string, offset = 0): Promise<OpenRequest & { stored: number }> {
  const headers = { ...TUS, "content-type": TUS_TYPE, "upload-offset": `${offset}` };
  const part = LARGE.subarray(offset, offset + MUCH);
  const opened = openPatch(path, headers, LARGE.length - offset, part);
  let stored = offset;
  // Retrieving it does not end the request.
  while (stored === offset) stored = ((await call("GET", path)).json as { offset: number }).offset;
  return { ...opened, stored };
}

test("another user's upload is 404, and its requests cannot be ended", { skip: needsSecond }, async () => {
  const path = await newTus(LARGE.length);
  const { request, answered } = await openLarge(path);
  const token = second();
  for (const method of ["GET", "HEAD", "DELETE"])
    assert.equal((await call(method, path, { token, headers: TUS })).status, 404, method);
  problem(await patchTus(path, 0, "cd", {}, token), 404, "upload_not_found");
  request.end(LARGE.subarray(MUCH));
  assert.equal(await answered, 204);
});

test("a deleted upload is 404", async () => {
  const path = await newTus(4);
  await patchTus(path, 0, "ab");
  assert.equal((await call("DELETE", path, { headers: TUS })).status, 204);
  for (const method of ["GET", "HEAD", "DELETE"])
    assert.equal((await call(method, path, { headers: TUS })).status, 404, method);
  problem(await patchTus(path, 2, "cd"), 404, "upload_not_found");
  problem(await call("GET", `/v1/uploads/${unknownLike(path.split("/").at(-1)!)}`), 404, "upload_not_found");
});

test("deleting an upload ends a running request for it", async () => {
  const path = await newTus(LARGE.length);
  const { answered } = await openLarge(path);
  assert.equal((await call("DELETE", path, { headers: TUS })).status, 204);
  assert.equal(await answered, "closed");
  assert.equal((await call("HEAD", path, { headers: TUS })).status, 404);
});

test("deleting a complete upload keeps its attachment", async () => {
  const path = await newTus(2);
  const file = await finished(await patchTus(path, 0, "ab"));
  assert.equal((await call("DELETE", path)).status, 204);
  await assertBytes(file, Buffer.from("ab"));
});

test("bytes before a lost connection are kept, and the rest completes the upload", async () => {
  const path = await newTus(LARGE.length, { filename: "cut.bin" });
  const { request, answered, stored } = await openLarge(path);
  request.destroy();
  await answered;
  const offset = await offsetOf(path);
  assert.ok(offset >= stored && offset <= MUCH, `${offset} bytes were kept`);
  await assertBytes(await finished(await patchTus(path, offset, LARGE.subarray(offset))), LARGE);
});

test("a newer request for an upload ends the older one and keeps its bytes", async () => {
  const path = await newTus(LARGE.length);
  const first = await openLarge(path);
  const offset = await offsetOf(path);
  assert.ok(offset >= first.stored && offset <= MUCH, `${offset} bytes were kept`);
  assert.equal(await first.answered, "closed");
  // Also by a part, not only by HEAD.
  const second = await openLarge(path, offset);
  problem(await patchTus(path, offset, "x"), 409, "upload_offset_mismatch");
  assert.equal(await second.answered, "closed");
  const last = await offsetOf(path);
  assert.ok(last >= second.stored && last <= offset + MUCH, `${last} bytes were kept`);
  await assertBytes(await finished(await patchTus(path, last, LARGE.subarray(last))), LARGE);
});

test("a newer request also keeps bytes that were not stored yet", async () => {
  // A busy server may not have read the bytes yet: send them again, and wait longer.
  for (let pause = 50; ; pause *= 2) {
    const path = await newTus(BYTES.length);
    const headers = { ...TUS, "content-type": TUS_TYPE, "upload-offset": "0" };
    const { answered } = openPatch(path, headers, BYTES.length, BYTES.subarray(0, 30));
    await sleep(pause);
    const offset = await offsetOf(path);
    assert.equal(await answered, "closed");
    if (offset === 0 && pause < 10_000) continue;
    assert.equal(offset, 30);
    await assertBytes(await finished(await patchTus(path, 30, BYTES.subarray(30))), BYTES);
    return;
  }
});

test("of two parts at once only one adds bytes", async () => {
  const path = await newTus(8);
  const [a, b] = await Promise.allSettled([patchTus(path, 0, "aaaa"), patchTus(path, 0, "bbbb")]);
  const statuses = [a, b].map((each) => (each.status === "fulfilled" ? each.value.status : "closed"));
  // The second request ends the first, whose bytes may have arrived already.
  assert.ok(statuses.filter((status) => status === 204).length < 2, statuses.join());
  assert.equal(await offsetOf(path), 4);
  const file = await finished(await patchTus(path, 4, "cccc"));
  const got = (await call("GET", file.file_url, { token: null })).text;
  assert.match(got, /^(aaaa|bbbb)cccc$/);
});

test("the type is detected from the bytes, and is never one that browsers run", async () => {
  const png = await finished(await patchTus(await newTus(PNG.length, { filename: "x.txt" }), 0, PNG));
  assert.equal(png.file_type, "image/png");
  const html = "<html><script>alert(1)</script></html>";
  const page = await newTus(html.length, { filename: "x.html", filetype: "text/html" });
  assert.equal((await finished(await patchTus(page, 0, html))).file_type, "application/octet-stream");
  // Browsers do not know the type of every file.
  const untyped = await newTus(2, { filename: "x.txt", filetype: "" });
  assert.equal((await finished(await patchTus(untyped, 0, "ab"))).file_type, "text/plain");
});

test("a creation with an Idempotency-Key takes effect once", async () => {
  const headers = { "idempotency-key": fresh("key") };
  const first = await createTus(4, { filename: "a.txt" }, { headers });
  await patchTus(location(first), 0, "ab");
  const again = await createTus(4, { filename: "a.txt" }, { headers });
  assert.equal(again.status, 201);
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(again.headers.get("location"), first.headers.get("location"));
  assert.equal(again.headers.get("upload-offset"), "2");
  problem(await createTus(4, { filename: "b.txt" }, { headers }), 422, "idempotency_key_reused");
});

for (const { version, part } of DRAFTS) {
  test(`a client of the draft, interop version ${version}, uploads in parts and gets the attachment`, async () => {
    const query = "?filename=fox.txt";
    const { "content-type": _, ...creating } = part(false);
    const created = await call("POST", `/v1/uploads${query}`, { headers: creating });
    assert.equal(created.status, 201, created.text);
    assert.equal(created.headers.get("upload-draft-interop-version"), `${version}`);
    const path = location(created);
    const first = await call("PATCH", path, {
      headers: { ...part(false), "upload-offset": "0" },
      body: BYTES.subarray(0, 10),
    });
    assert.equal(first.status, version >= 6 ? 204 : 201, first.text);
    const head = await call("HEAD", path, { headers: { "upload-draft-interop-version": `${version}` } });
    assert.equal(head.status, 204);
    assert.equal(head.headers.get("content-length"), null);
    assert.equal(head.headers.get("upload-offset"), "10");
    const [name, value] = version === 3 ? ["upload-incomplete", "?1"] : ["upload-complete", "?0"];
    assert.equal(head.headers.get(name), value);
    problem(
      await call("PATCH", path, { headers: { ...part(true), "upload-offset": "9" }, body: "x" }),
      409,
      "upload_offset_mismatch",
    );
    const last = await call("PATCH", path, {
      headers: { ...part(true), "upload-offset": "10" },
      body: BYTES.subarray(10),
    });
    assert.equal(last.headers.get(name), value === "?1" ? "?0" : "?1");
    await assertBytes(attachment(last), BYTES);
  });
}

test("a client of the draft may send everything in one request, and the last part may be empty", async () => {
  const one = await call("POST", "/v1/uploads?filename=fox.txt", {
    headers: { "upload-complete": "?1", "content-type": "text/plain" },
    body: BYTES,
  });
  const file = attachment(one);
  assert.equal(file.file_type, "text/plain");
  await assertBytes(file, BYTES);
  const created = await call("POST", "/v1/uploads?filename=fox.txt", {
    headers: { "upload-complete": "?0", "content-type": "text/plain" },
    body: BYTES,
  });
  assert.equal(created.headers.get("upload-complete"), "?0");
  const empty = await call("PATCH", location(created), {
    headers: {
      "upload-complete": "?1",
      "upload-offset": `${BYTES.length}`,
      "content-type": "application/partial-upload",
    },
  });
  await assertBytes(attachment(empty), BYTES);
});
