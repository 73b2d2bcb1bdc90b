// Forms that brought other parsers down, named by the advisory of each: a clear refusal in little time, and nothing kept.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { raw, sql } from "../../src/db/sql.ts";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { eventually, storedFiles } from "../support/files-on-disk.ts";
import { openSocket, readAnswer } from "../support/raw-socket.ts";
import { type Answered, attack, codeOf, isRefused } from "./attack.ts";

/** What the worst of them may take. The best of some tries counts, as other tests run beside. */
const BOUND_MS = 100;
const TRIES = 20;
const MANY = 100_000;

const FIELD = 'Content-Disposition: form-data; name="conversation_id"';
const FILE = 'Content-Disposition: form-data; name="file"; filename="a"';
const part = (headers: string, body = "x", boundary = "b") =>
  `--${boundary}\r\n${headers}\r\n\r\n${body}\r\n`;
const form = (...parts: string[]) => `${parts.join("")}--b--\r\n`;

interface Case {
  source: string;
  what: string;
  body: string;
  boundary?: string;
  /** Of the answer. */
  code: string;
}

const named = (name: string, body = "x") => part(`Content-Disposition: form-data; name="${name}"`, body);

const CASES: Case[] = [
  {
    source: "CVE-2023-25576",
    what: "a hundred thousand fields",
    body: form(part(FIELD).repeat(MANY)),
    code: "repeated_parameter",
  },
  {
    source: "CVE-2023-25576",
    what: "a hundred thousand files",
    body: form(part(FILE).repeat(MANY)),
    code: "repeated_parameter",
  },
  {
    source: "CVE-2023-25576",
    what: "a hundred thousand parts of nothing",
    body: form("--b\r\n\r\n\r\n".repeat(MANY)),
    code: "malformed_body",
  },
  {
    source: "CVE-2023-25576",
    what: "a hundred thousand parts of other names",
    body: form(...Array.from({ length: MANY }, (_, i) => named(`n${i}`))),
    code: "unknown_parameter",
  },
  ...[252, 255, 256, 4096].map((length) => ({
    source: "CVE-2026-19484",
    what: `a boundary of ${length} bytes`,
    boundary: "b".repeat(length),
    body: `${part(FILE, "x".repeat(10_000), "b".repeat(length))}--${"b".repeat(length)}--\r\n`,
    code: "malformed_body",
  })),
  ...["__proto__", "constructor", "toString", "hasOwnProperty"].map((name) => ({
    source: "CVE-2026-19481",
    what: `a part whose one header is called ${name}`,
    body: form(part(`${name}: x`)),
    code: "malformed_body",
  })),
  ...["__proto__", "constructor", "prototype", "toString", "__proto__[polluted]", "valueOf"].map((name) => ({
    source: "CVE-2020-8136, CVE-2021-23597",
    what: `a part of the name ${name}`,
    body: form(named(name), part(FILE)),
    code: "unknown_parameter",
  })),
  ...["\r", "\n", "\r\n\t", "\0"].map((text) => ({
    source: "CVE-2026-74866",
    what: `${JSON.stringify(text)} in a file name`,
    body: form(part(`Content-Disposition: form-data; name="file"; filename="a${text}b"`)),
    code: "malformed_body",
  })),
  {
    source: "CVE-2026-74866",
    what: "a bare line feed in the name of a field",
    body: form(part('Content-Disposition: form-data; name="conver\nsation_id"')),
    code: "malformed_body",
  },
  {
    source: "CVE-2026-128842",
    what: "a field of ten megabytes",
    body: form(part(FIELD, "%".repeat(10_000_000))),
    code: "invalid_parameter",
  },
  {
    source: "CVE-2026-128842",
    what: "the name of a field of ten megabytes",
    body: form(named("%z".repeat(5_000_000))),
    code: "malformed_body",
  },
  {
    source: "CVE-2026-124289",
    what: "a field of JSON that looks like a stored file",
    body: form(
      part(
        'Content-Disposition: form-data; name="file"\r\nContent-Type: application/json',
        '{"file":true,"buffer":"eA==","filename":"../../evil"}',
      ),
    ),
    code: "invalid_parameter",
  },
  {
    source: "CVE-2022-24434",
    what: "a space before the headers of a part",
    body: form(part(` ${FIELD}`)),
    code: "malformed_body",
  },
  {
    source: "@fastify/busboy pull 72",
    what: "headers of 80 kB without a colon",
    body: form(part(" \t".repeat(40_000))),
    code: "malformed_body",
  },
  {
    source: "CVE-2026-8159",
    what: "a file name that is begun again and again",
    body: form(part(`Content-Disposition: form-data; name="file"; ${'!filename="1'.repeat(600)}`)),
    code: "malformed_body",
  },
  {
    source: "CVE-2026-40347",
    what: "a long preamble",
    body: `${"-\r\n".repeat(100_000)}${form(part(FILE))}`,
    code: "malformed_body",
  },
  {
    source: "CVE-2026-40347",
    what: "a long epilogue",
    body: form(part(FILE)) + "\r\n".repeat(100_000),
    code: "malformed_body",
  },
  { source: "CVE-2025-47944", what: "no form at all", body: "x", code: "malformed_body" },
  {
    source: "CVE-2025-47935",
    what: "a file without an end",
    body: part(FILE, "x".repeat(100_000)),
    code: "malformed_body",
  },
  {
    source: "RFC 7578",
    what: "a file cut off amid its closing boundary",
    body: form(part(FILE)).slice(0, -5),
    code: "malformed_body",
  },
  {
    source: "RFC 7578",
    what: "a header of a part that never ends",
    body: `--b\r\n${FILE}; a="${"x".repeat(1_000_000)}`,
    code: "malformed_body",
  },
];

