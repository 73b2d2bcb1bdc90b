import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";

async function call(
  server: TestApp,
  user: TestUser,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  fields?: Record<string, string>,
): Promise<Response> {
  const body = fields ? { body: new URLSearchParams(fields) } : {};
  return fetch(new URL(path, server.url), { method, headers: { ...user.headers, ...headers }, ...body });
}

async function newContact(server: TestApp, user: TestUser): Promise<{ path: string; etag: string }> {
  const made = await call(server, user, "POST", "/v1/contacts", {}, { username: "ada", phone_number: "555" });
  return { path: made.headers.get("location")!, etag: made.headers.get("etag")! };
}

test("a resource has a strong ETag that changes with it; If-None-Match of it is 304 without a body", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { path, etag } = await newContact(server, user);
  assert.match(etag, /^"[^"]+"$/);
  for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, "*"]) {
    const same = await call(server, user, "GET", path, { "if-none-match": tags });
    assert.equal(same.status, 304, tags);
    assert.equal(await same.text(), "");
    assert.equal(same.headers.get("etag"), etag);
  }
  assert.equal((await call(server, user, "HEAD", path, { "if-none-match": etag })).status, 304);
  assert.equal((await call(server, user, "GET", path, { "if-none-match": '"x"' })).status, 200);
  const changed = await call(server, user, "PUT", path, {}, { display_name: "x" });
  assert.notEqual(changed.headers.get("etag"), etag);
  assert.equal((await call(server, user, "GET", path, { "if-none-match": etag })).status, 200);
});

test("If-Match lets a write through for the current version alone, else 412 and nothing changes", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { path, etag } = await newContact(server, user);
  for (const tags of ['"9"', `W/${etag}`, "9", '""', ""]) {
    const refused = await call(server, user, "PUT", path, { "if-match": tags }, { display_name: "no" });
    assert.equal(refused.status, 412, tags);
    const { code, detail } = (await refused.json()) as { code: string; detail: string };
    assert.equal(code, "precondition_failed");
    // No tag that Parley sends: something on the way has changed it.
    assert.equal(/proxy that compresses/.test(detail), tags !== '"9"', tags);
    assert.equal((await call(server, user, "DELETE", path, { "if-match": tags })).status, 412, tags);
  }
  const first = await call(
    server,
    user,
    "PUT",
    path,
    { "if-match": `"9", ${etag}` },
    { display_name: "one" },
  );
  assert.equal(first.status, 200);
  assert.equal(
    (await call(server, user, "PUT", path, { "if-match": etag }, { display_name: "two" })).status,
    412,
  );
  assert.equal(
    (await call(server, user, "PUT", path, { "if-match": "*" }, { display_name: "three" })).status,
    200,
  );
  assert.equal((await call(server, user, "DELETE", path, { "if-match": etag })).status, 412);
  assert.equal((await call(server, user, "DELETE", path, { "if-match": "*" })).status, 204);
  assert.equal(
    (await call(server, user, "PUT", path, { "if-match": "*" }, { display_name: "four" })).status,
    404,
  );
});

test("If-Match of another version is 412 on a read, and If-None-Match is refused on a write", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { path, etag } = await newContact(server, user);
  assert.equal((await call(server, user, "GET", path, { "if-match": '"9"' })).status, 412);
  assert.equal((await call(server, user, "GET", path, { "if-match": etag })).status, 200);
  const guarded = await call(server, user, "PUT", path, { "if-none-match": "*" }, { display_name: "no" });
  assert.equal(guarded.status, 412);
  assert.equal((await call(server, user, "GET", path)).headers.get("etag"), etag);
});

test("a body of fields whose Content-Digest differs is refused, too", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const fields = { username: "ada", phone_number: "555" };
  const wrong = await call(
    server,
    user,
    "POST",
    "/v1/contacts",
    { "content-digest": sha256("other") },
    fields,
  );
  assert.equal(wrong.status, 400);
  const right = sha256(new URLSearchParams(fields).toString());
  assert.equal(
    (await call(server, user, "POST", "/v1/contacts", { "content-digest": right }, fields)).status,
    201,
  );
});

test("of two writers that saw the same version one wins", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { path, etag } = await newContact(server, user);
  const writes = Array.from({ length: 8 }, (_, i) =>
    call(server, user, "PUT", path, { "if-match": etag }, { display_name: `${i}` }),
  );
  const statuses = (await Promise.all(writes)).map((response) => response.status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
});

test("an attachment's ETag changes with the window of its link, and If-Match does not mind", async (t) => {
  let now = Date.UTC(2026, 0, 1, 12, 30);
  const server = await startApp(t, {}, { clock: () => now });
  const user = await server.user();
  const made = await upload(server.url, user, new File(["x"], "a.txt"));
  const [path, etag] = [made.headers.get("location")!, made.headers.get("etag")!];
  assert.equal((await call(server, user, "GET", path, { "if-none-match": etag })).status, 304);
  now += 3_600_000;
  const later = await call(server, user, "GET", path, { "if-none-match": etag });
  assert.equal(later.status, 200);
  assert.notEqual(later.headers.get("etag"), etag);
  const renamed = await call(server, user, "PUT", path, { "if-match": etag }, { filename: "b.txt" });
  assert.equal(renamed.status, 200);
  assert.equal((await call(server, user, "DELETE", path, { "if-match": etag })).status, 412);
  assert.equal(
    (await call(server, user, "DELETE", path, { "if-match": renamed.headers.get("etag")! })).status,
    204,
  );
});

const sha256 = (bytes: string | Buffer) => `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;

test("a download tells the digest of the whole file, also of a range", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const { file_url } = (await (await upload(server.url, user, new File(["hello"], "a.txt"))).json()) as {
    file_url: string;
  };
  assert.equal((await fetch(file_url)).headers.get("repr-digest"), sha256("hello"));
  const part = await fetch(file_url, { headers: { range: "bytes=1-2" } });
  assert.equal(part.headers.get("repr-digest"), sha256("hello"));
});

test("an upload whose Content-Digest differs is 400, and nothing of it is kept", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const send = async (outer: string | undefined, inner: string | undefined) => {
    const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n${inner ? `Content-Digest: ${inner}\r\n` : ""}`;
    const body = `${head}\r\nhello\r\n--b--\r\n`;
    const digest = outer === "right" ? sha256(body) : outer;
    const type = {
      "content-type": "multipart/form-data; boundary=b",
      ...(digest ? { "content-digest": digest } : {}),
    };
    return fetch(`${server.url}/v1/attachments`, {
      method: "POST",
      headers: { ...user.headers, ...type },
      body,
    });
  };
  const wrong = sha256("other");
  const cases: [string | undefined, string | undefined, number, string?][] = [
    ["right", undefined, 201],
    [undefined, sha256("hello"), 201],
    ["right", `sha-512=:AAAA:, ${sha256("hello")}`, 201],
    [wrong, undefined, 400, "digest_mismatch"],
    [undefined, wrong, 400, "digest_mismatch"],
    ["right", wrong, 400, "digest_mismatch"],
    ["sha-512=:AAAA:", undefined, 400, "invalid_parameter"],
    [undefined, "sha-256=nonsense", 400, "invalid_parameter"],
  ];
  for (const [outer, inner, status, code] of cases) {
    const response = await send(outer, inner);
    assert.equal(response.status, status, `${outer} ${inner}`);
    if (code) assert.equal(((await response.json()) as { code: string }).code, code);
  }
  const list = (await (await call(server, user, "GET", "/v1/attachments")).json()) as { data: unknown[] };
  assert.equal(list.data.length, 3);
});
