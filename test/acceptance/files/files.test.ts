import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { call, location, type Options, problem, type Reply, unknownLike } from "../client.ts";
import { needsSecond, second, target } from "../target.ts";
import { disposition, newAttachment, PNG } from "../upload.ts";

const PDF = Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n");

/** Requests a file without a token, like somebody who only has the link. */
function follow(file_url: string, method = "GET", headers: Record<string, string> = {}): Promise<Reply> {
  return call(method, file_url, { token: null, headers });
}

function unsigned(file_url: string): string {
  return file_url.replace(/\?.*/, "");
}

/** Changes the query of a link. */
function changed(file_url: string, change: (query: URLSearchParams) => void): string {
  const address = new URL(file_url);
  change(address.searchParams);
  return address.href;
}

/** Replaces one character, so that the signature keeps its form. */
function tampered(signature: string): string {
  return (signature[0] === "A" ? "B" : "A") + signature.slice(1);
}

test("file_url contains the id and the percent-encoded name of the file", async () => {
  const made = await newAttachment({ name: "a b#c?ü%.txt" });
  const { pathname, searchParams } = new URL(made.file_url);
  assert.ok(pathname.endsWith(`/files/${made.id}/a%20b%23c%3F%C3%BC%25.txt`), pathname);
  assert.ok(Number(searchParams.get("expires")) > Date.now() / 1000, "the link has no expiry in the future");
});

test("a link works without a token and returns the file with its type and length", async () => {
  const made = await newAttachment({ name: "pixel.png", type: "image/png", bytes: PNG });
  const got = await follow(made.file_url);
  assert.equal(got.status, 200);
  assert.deepEqual(got.bytes, PNG);
  assert.equal(got.headers.get("content-type"), "image/png");
  assert.equal(got.headers.get("content-length"), String(PNG.length));
});

test("a link stays the same for a while, so that caches work", async () => {
  const { file_url, id } = await newAttachment();
  const links = new Set([file_url]);
  for (let at = 0; at < 3; at++) {
    links.add(((await call("GET", `/v1/attachments/${id}`)).json as { file_url: string }).file_url);
  }
  assert.ok(links.size <= 2, "only the end of a window may change the link");
});

test("a member's bearer token works without a signature", async () => {
  const made = await newAttachment();
  const got = await call("GET", unsigned(made.file_url));
  assert.equal(got.status, 200);
  assert.equal(got.text, "some bytes\n");
});

test("another user's token is 404, as for a file that does not exist", { skip: needsSecond }, async () => {
  const made = await newAttachment();
  const foreign = problem(await call("GET", unsigned(made.file_url), { token: second() }), 404);
  const missing = unsigned(made.file_url).replace(made.id, unknownLike(made.id));
  const none = problem(await call("GET", missing, { token: second() }), 404);
  assert.deepEqual({ ...foreign, request_id: "" }, { ...none, request_id: "" });
});

test("without a token, a link with a missing, wrong or other signature is 403", async () => {
  const { file_url } = await newAttachment();
  const other = new URL((await newAttachment()).file_url).searchParams.get("signature") ?? "";
  const links = [
    unsigned(file_url),
    changed(file_url, (query) => query.delete("signature")),
    changed(file_url, (query) => query.delete("expires")),
    changed(file_url, (query) => query.set("signature", "")),
    changed(file_url, (query) => query.set("signature", "nonsense")),
    changed(file_url, (query) => query.set("signature", tampered(query.get("signature") ?? ""))),
    changed(file_url, (query) => query.set("signature", (query.get("signature") ?? "").slice(0, -2))),
    changed(file_url, (query) => query.set("signature", `${query.get("signature")}A`)),
    changed(file_url, (query) => query.set("signature", other)),
  ];
  for (const link of links) problem(await follow(link), 403);
});

test("a link with a changed expiry is 403, whether later or past", async () => {
  const { file_url } = await newAttachment();
  const expires = Number(new URL(file_url).searchParams.get("expires"));
  for (const value of [expires + 1, expires + 86_400, expires - 1, 1, 0, -1, "", "soon"]) {
    problem(await follow(changed(file_url, (query) => query.set("expires", String(value)))), 403);
  }
});

test("a wrong name redirects to the current one with 308, by link and by token", async () => {
  const { file_url, id } = await newAttachment({ name: "right name.txt" });
  const wrong = file_url.replace("right%20name.txt", "wrong%2Fname.exe");
  for (const [link, options] of [
    [wrong, { token: null }],
    [unsigned(wrong), {}],
  ] as [string, Options][]) {
    const reply = await call("GET", link, options);
    assert.equal(reply.status, 308);
    const to = new URL(location(reply), file_url);
    assert.ok(to.pathname.endsWith(`/files/${id}/right%20name.txt`), to.href);
    const got = await call("GET", to.href, options);
    assert.equal(got.text, "some bytes\n");
  }
});

