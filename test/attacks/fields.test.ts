// Fields that clients must not set, in every place of every route: names of object properties (prototype pollution,
// CWE-1321), fields that only the server sets (mass assignment, CWE-915), and repeated names (CWE-235).
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { raw, sql } from "../../src/db/sql.ts";
import type { Operation } from "../../src/http/protocol/operation.ts";
import { allOperations } from "../../src/http/routes/operations.ts";
import { startApp, type TestApp, type TestUser } from "../support/app.ts";
import { type Attack, attack, codeOf, unknownPath } from "./attack.ts";

const POLLUTING =
  `__proto__ constructor prototype toString valueOf hasOwnProperty __defineGetter__ __proto__[polluted]
  __proto__.polluted constructor[prototype][polluted] constructor.prototype`.split(/\s+/);
const NOT_THEIRS =
  `id owner owner_id user user_id uploader_id actor_id size file_size file_type file_url sha256 crc32
  blob_key created_at updated_at last_active_at message_id conversation_id version role admin is_admin scopes token hash
  secret blocked_at quota used peer_id reservation $where sql`.split(/\s+/);

interface Place {
  name: string;
  /** Builds a request of the operation with these fields in that place, as form text and as JSON. */
  request(fields: string, json: string): { query?: string; body?: string; type?: string };
}

const FORM = "application/x-www-form-urlencoded";
const QUERY: Place = { name: "query", request: (fields) => ({ query: fields }) };
const BODIES: Place[] = [
  { name: "form", request: (fields) => ({ body: fields, type: FORM }) },
  { name: "JSON", request: (_, json) => ({ body: json, type: "application/json" }) },
];
const MULTIPART: Place = {
  name: "multipart form",
  request: (fields) => ({ body: multipart(fields), type: "multipart/form-data; boundary=b" }),
};

/** The smallest picture, because some operations accept no other file. */
const GIF = "GIF89a\x01\0\x01\0\0\0\0;";

function multipart(fields: string): string {
  const parts = [...new URLSearchParams(fields)].map(([name, value]) => `; name="${name}"\r\n\r\n${value}`);
  const all = [`; name="file"; filename="a"\r\n\r\n${GIF}`, ...parts];
  return `${all.map((each) => `--b\r\nContent-Disposition: form-data${each}\r\n`).join("")}--b--\r\n`;
}

/** Returns every place of an operation that may have fields, with the fields it accepts there. */
function placesOf({ method, body, query }: Operation): [Place, readonly string[]][] {
  const inQuery: [Place, readonly string[]] = [QUERY, Object.keys(query)];
  if (method === "GET") return [inQuery];
  // A body of bytes has no fields.
  if (body === "bytes") return [inQuery];
  // The form of an upload accepts the same fields as its query.
  if (body === "file") return [inQuery, [MULTIPART, ["file", ...Object.keys(query)]]];
  return [inQuery, ...BODIES.map((place): [Place, readonly string[]] => [place, Object.keys(body)])];
}

interface Subject {
  server: TestApp;
  operations: readonly Operation[];
  /** Returns status, code and field of the error. */
  ask(operation: Operation, what: ReturnType<Place["request"]>): Promise<[number, string, string]>;
  /** Returns all rows, except those and what every request changes. */
  stored(): Promise<unknown>;
}

async function start(t: TestContext): Promise<Subject> {
  const server = await startApp(t);
  const user: TestUser = await server.user({ scopes: SCOPES });
  return {
    server,
    operations: allOperations.filter(({ access }) => access === undefined),
    async ask({ method, path }, { query, body, type }) {
      // Ids are checked after fields. These ids are unknown, so even an accepted field changes nothing.
      const answer = await fetch(server.url + unknownPath(path) + (query === undefined ? "" : `?${query}`), {
        method,
        headers: { ...user.headers, ...(type === undefined ? {} : { "content-type": type }) },
        body: body ?? null,
      });
      const text = await answer.text();
      const { code = "", param = "" } =
        text === "" ? {} : (JSON.parse(text) as { code?: string; param?: string });
      return [answer.status, code, param];
    },
    async stored() {
      const tables =
        "users contacts attachments uploads tokens webhooks messages blocks marks outbox audit".split(" ");
      const rows = await Promise.all(
        tables.map((table) => server.app.core.db.all<object>(sql`SELECT * FROM ${raw(table)}`)),
      );
      return rows.map((all) => all.map((row) => ({ ...row, last_used_at: null })));
    },
  };
}

