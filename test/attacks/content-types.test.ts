// Spellings of Content-Type that bypassed body validation in other servers: CVE-2025-32442 (case, a space before the
// semicolon), CVE-2026-25223 (a tab and more), CVE-2026-3419 (a space and more), CVE-2026-33806 (a space before it).
import assert from "node:assert/strict";
import { test } from "node:test";
import { startApp } from "../support/app.ts";
import { asker } from "../support/asker.ts";
import { type Attack, attack, codeOf } from "./attack.ts";

const TYPES = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

const BEFORE = ["", " ", "\t", " \t ", ";", ",", "\xa0", "*/*, ", "x", '"'];
/** Separated by vertical bars. */
const AFTER = [
  '| |\t|;| ;|\t;|;;|; |;a=b| ; a=b|\t;\ta=b|; a="b;c"|;=|; boundary=b|\ta| a| garbage|\tapplication/json|,',
  ', text/plain|,application/json|x|/x|+json|\xa0|\xa0;|"|\\|*|(comment)|\x85|; charset=utf-8|;charset="UTF-8"',
  "; charset=utf8|; charset=utf-16|; charset=utf-7|; charset=|; charset=latin1;charset=utf-8",
].flatMap((line) => line.split("|"));
const CASES: ((type: string) => string)[] = [
  (type) => type,
  (type) => type.toUpperCase(),
  (type) => type.replace(/\b[a-z]/g, (letter) => letter.toUpperCase()),
  (type) => type.replace("/", " / "),
  (type) => type.replace("/", "/\t"),
];

/** Returns the media type without parameters (RFC 9110, section 8.3.1), or undefined if it is malformed. */
function essenceOf(header: string): string | undefined {
  const text = header.replace(/^[ \t]+|[ \t]+$/g, "");
  return /^([!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:;|$)/
    .exec(text)?.[1]
    ?.toLowerCase();
}

const SENT: Record<string, string> = {
  "application/json": '{"display_name":"after"}',
  "application/x-www-form-urlencoded": "display_name=after",
};
/** Bodies that every check refuses. */
const UNCHECKED = [
  '{"display_name":7,"owner_id":"x"}',
  "display_name=a%00b&owner_id=x",
  '{"display_name":["x"]}',
];

test("no spelling of a Content-Type lets a body reach an operation unchecked", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const ask = asker(server, user);
  const { body: made } = await ask("POST", "/v1/contacts", { username: "a", phone_number: "555" });
  const path = `/v1/contacts/${made.id}`;
  const put = (type: string, body: string, more: Attack["headers"] = []) =>
    attack(server, user, { method: "PUT", path, headers: [["content-type", type], ...more], body });
  const counts = { taken: 0, refused: 0 };
  for (const type of TYPES) {
    const headers = CASES.flatMap((spell) => [
      ...BEFORE.map((before) => before + spell(type)),
      ...AFTER.map((after) => spell(type) + after),
    ]);
    for (const header of headers) {
      const essence = essenceOf(header);
      const charset = /;\s*charset="?([^";\s]+)/i.exec(header)?.[1];
      const known =
        essence !== undefined &&
        essence in SENT &&
        [undefined, "utf-8", "utf8"].includes(charset?.toLowerCase());
      const good = await put(header, SENT[essence ?? ""] ?? SENT["application/json"]!);
      if (known) assert.equal(good.status, 200, `${JSON.stringify(header)}: ${good.body}`);
      // The HTTP parser refuses control characters.
      else
        assert.ok([400, 415].includes(good.status), `${JSON.stringify(header)}: ${good.status} ${good.body}`);
      counts[known ? "taken" : "refused"]++;
    }
  }
  await ask("PUT", path, { display_name: "before" });
  for (const type of TYPES) {
    for (const after of AFTER) {
      for (const body of UNCHECKED) {
        const answer = await put(type + after, body);
        assert.ok(
          [400, 415].includes(answer.status),
          `${JSON.stringify(type + after)} ${body}: ${answer.status}`,
        );
        counts.refused++;
      }
    }
  }
  assert.equal((await ask("GET", path)).body.display_name, "before");
  t.diagnostic(`${counts.taken} were a type that is taken, and ${counts.refused} refused`);
});

test("a repeated Content-Type is refused, even with equal values", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const [json, plain] = ["application/json", "text/plain"];
  for (const [first, second] of [
    [json, plain],
    [plain, json],
    [json, json],
    [`${json},${plain}`, json],
  ] as const) {
    const answer = await attack(server, user, {
      path: "/v1/contacts",
      headers: [
        ["content-type", first],
        ["Content-Type", second],
      ],
      body: '{"username":"a","phone_number":"555"}',
    });
    assert.equal(answer.status, 400, `${first}, then ${second}: ${answer.body}`);
  }
  assert.deepEqual((await asker(server, user)("GET", "/v1/contacts")).body.data, []);
});

test("an upload needs exactly multipart/form-data, and no Content-Encoding is accepted", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const body = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n';
  const post = (type: string, more: Attack["headers"] = []) =>
    attack(server, user, { path: "/v1/attachments", headers: [["content-type", type], ...more], body });
  for (const type of ["multipart/form-data", "MULTIPART/Form-Data", "multipart/form-data\t"]) {
    assert.equal((await post(`${type}; boundary=b`)).status, 201, type);
  }
  for (const type of [
    "multipart/form-data\ta",
    "multipart/form-data a",
    "multipart/form-datax",
    "multipart/mixed",

    "multipart/*",
    "multipart/form-data,application/json",
    "multipart",
    "text/plain, multipart/form-data",
  ]) {
    const answer = await post(`${type}; boundary=b`);
    assert.deepEqual([answer.status, codeOf(answer)], [415, "unsupported_media_type"], type);
  }
  for (const encoding of ["gzip", "br", "deflate", "zstd", "GZIP", "gzip, identity", "x"]) {
    const answer = await post("multipart/form-data; boundary=b", [["content-encoding", encoding]]);
    assert.deepEqual([answer.status, codeOf(answer)], [415, "unsupported_media_type"], encoding);
  }
});