test("HEAD has the headers of GET without a body, by link and by token", async () => {
  const made = await newAttachment({ name: "pixel.png", type: "image/png", bytes: PNG });
  for (const [link, options] of [
    [made.file_url, { token: null }],
    [unsigned(made.file_url), {}],
  ] as [string, Options][]) {
    const [head, got] = [await call("HEAD", link, options), await call("GET", link, options)];
    assert.equal(head.status, 200);
    assert.equal(head.bytes.length, 0);
    const lasting = ({ headers }: Reply) =>
      [...headers]
        .filter(([name]) => !/^(date|request-id|connection|keep-alive|ratelimit.*)$/.test(name))
        // The remaining lifetime of a link may differ between requests.
        .map(([name, value]) => [name, value.replace(/max-age=\d+/, "max-age")]);
    assert.deepEqual(lasting(head), lasting(got));
  }
});

test("a file of a few MiB is returned byte for byte, whole and in ranges", async () => {
  const bytes = randomBytes(5 * 1024 * 1024 + 7);
  const made = await newAttachment({ name: "large.bin", type: "application/octet-stream", bytes });
  assert.equal(made.file_size, bytes.length);
  const whole = await follow(made.file_url);
  assert.equal(whole.headers.get("content-length"), String(bytes.length));
  assert.ok(whole.bytes.equals(bytes));
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 2_000_000) {
    const reply = await follow(made.file_url, "GET", { range: `bytes=${at}-${at + 1_999_999}` });
    assert.equal(reply.status, 206);
    pieces.push(reply.bytes);
  }
  assert.ok(Buffer.concat(pieces).equals(bytes));
});

const DIGITS = "0123456789".repeat(10);

for (const [range, from, to] of [
  ["bytes=0-9", 0, 9],
  ["bytes=0-0", 0, 0],
  ["bytes=99-99", 99, 99],
  ["bytes=20-", 20, 99],
  ["bytes=-5", 95, 99],
  ["bytes=-1000", 0, 99],
  ["bytes=90-1000", 90, 99],
  ["bytes=0-", 0, 99],
] as const) {
  test(`Range: ${range} of 100 bytes is 206 with the bytes ${from} to ${to}`, async () => {
    const { file_url } = await newAttachment({ bytes: DIGITS });
    const reply = await follow(file_url, "GET", { range });
    assert.equal(reply.status, 206);
    assert.equal(reply.headers.get("content-range"), `bytes ${from}-${to}/100`);
    assert.equal(reply.headers.get("content-length"), String(to - from + 1));
    assert.equal(reply.text, DIGITS.slice(from, to + 1));
  });
}

for (const range of ["bytes=100-", "bytes=100-200", "bytes=1000-1001", "bytes=-0"]) {
  test(`Range: ${range} of 100 bytes is 416 with the length in Content-Range`, async () => {
    const { file_url } = await newAttachment({ bytes: DIGITS });
    const reply = await follow(file_url, "GET", { range });
    problem(reply, 416);
    assert.equal(reply.headers.get("content-range"), "bytes */100");
  });
}

test("a range of an empty file is 416", async () => {
  const { file_url } = await newAttachment({ bytes: "" });
  const reply = await follow(file_url, "GET", { range: "bytes=0-" });
  problem(reply, 416);
  assert.equal(reply.headers.get("content-range"), "bytes */0");
});

test("a Range of an unknown unit is ignored", async () => {
  const { file_url } = await newAttachment({ bytes: DIGITS });
  const reply = await follow(file_url, "GET", { range: "lines=0-1" });
  assert.equal(reply.status, 200);
  assert.equal(reply.text, DIGITS);
});

test("If-Range returns the range if the file is unchanged, else the whole file", async () => {
  const { file_url } = await newAttachment({ bytes: DIGITS });
  const etag = (await follow(file_url, "HEAD")).headers.get("etag") ?? "";
  const same = await follow(file_url, "GET", { range: "bytes=0-4", "if-range": etag });
  assert.equal(same.status, 206);
  assert.equal(same.text, "01234");
  for (const other of ['"another"', `W/${etag}`, "Thu, 01 Jan 2015 00:00:00 GMT"]) {
    const reply = await follow(file_url, "GET", { range: "bytes=0-4", "if-range": other });
    assert.equal(reply.status, 200, `If-Range: ${other}`);
    assert.equal(reply.text, DIGITS);
  }
});

test("the ETag is strong, and If-None-Match with it is 304 without a body", async () => {
  const { file_url } = await newAttachment();
  const etag = (await follow(file_url)).headers.get("etag") ?? "";
  assert.match(etag, /^"[^"]+"$/);
  for (const method of ["GET", "HEAD"]) {
    for (const match of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const reply = await follow(file_url, method, { "if-none-match": match });
      assert.equal(reply.status, 304, `If-None-Match: ${match}`);
      assert.equal(reply.bytes.length, 0);
      assert.equal(reply.headers.get("etag"), etag);
    }
  }
  const reply = await follow(file_url, "GET", { "if-none-match": '"other"' });
  assert.equal(reply.status, 200);
  assert.equal(reply.text, "some bytes\n");
});

