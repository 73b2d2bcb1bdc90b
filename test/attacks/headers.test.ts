// Header injection by file names, paths, queries and headers (CWE-113), and request smuggling (CWE-444).
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { asker, type Json } from "../support/asker.ts";
import { type Answered, attack } from "./attack.ts";

const INJECTED = "X-Injected: 1";
const BREAKS = ["\r\n", "\n", "\r", "\u0085", "\u2028", "\u2029", "\u010d\u010a", "\u560d\u560a", "\v", "\0"];
const QUOTES = ['"', '\\"', '"; filename="evil.html', "'; x=", ";", "%22", "\u202e"];

function isClean(answer: Answered, what: string): void {
  for (const [name, value] of answer.headers) {
    assert.match(name, /^[a-z-]+$/, `${what}: ${name}`);
    assert.notEqual(name, "x-injected", what);
    assert.match(value, /^[\x20-\x7e]*$/, `${what}: ${name}: ${value}`);
  }
}

/**
 * Returns the file names in a Content-Disposition, parsed by the grammar of RFC 6266 and not by the code that wrote it.
 */
function disposition(value: string): { type: string; names: string[] } {
  const parameter = /;\s*(filename\*?)=("(?:[^"\\]|\\.)*"|[^\s;"]+)/gy;
  const type = /^[a-z]+/.exec(value)![0];
  parameter.lastIndex = type.length;
  const names: string[] = [];
  let end = type.length;
  for (let match = parameter.exec(value); match; match = parameter.exec(value)) {
    names.push(match[1]!);
    end = parameter.lastIndex;
  }
  assert.equal(end, value.length, `something follows in ${value}`);
  return { type, names };
}

test("a filename cannot inject headers into downloads, redirects or Location", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const upload = (name: string) =>
    attack(server, user, {
      path: "/v1/attachments",
      headers: [["content-type", "multipart/form-data; boundary=b"]],
      body: Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\nx\r\n--b--\r\n`,
      ),
    });
  let served = 0;
  for (const text of [...BREAKS, ...QUOTES, ...BREAKS.map((each) => encodeURIComponent(each))]) {
    const name = `a${text}${INJECTED}${text}.html`;
    const made = await upload(name);
    isClean(made, `upload of ${JSON.stringify(name)}`);
    if (made.status !== 201) {
      assert.equal(made.status, 400, made.body);
      continue;
    }
    const { file_url } = JSON.parse(made.body) as { file_url: string };
    const { pathname, search } = new URL(file_url);
    const path = pathname + search;
    const download = await attack(server, undefined, { method: "GET", path, headers: [] });
    assert.equal(download.status, 200, download.body);
    isClean(download, `download of ${JSON.stringify(name)}`);
    const { type, names } = disposition(new Map(download.headers).get("content-disposition")!);
    assert.equal(type, "attachment");
    assert.deepEqual(
      names,
      [...new Set(names)].filter((each) => /^filename\*?$/.test(each)),
    );
    const other = path.replace(/\/[^/?]*\?/, "/%0d%0aX-Injected:%201?");
    const redirect = await attack(server, undefined, { method: "GET", path: other, headers: [] });
    assert.equal(redirect.status, 308);
    isClean(redirect, `redirect to ${JSON.stringify(name)}`);
    served++;
  }
  assert.ok(served > 0);
});

test("no query, path or header of a request injects headers into its answer", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const ask = asker(server, user);
  for (const username of ["a", "b"]) await ask("POST", "/v1/contacts", { username, phone_number: "555" });
  const injected = encodeURIComponent(`\r\n${INJECTED}`);
  for (const path of [
    `/v1/contacts?limit=1&q=${injected}`,
    `/v1/contacts?limit=1&username=a${injected}`,
    `/v1/contacts?limit=1%0d%0aX-Injected:1`,
    `/v1/contacts/${injected}`,
    `/files/${injected}/${injected}?signature=${injected}`,
    `/docs/errors/${injected}`,
    `/assets/${injected}`,
    `/${injected}`,
    "/v1/contacts?limit=1&q=%22%3e%3b%20rel=%22x",
  ]) {
    isClean(await attack(server, user, { method: "GET", path, headers: [] }), path);
  }
  for (const name of "origin accept range if-none-match request-id x-request-id last-event-id".split(" ")) {
    for (const value of ["x; X-Injected: 1", "\xe5\x98\x8a\xe5\x98\x8dX-Injected: 1", "x\tX-Injected: 1"]) {
      const headers: [string, string][] = [[name, value]];
      isClean(
        await attack(server, user, { method: "GET", path: "/v1/contacts", headers }),
        `${name}: ${value}`,
      );
    }
  }
});

test("request smuggling is refused, and the hidden request does not run (CWE-444)", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const ask = asker(server, user);
  const { body: contact } = await ask("POST", "/v1/contacts", { username: "a", phone_number: "555" });
  const hidden = `DELETE /v1/contacts/${contact.id} HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n\r\n`;
  const toHeaders = (lines: string): [string, string][] =>
    lines.split("|").map((line) => line.split(": ", 2) as [string, string]);
  const twice = ["host: a|Host: b", "host: a b/c@d", "authorization: Bearer x"].map(toHeaders);
  for (const headers of [...twice, [["Authorization", user.headers.authorization] as [string, string]]]) {
    for (const path of ["/v1/contacts", "/healthz", "/v1/contacts/%zz"]) {
      const answer = await attack(server, user, { method: "GET", path, headers });
      assert.equal(answer.status, 400, `${path} with ${JSON.stringify(headers)}`);
    }
  }
  const smuggled = [
    ...["transfer-encoding: chunked", "transfer-encoding: chunked, identity", "transfer-encoding: xchunked"],
    ...["Transfer-Encoding:  chunked|transfer-encoding: x", "content-length: 0", "content-length: +0"],
    ...["x: y\nz: 1", "x\r\ncontent-length: 0"],
  ].map(toHeaders);
  for (const headers of smuggled) {
    // The helper adds a Content-Length for all of this.
    const what = { path: "/v1/contacts", headers, body: `0\r\n\r\n${hidden}` };
    const answer = await attack(server, user, what);
    assert.equal(answer.status, 400, JSON.stringify(headers));
    isClean(answer, JSON.stringify(headers));
  }
  assert.deepEqual(((await ask("GET", "/v1/contacts")).body.data as Json[]).length, 1);
});
