// Multipart forms from the advisories of other parsers: each is refused by its first bytes and leaves nothing.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { raw, sql } from "../../src/db/sql.ts";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { beginRequest, beginUpload, FORM_HEAD, readAnswer } from "../support/raw-socket.ts";
import { attack, codeOf, isRefused } from "./attack.ts";

/** Of a longer form only these are sent. More than any limit that the forms exceed. */
const FIRST_BYTES = 32 * 1024;
const MANY = 100_000;

const FIELD = 'Content-Disposition: form-data; name="conversation_id"';
const FILE = 'Content-Disposition: form-data; name="file"; filename="a"';
const part = (headers: string, body = "x", boundary = "b") =>
  `--${boundary}\r\n${headers}\r\n\r\n${body}\r\n`;
const form = (...parts: string[]) => `${parts.join("")}--b--\r\n`;

const named = (name: string, body = "x") => part(`Content-Disposition: form-data; name="${name}"`, body);

/** A form that broke a parser, and the code that refuses it here. The boundary is "b" by default. */
type Case = [source: string, what: string, code: string, body: string, boundary?: string];

const BROKEN: Case[] = [
  ["CVE-2023-25576", "100,000 fields", "repeated_parameter", form(part(FIELD).repeat(MANY))],
  ["CVE-2023-25576", "100,000 files", "repeated_parameter", form(part(FILE).repeat(MANY))],
  ["CVE-2023-25576", "100,000 empty parts", "malformed_body", form("--b\r\n\r\n\r\n".repeat(MANY))],
  [
    ...(["CVE-2023-25576", "100,000 parts of different names", "unknown_parameter"] as const),
    form(...Array.from({ length: MANY }, (_, i) => named(`n${i}`))),
  ],
  ...[252, 255, 256, 4096].map((length): Case => {
    const boundary = "b".repeat(length);
    const body = `${part(FILE, "x".repeat(10_000), boundary)}--${boundary}--\r\n`;
    return ["CVE-2026-19484", `a boundary of ${length} bytes`, "malformed_body", body, boundary];
  }),
  ...["__proto__", "constructor", "toString", "hasOwnProperty"].map(
    (name): Case => [
      "CVE-2026-19481",
      `a part with the header ${name} alone`,
      "malformed_body",
      form(part(`${name}: x`)),
    ],
  ),
  ...["__proto__", "constructor", "prototype", "toString", "__proto__[polluted]", "valueOf"].map(
    (name): Case => [
      "CVE-2020-8136, CVE-2021-23597",
      `a part named ${name}`,
      "unknown_parameter",
      form(named(name), part(FILE)),
    ],
  ),
  ...["\r", "\n", "\r\n\t", "\0"].map((text): Case => {
    const body = form(part(`Content-Disposition: form-data; name="file"; filename="a${text}b"`));
    return ["CVE-2026-74866", `${JSON.stringify(text)} in a file name`, "malformed_body", body];
  }),
  [
    ...(["CVE-2026-74866", "a bare line feed in the name of a field", "malformed_body"] as const),
    form(part('Content-Disposition: form-data; name="conver\nsation_id"')),
  ],
  ["CVE-2026-128842", "a field of 10 MB", "invalid_parameter", form(part(FIELD, "%".repeat(10_000_000)))],
  ["CVE-2026-128842", "a field name of 10 MB", "malformed_body", form(named("%z".repeat(5_000_000)))],
  [
    ...(["CVE-2026-124289", "a field of JSON that looks like a stored file", "invalid_parameter"] as const),
    form(
      part(
        'Content-Disposition: form-data; name="file"\r\nContent-Type: application/json',
        '{"file":true,"buffer":"eA==","filename":"../../evil"}',
      ),
    ),
  ],
  ["CVE-2022-24434", "a space before the headers of a part", "malformed_body", form(part(` ${FIELD}`))],
  [
    "@fastify/busboy pull 72",
    "80 kB of headers without a colon",
    "malformed_body",
    form(part(" \t".repeat(40_000))),
  ],
  [
    ...(["CVE-2026-8159", "a file name that begins 600 times", "malformed_body"] as const),
    form(part(`Content-Disposition: form-data; name="file"; ${'!filename="1'.repeat(600)}`)),
  ],
  ["CVE-2026-40347", "a long preamble", "malformed_body", `${"-\r\n".repeat(100_000)}${form(part(FILE))}`],
  ["CVE-2026-40347", "a long epilogue", "malformed_body", form(part(FILE)) + "\r\n".repeat(100_000)],
  ["CVE-2025-47944", "no form at all", "malformed_body", "x"],
  ["CVE-2025-47935", "a file without an end", "malformed_body", part(FILE, "x".repeat(30_000))],
  ["RFC 7578", "a file cut within its closing boundary", "malformed_body", form(part(FILE)).slice(0, -5)],
  [
    "RFC 7578",
    "an endless header of a part",
    "malformed_body",
    `--b\r\n${FILE}; a="${"x".repeat(1_000_000)}`,
  ],
];