test("If-None-Match does not reveal a file to a user without access", async () => {
  const { file_url } = await newAttachment();
  const etag = (await follow(file_url)).headers.get("etag") ?? "";
  problem(await follow(unsigned(file_url), "GET", { "if-none-match": etag }), 403);
});

test("files with different bytes have different ETags", async () => {
  const etags = new Set<string | null>();
  for (const bytes of ["one", "two"]) {
    etags.add((await follow((await newAttachment({ bytes })).file_url)).headers.get("etag"));
  }
  assert.equal(etags.size, 2);
});

for (const [name, type, bytes, expected] of [
  ["pixel.png", "image/png", PNG, "inline"],
  ["notes.txt", "text/plain", "words", "inline"],
  ["sound.unknown", "audio/mpeg", "not much of a sound", "inline"],
  ["film.unknown", "video/mp4", "not much of a film", "inline"],
  ["paper.pdf", "application/pdf", PDF, "inline"],
  ["page.html", "text/html", "<p>hello</p>", "attachment"],
  ["drawing.svg", "image/svg+xml", "<svg/>", "attachment"],
  ["table.csv", "text/csv", "a,b", "attachment"],
  ["data.json", "application/json", "{}", "attachment"],
  ["pack.gz", "application/gzip", gzipSync("x"), "attachment"],
  ["thing.bin", "application/octet-stream", "x", "attachment"],
] as const) {
  test(`${name} as ${type} is served as ${expected}, and always as attachment with ?download=1`, async () => {
    const made = await newAttachment({ name, type, bytes });
    assert.deepEqual(disposition(await follow(made.file_url)), { type: expected, filename: name });
    const forced = await follow(`${made.file_url}&download=1`);
    assert.equal(forced.status, 200);
    assert.deepEqual(disposition(forced), { type: "attachment", filename: name });
    assert.deepEqual(
      disposition(await call("GET", `${unsigned(made.file_url)}?download=1`)).type,
      "attachment",
    );
  });
}

test("every answer with file bytes has headers that stop browsers from running it and shared caches from storing it", async () => {
  const made = await newAttachment({ bytes: DIGITS });
  const replies = [
    await follow(made.file_url),
    await follow(made.file_url, "HEAD"),
    await follow(made.file_url, "GET", { range: "bytes=0-1" }),
    await call("GET", unsigned(made.file_url)),
  ];
  for (const { headers } of replies) {
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("content-security-policy"), "default-src 'none'; sandbox");
    assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
    assert.match(headers.get("cache-control") ?? "", /\bprivate\b/);
    assert.doesNotMatch(headers.get("cache-control") ?? "", /\bpublic\b/);
  }
});

for (const [name, type, bytes, policy] of [
  ["film.mp4", "video/mp4", "\0", "default-src 'none'; media-src 'self'; sandbox allow-same-origin"],
  ["sound.mp3", "audio/mpeg", "\0", "default-src 'none'; media-src 'self'; sandbox allow-same-origin"],
  ["pixel.png", "image/png", PNG, "default-src 'none'; style-src 'unsafe-inline'; sandbox"],
  ["page.html", "text/html", "<p>hello</p>", "default-src 'none'; sandbox"],
] as const) {
  test(`${name} is served with only the permissions that browsers need to show it`, async () => {
    const { file_url } = await newAttachment({ name, type, bytes });
    assert.equal((await follow(file_url)).headers.get("content-security-policy"), policy);
  });
}

test("a PDF has no sandbox, which viewers refuse, but all other headers", async () => {
  const { file_url } = await newAttachment({ name: "paper.pdf", type: "application/pdf", bytes: PDF });
  const { headers } = await follow(file_url);
  assert.equal(headers.get("content-security-policy"), "default-src 'none'");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

test("a file's URL accepts only GET and HEAD", async () => {
  const { file_url } = await newAttachment();
  for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
    const reply = await call(method, file_url);
    problem(reply, 405);
    const allowed = (reply.headers.get("allow") ?? "").split(/,\s*/);
    assert.ok(allowed.includes("GET") && allowed.includes("HEAD") && !allowed.includes(method));
  }
});

test("an invalid token opens no file, and a token in the query does not count", async () => {
  const link = unsigned((await newAttachment()).file_url);
  const bad = await call("GET", link, { token: "nonsense" });
  assert.ok([401, 404].includes(bad.status), `answered ${bad.status}`);
  problem(bad, bad.status);
  for (const name of ["token", "access_token"]) {
    const reply = await follow(`${link}?${name}=${target.token}`);
    assert.ok([400, 403].includes(reply.status), `answered ${reply.status}`);
    problem(reply, reply.status);
  }
});

test("If-Match with an ETag weakened by a proxy is 412 with an explanation", async () => {
  const { file_url } = await newAttachment();
  const etag = (await follow(file_url, "HEAD")).headers.get("etag") ?? "";
  const { detail } = problem(await follow(file_url, "GET", { "if-match": `W/${etag}` }), 412);
  assert.match(detail, /proxy that compresses/);
  const other = problem(await follow(file_url, "GET", { "if-match": '"other"' }), 412);
  assert.doesNotMatch(other.detail, /proxy/);
});