async function subject(
  t: TestContext,
): Promise<{ server: TestApp; user: TestUser; unharmed(): Promise<void> }> {
  const server = await startApp(t, { userQuotaBytes: 1_000_000_000 });
  const user = await server.user();
  // What is loaded at the first upload is not what these take.
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

async function fastest(ask: () => Promise<Answered>): Promise<Answered> {
  let best = await ask();
  for (let i = 1; i < TRIES && best.ms >= BOUND_MS; i++) {
    const next = await ask();
    if (next.ms < best.ms) best = next;
  }
  return best;
}

test("forms that brought other parsers down: each is refused within 100 ms, and nothing of it is kept", async (t) => {
  const { server, user, unharmed } = await subject(t);
  let slowest = { ms: 0, what: "" };
  for (const { source, what, body, boundary = "b", code } of CASES) {
    const bytes = Buffer.from(body, "latin1");
    const type = `multipart/form-data; boundary=${boundary}`;
    const answer = await fastest(() =>
      attack(server, user, { path: "/v1/attachments", headers: [["content-type", type]], body: bytes }),
    );
    assert.ok(isRefused(answer), `${source}, ${what}: ${answer.status}`);
    assert.equal(codeOf(answer), code, `${source}, ${what}: ${answer.body}`);
    assert.ok(answer.ms < BOUND_MS, `${source}, ${what}: ${answer.ms} ms`);
    if (answer.ms > slowest.ms) slowest = { ms: answer.ms, what };
  }
  await unharmed();
  t.diagnostic(`${CASES.length} forms; the slowest, ${slowest.what}: ${slowest.ms.toFixed(1)} ms`);
});

test("a part may have headers that objects have of their own beside its own: they are nothing (CVE-2026-19481)", async (t) => {
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

test("JSON with the keys of a stored file is 415 where a form is expected (CVE-2026-124289)", async (t) => {
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

test("forms of fields with broken escapes are bounded like all others (CVE-2026-128842)", async (t) => {
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

test("a body of fields that tells no length is refused once it is too large, while it is on its way", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const socket = await openSocket(server.url);
  const fields = `username=${"x".repeat(server.config.limits.maxBodyBytes)}`;
  socket.write(
    `POST /v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n` +
      "content-type: application/x-www-form-urlencoded\r\ntransfer-encoding: chunked\r\n\r\n" +
      `${fields.length.toString(16)}\r\n${fields}\r\n`,
  );
  assert.match(await readAnswer(socket), /^HTTP\/1\.1 413 .*"code":"body_too_large"/s);
  socket.destroy();
});

test("a file that passes the limit and is broken off then leaves nothing (CVE-2026-18549, CVE-2025-24033)", async (t) => {
  const server = await startApp(t, { maxFileBytes: 100_000, userQuotaBytes: 1_000_000_000 });
  const user = await server.user();
  const head =
    `POST /v1/attachments HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n` +
    "content-type: multipart/form-data; boundary=b\r\ncontent-length: 150000\r\n\r\n";
  for (const answered of [true, false]) {
    for (let i = 0; i < 10; i++) {
      const socket = await openSocket(server.url);
      socket.on("error", () => {});
      socket.write(`${head}--b\r\n${FILE}\r\n\r\n${"x".repeat(answered ? 110_000 : 90_000)}`);
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