async function subject(
  t: TestContext,
): Promise<{ server: TestApp; user: TestUser; unharmed(): Promise<void> }> {
  const server = await startApp(t, { userQuotaBytes: 1_000_000_000 });
  const user = await server.user();
  assert.equal((await upload(server.url, user, new File(["x"], "a.txt"))).status, 201);
  return {
    server,
    user,
    async unharmed() {
      const made = await upload(server.url, user, new File(["y"], "b.txt"));
      assert.equal(made.status, 201);
      const { id } = (await made.json()) as { id: string };
      const gone = await fetch(`${server.url}/v1/attachments/${id}`, {
        method: "DELETE",
        headers: user.headers,
      });
      assert.equal(gone.status, 204);
      const { db } = server.app.core;
      assert.equal((await db.all(sql`SELECT id FROM attachments`)).length, 1);
      assert.ok(await eventually(async () => (await db.all(sql`SELECT id FROM reservations`)).length === 0));
      assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
    },
  };
}

test("forms that broke other parsers are refused by their first 32 KiB, and leave nothing", async (t) => {
  const { server, user, unharmed } = await subject(t);
  for (const [source, what, code, body, boundary = "b"] of BROKEN) {
    const type = `multipart/form-data; boundary=${boundary}`;
    const answer = await attack(server, user, {
      path: "/v1/attachments",
      headers: [["content-type", type]],
      body: body.slice(0, FIRST_BYTES),
      length: body.length,
    });
    assert.ok(isRefused(answer), `${source}, ${what}: ${answer.status}`);
    assert.equal(codeOf(answer), code, `${source}, ${what}: ${answer.body}`);
  }
  await unharmed();
});

test("part headers named like object properties are ignored (CVE-2026-19481)", async (t) => {
  const { server, user } = await subject(t);
  const type = "multipart/form-data; boundary=b";
  for (const name of ["__proto__", "constructor", "toString"]) {
    const body = form(part(`${FILE}\r\n${name}: {"polluted":1}`));
    const answer = await attack(server, user, {
      path: "/v1/attachments",
      headers: [["content-type", type]],
      body,
    });
    assert.equal(answer.status, 201, answer.body);
    assert.equal((JSON.parse(answer.body) as { filename: string }).filename, "a");
    assert.equal("polluted" in {}, false);
  }
});

test("JSON with the keys of a stored file is 415, not an upload (CVE-2026-124289)", async (t) => {
  const { server, user, unharmed } = await subject(t);
  const stored = { file: true, buffer: "eA==", filename: "../../evil", fieldname: "file", mimetype: "a/b" };
  for (const fields of [stored, { file: stored }, { file: [stored] }, [stored]]) {
    for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain"]) {
      const answer = await attack(server, user, {
        path: "/v1/attachments",
        headers: [["content-type", type]],
        body: JSON.stringify(fields),
      });
      assert.deepEqual([answer.status, codeOf(answer)], [415, "unsupported_media_type"]);
    }
  }
  await unharmed();
});

test("form fields with broken escapes have the usual limits (CVE-2026-128842)", async (t) => {
  const { server, user } = await subject(t);
  for (const [value, status] of [
    ["%".repeat(128), 400],
    [`${"x".repeat(127)}%zz`, 400],
    ["x".repeat(10_000), 400],
    ["%zz".repeat(100_000), 413],
  ] as const) {
    for (const body of [`username=${value}&phone_number=555`, `${value}=x`]) {
      const answer = await attack(server, user, {
        path: "/v1/contacts",
        headers: [["content-type", "application/x-www-form-urlencoded"]],
        body,
      });
      assert.equal(answer.status, status, answer.body);
    }
  }
});

test("a chunked body of fields is 413 as soon as it is too large", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const fields = `username=${"x".repeat(server.config.limits.maxBodyBytes)}`;
  const socket = await beginRequest(server.url, "POST /v1/contacts", user, {
    ...{ "content-type": "application/x-www-form-urlencoded", "transfer-encoding": "chunked" },
  });
  socket.write(`${fields.length.toString(16)}\r\n${fields}\r\n`);
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 413 .*"code":"body_too_large"/s);
  socket.destroy();
});

test("an aborted upload over the limit leaves nothing (CVE-2026-18549, CVE-2025-24033)", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000, userQuotaBytes: 1_000_000_000 });
  const user = await server.user();
  for (const answered of [true, false]) {
    for (let i = 0; i < 10; i++) {
      const socket = await beginUpload(server.url, user, { "content-length": 150_000 });
      socket.write(`${FORM_HEAD}${"x".repeat(answered ? 110_000 : 90_000)}`);
      if (answered) assert.match(await readAnswer(socket), /^HTTP\/1\.1 413 /);
      else await sleep(5);
      socket.resetAndDestroy();
    }
  }
  assert.ok(await eventually(async () => (await storedFiles(server.config)).length === 0));
  for (const table of ["attachments", "reservations"]) {
    const none = async () => (await server.app.core.db.all(sql`SELECT id FROM ${raw(table)}`)).length === 0;
    assert.ok(await eventually(none), table);
  }
});
