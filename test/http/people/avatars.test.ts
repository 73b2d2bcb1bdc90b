// Pictures of users: which are accepted, who sets them, and how they are served.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";
import sharp from "sharp";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { sql } from "../../../src/db/sql.ts";
import { startPreviewSweep } from "../../../src/jobs/previews.ts";
import { previewFolder, startOn, testConfig } from "../../support/app.ts";
import { form, large, MINE, plain, put, type Shown, setAvatar } from "../../support/avatars.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { startProxy } from "../../support/engines/postgres-proxy.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { SECRETS } from "../../support/on-engines.ts";
import { code, done, read, send } from "../../support/people.ts";
import { blackPng, EOI, jpegFrame, jpegSegment, pngChunk, SOI } from "../../support/picture-bytes.ts";

test("the bytes decide the type, and everything but whole pictures within the limits is refused", async (t) => {
  const server = await startOn(t, {
    ...(await testConfig(t, {
      maxFileBytes: 0,
      filesPerDay: 1,
      userQuotaBytes: 1000,
      allowedTypes: ["text/plain"],
    })),
  });
  const ann = await server.user();
  const bytes = await large("#357");
  const formats = {
    jpeg: sharp(bytes).jpeg(),
    png: sharp(bytes).png(),
    webp: sharp(bytes).webp(),
    gif: sharp(bytes).gif(),
  };
  let kept = "";
  for (const [format, picture] of Object.entries(formats)) {
    kept = await setAvatar(server, ann, await picture.toBuffer());
    assert.equal((await fetch(kept)).headers.get("content-type"), `image/${format}`);
  }
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const others = {
    "a page": Buffer.from("<!doctype html><script>alert(1)</script>"),
    "a drawing": Buffer.from(svg),
    "another format": await sharp(bytes).avif({ effort: 0 }).toBuffer(),
    "half a picture": bytes.subarray(0, bytes.length / 2),
    nothing: Buffer.alloc(0),
    "a signature before a page": Buffer.from(`\xff\xd8${svg}`, "latin1"),
    "a container of nothing": Buffer.from("RIFF    WEBP", "latin1"),
    "a picture that looks like text": Buffer.concat([
      ...[SOI, jpegSegment(0xdb, "x".repeat(0x201e)), jpegFrame(1, 1)],
      ...[jpegSegment(0xda), EOI],
    ]),
  };
  for (const [what, other] of Object.entries(others))
    assert.equal(await code(put(server, ann, other), 415), "file_type_refused", what);
  assert.equal(await code(put(server, ann, blackPng(10_001, 10_000)), 413), "file_too_large");
  const most = 5 * 1024 * 1024;
  const exact = padded(await plain(9), most);
  await setAvatar(server, ann, exact);
  const current = await setAvatar(server, ann, await plain(10));
  const tooLarge = padded(await plain(9), most + 1);
  assert.equal(await code(put(server, ann, tooLarge), 413), "file_too_large");
  const { body, headers } = new Response(form(tooLarge));
  const streamed = {
    method: "PUT",
    headers: { ...ann.headers, "content-type": headers.get("content-type")! },
  };
  const answer = fetch(server.url + MINE, { ...streamed, body, duplex: "half" } as RequestInit);
  assert.equal(await code(answer, 413), "file_too_large");
  const twice = new FormData();
  for (const file of ["a", "b"]) twice.append("file", new File([Uint8Array.from(await plain(9))], file));
  const with2 = fetch(server.url + MINE, { method: "PUT", headers: ann.headers, body: twice });
  assert.equal(await code(with2, 400), "repeated_parameter");
  assert.equal(await code(send(server, ann, "PUT", MINE), 400), "missing_parameter");
  assert.equal(await code(send(server, ann, "PUT", MINE, { file: "x" }), 415), "unsupported_media_type");
  assert.equal((await fetch(current)).status, 200, "a refused picture replaces nothing");
  assert.equal(await code(fetch(kept), 404), "avatar_not_found");
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
});

/** Returns a PNG of this size, with bytes that stay when metadata is removed. */
function padded(picture: Buffer, bytes: number): Buffer {
  const end = pngChunk("IEND");
  const filler = bytes - picture.length - end.length;
  return Buffer.concat([picture.subarray(0, -end.length), pngChunk("IDAT", Buffer.alloc(filler)), end]);
}

test("an upload counts among those of its user, and a changed user is 412", async (t) => {
  const server = await startOn(t, await testConfig(t, { uploadsPerUser: 1 }));
  const ann = await server.user();
  server.app.core.runningUploads.set(ann.id, 1);
  assert.equal(await code(put(server, ann, await plain(9)), 429), "rate_limited");
  server.app.core.runningUploads.delete(ann.id);
  const first = await put(server, ann, await plain(9));
  const etag = first.headers.get("etag")!;
  assert.equal((await put(server, ann, await plain(9), MINE, { "if-match": etag })).status, 200);
  for (const method of ["PUT", "DELETE"]) {
    const headers = { ...ann.headers, "if-match": etag };
    const body = method === "PUT" ? form(await plain(9)) : null;
    const late = fetch(server.url + MINE, { method, headers, body });
    assert.equal(await code(late, 412), "precondition_failed");
  }
});