/** A form repeats the field of a list. */
function mayRepeat({ body }: Operation, place: Place, name: string): boolean {
  return place.name === "form" && typeof body !== "string" && body[name]?.isList === true;
}

test("unknown fields are 400 in every place of every route, and change nothing", async (t) => {
  const { operations, ask, stored } = await start(t);
  const before = await stored();
  let asked = 0;
  for (const operation of operations) {
    for (const [place, accepted] of placesOf(operation)) {
      for (const name of [...POLLUTING, ...NOT_THEIRS].filter((name) => !accepted.includes(name))) {
        const request = place.request(
          `${encodeURIComponent(name)}=x`,
          `{${JSON.stringify(name)}:{"polluted":1}}`,
        );
        const answer = await ask(operation, request);
        const where = `${operation.name}, ${name} in the ${place.name}`;
        assert.deepEqual(answer, [400, "unknown_parameter", name], where);
        asked++;
      }
    }
  }
  assert.equal("polluted" in {}, false);
  assert.deepEqual(await stored(), before);
  t.diagnostic(`${asked} requests to ${operations.length} operations`);
});

test("repeated fields are 400 in every place of every route, in any spelling", async (t) => {
  const { operations, ask, stored } = await start(t);
  const before = await stored();
  let asked = 0;
  for (const operation of operations) {
    for (const [place, accepted] of placesOf(operation)) {
      for (const name of accepted.filter((each) => !mayRepeat(operation, place, each))) {
        const encoded = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
        const [key, escaped] = [
          JSON.stringify(name),
          `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`,
        ];
        const request = place.request(`${name}=1&${encoded}=2`, `{${key}:"1",${escaped}:"2"}`);
        const answer = await ask(operation, request);
        const where = `${operation.name}, ${name} in the ${place.name}`;
        // The file is a separate part, so a field named like it is a duplicate.
        assert.deepEqual(answer, [400, "repeated_parameter", name], where);
        asked++;
      }
    }
  }
  assert.deepEqual(await stored(), before);
  t.diagnostic(`${asked} requests to ${operations.length} operations`);
});

test("__proto__ and constructor are also refused inside JSON values", async (t) => {
  const { operations, ask } = await start(t);
  for (const operation of operations) {
    if (typeof operation.body === "string" || operation.method === "GET") continue;
    for (const name of Object.keys(operation.body)) {
      for (const value of [
        '{"__proto__":{"polluted":1}}',
        '[{"constructor":{"prototype":{"polluted":1}}}]',
      ]) {
        const body = `{${JSON.stringify(name)}:${value}}`;
        const [status, code] = await ask(operation, { body, type: "application/json" });
        assert.equal(status, 400, `${operation.name}, ${body}`);
        // A required field may be missing as well.
        assert.ok(["invalid_parameter", "missing_parameter"].includes(code), code);
      }
    }
  }
  assert.equal("polluted" in {}, false);
});

test("a GET with a body is 400, because another server could read it as fields or as another request", async (t) => {
  const { server, operations } = await start(t);
  const user = await server.user({ scopes: SCOPES });
  const bodies: Pick<Attack, "headers" | "body">[] = [
    { headers: [["content-type", FORM]], body: "limit=1" },
    { headers: [], body: "GET /v1/me HTTP/1.1\r\n\r\n" },
  ];
  for (const { method, path, name } of operations) {
    if (method !== "GET") continue;
    for (const what of bodies) {
      const answer = await attack(server, user, { method, path, ...what });
      assert.deepEqual([answer.status, codeOf(answer)], [400, "malformed_body"], name);
    }
  }
});

test("headers named like properties of objects change nothing (CVE-2026-21710), and a repeated Idempotency-Key is 400", async (t) => {
  const { server } = await start(t);
  const user = await server.user();
  const fields = { method: "POST", body: new URLSearchParams({ username: "a", phone_number: "555" }) };
  const odd = { ...user.headers, ["__proto__"]: "x", constructor: "y" };
  for (const path of ["/v1/contacts", "/v1/me", "/healthz", "/nowhere"]) {
    const headers = new Headers(user.headers);
    for (const [name, value] of Object.entries(odd)) headers.set(name, value);
    assert.ok((await fetch(server.url + path, { headers })).status < 500, path);
  }
  const headers = new Headers(user.headers);
  headers.append("idempotency-key", "one");
  headers.append("idempotency-key", "two");
  const answer = await fetch(`${server.url}/v1/contacts`, { ...fields, headers });
  assert.equal(answer.status, 400);
  assert.equal(((await answer.json()) as { param: string }).param, "Idempotency-Key");
});
