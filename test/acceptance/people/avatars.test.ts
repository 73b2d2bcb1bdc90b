// The caller's own picture: `PUT /v1/me/avatar`.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { call, type Options, problem } from "../client.ts";
import { target } from "../target.ts";
import { filePart, multipart, PNG } from "../upload.ts";

const PATH = "/v1/me/avatar";

const sent = (bytes: Buffer | string = PNG): Options => multipart([filePart("a.txt", bytes, "text/plain")]);

async function set(t: TestContext): Promise<string> {
  t.after(() => call("DELETE", PATH));
  const reply = await call("PUT", PATH, sent());
  assert.equal(reply.status, 200, reply.text);
  return (reply.json as { avatar_url: string }).avatar_url;
}

/** Requests a picture without a token, at the server under test, whose public address may differ. */
const get = (url: string, headers: Record<string, string> = {}) =>
  fetch(target.url + new URL(url).pathname, { headers });

test("a picture is shown to everybody at the address in avatar_url, until another replaces it", async (t) => {
  const first = await set(t);
  const shown = await get(first);
  assert.deepEqual(
    [shown.status, shown.headers.get("content-type"), Buffer.from(await shown.arrayBuffer())],
    [200, "image/png", PNG],
  );
  assert.equal(shown.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal((await get(first, { "if-none-match": shown.headers.get("etag")! })).status, 304);
  const me = (await call("GET", "/v1/me")).json as { avatar_url: string; conversation_id: string };
  assert.equal(me.avatar_url, first);
  const second = await set(t);
  assert.notEqual(second, first);
  assert.equal((await get(first)).status, 404);
  assert.equal((await get(second)).status, 200);
});

test("a deleted picture is 404, and a second delete is 204", async (t) => {
  const url = await set(t);
  for (let round = 0; round < 2; round++) assert.equal((await call("DELETE", PATH)).status, 204);
  assert.equal((await get(url)).status, 404);
  assert.equal(((await call("GET", "/v1/me")).json as { avatar_url: null }).avatar_url, null);
});

test("a file that is no picture is 415 and replaces nothing", async (t) => {
  const url = await set(t);
  for (const bytes of ["<svg xmlns='http://www.w3.org/2000/svg'/>", "<html>", PNG.subarray(0, 40), ""])
    problem(await call("PUT", PATH, sent(bytes)), 415, "file_type_refused");
  assert.equal((await get(url)).status, 200);
});