test("an admin sets and deletes the picture of a user, who is named in the audit trail", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const [ann, admin] = [await server.user(), await server.user({ scopes: SCOPES })];
  const path = `/v1/users/${ann.id}/avatar`;
  assert.equal(await code(put(server, ann, await plain(9), path), 403), "insufficient_scope");
  assert.equal(await code(send(server, ann, "DELETE", path), 403), "insufficient_scope");
  const url = await setAvatar(server, admin, await plain(9), path);
  assert.ok(url.includes(`/v1/avatars/${ann.id}/`));
  assert.equal((await read<Shown>(send(server, ann, "GET", "/v1/me"), 200)).avatar_url, url);
  await done(send(server, admin, "DELETE", path));
  await done(send(server, admin, "DELETE", path));
  const { db } = server.app.core;
  const entries = await db.all<{ actor_id: string; details: string }>(
    sql`SELECT actor_id, details FROM audit WHERE action = 'user.updated' AND object_id = ${ann.id}`,
  );
  const expected = { actor_id: admin.id, details: '{"fields":["avatar_url"]}' };
  assert.deepEqual(
    entries.map((entry) => ({ ...entry })),
    [expected, expected],
  );
  const user = await db.get<object>(
    sql`SELECT version, set_fields, avatar_id, avatar_url FROM users WHERE id = ${ann.id}`,
  );
  assert.deepEqual({ ...user }, { version: 3, set_fields: "avatar_url", avatar_id: null, avatar_url: null });
  const published = sql`SELECT 1 AS one FROM events WHERE type = 'user.updated' AND recipient_id = ${ann.id}`;
  assert.ok(await eventually(async () => (await db.all(published)).length > 0));
  for (const unknown of [NOBODY, "x"]) {
    const none = `/v1/users/${unknown}/avatar`;
    assert.equal(await code(put(server, admin, await plain(9), none), 404), "user_not_found");
    assert.equal(await code(send(server, admin, "DELETE", none), 404), "user_not_found");
  }
});

const NOBODY = "usr_00000000000000000000000000";

test("unknown, erased and replaced pictures have the same answer, by the same statements", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const config = { ...(await testConfig(t)), databaseUrl: proxy.url, secrets: SECRETS };
  const server = await startOn(t, config);
  const [ann, bob, eve] = [await server.user(), await server.user(), await server.user()];
  const admin = await server.user({ scopes: SCOPES });
  const replaced = await setAvatar(server, ann, await plain(9));
  const current = await setAvatar(server, ann, await plain(9));
  const erased = await setAvatar(server, eve, await plain(9));
  await done(send(server, admin, "DELETE", `/v1/users/${eve.id}`));
  const addresses = {
    replaced,
    erased,
    guessed: current.replace(/.{26}$/, "0".repeat(26)),
    "of another user": current.replace(ann.id, bob.id),
    "of nobody": current.replace(ann.id, NOBODY),
  };
  const answers = new Set<string>();
  for (const [what, url] of Object.entries(addresses)) {
    let least = Number.POSITIVE_INFINITY;
    // Other traffic on the connection only adds statements.
    for (let round = 0; round < 60 && least > 1; round++) {
      proxy.takeCounts();
      const answer = await fetch(url);
      answers.add(`${answer.status} ${(await answer.text()).replace(/req_\w+/, "")}`);
      least = Math.min(least, proxy.takeCounts().statements);
    }
    assert.equal(least, 1, what);
  }
  assert.equal(answers.size, 1);
  for (const malformed of [
    current.slice(0, -1),
    `${current}0`,
    current.replace("avt_", "att_"),
    current.replace("usr_", ""),
  ])
    assert.equal(await code(fetch(malformed), 404), "avatar_not_found");
});

test("previews are served like the picture, and leave the cache with it", async (t) => {
  const own = await testConfig(t);
  const folder = previewFolder(own);
  const server = await startOn(t, { ...own, previews: { folder, maxBytes: 1e8 } });
  const ann = await server.user();
  const url = await setAvatar(server, ann, await large("#357"));
  const answer = await fetch(`${url}?width=320`);
  assert.deepEqual(
    [answer.status, answer.headers.get("content-type"), answer.headers.get("cache-control")],
    [200, "image/webp", "public, max-age=31536000, immutable"],
  );
  const made = await sharp(Buffer.from(await answer.arrayBuffer())).metadata();
  assert.deepEqual([made.width, made.height], [320, 320]);
  assert.equal(await code(fetch(`${url}?width=7`), 400), "invalid_parameter");
  assert.equal(await code(fetch(`${url}?size=320`), 400), "unknown_parameter");
  const sweep = async () => {
    const job = startPreviewSweep(server.app.core, server.app.core.previews!, assert.ifError);
    await eventually(async () => (await readdir(folder)).length === 0);
    await job.stop();
  };
  assert.equal((await readdir(folder)).length, 1);
  await setAvatar(server, ann, await plain(9));
  assert.equal(await code(fetch(`${url}?width=320`), 404), "avatar_not_found");
  await sweep();
  assert.deepEqual(await readdir(folder), []);
});

test("without PARLEY_PREVIEWS there is no preview of a picture", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const url = await setAvatar(server, await server.user(), await plain(9));
  assert.equal(await code(fetch(`${url}?width=320`), 404), "preview_not_found");
});
