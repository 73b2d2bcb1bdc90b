import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { catalogue } from "../../src/errors.ts";
import { buildOpenApi } from "../../src/http/openapi/document.ts";
import { toOpenApi30 } from "../../src/http/openapi/openapi-30.ts";
import { groups } from "../../src/http/routes/operations.ts";
import { startOn, testConfig } from "../support/app.ts";
import { recordExamples } from "./openapi-examples.ts";

const FILE = new URL("../../src/http/openapi/openapi.json", import.meta.url);
const SMALL_FILE = new URL("openapi-3.0.json", FILE);

/** The fields of a POST in the document that tests read. */
interface PostDescription {
  operationId: string;
  parameters: { name: string; in: string; schema: { pattern: string } }[];
  responses: Record<
    number,
    { headers: Record<string, object>; content: Record<string, { examples: Record<string, object> }> }
  >;
}

test("openapi.json equals the document of the code, with real answers as examples", async (t) => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  const document = buildOpenApi(groups, version, await recordExamples(t));
  const made = `${JSON.stringify(document, null, 2)}\n`;
  const small = `${JSON.stringify(toOpenApi30(JSON.parse(made)), null, 1)}\n`;
  if (process.env.UPDATE_OPENAPI) {
    await writeFile(FILE, made);
    await writeFile(SMALL_FILE, small);
  }
  assert.equal(await readFile(FILE, "utf8"), made, "Make it anew: npm run openapi");
  assert.equal(await readFile(SMALL_FILE, "utf8"), small, "Make it anew: npm run openapi");
});

type JsonSchema = Record<string, unknown>;
type Content = Record<string, { schema: JsonSchema; example?: object | string; examples?: object }>;

interface Operation {
  operationId: string;
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}

function operationsOf(paths: object): Operation[] {
  return Object.values(paths).flatMap((path) => Object.values(path) as Operation[]);
}

/** Whether the bytes of a file are the body, or the required field of a form. */
function isBinary({ format, properties, required = [] }: JsonSchema): boolean {
  const schemas = properties as Record<string, JsonSchema>;
  return format === "binary" || (required as string[]).some((name) => isBinary(schemas[name]!));
}

test("every body in openapi.json but bytes has an example, which conforms to its schema", async () => {
  const { paths, components } = JSON.parse(await readFile(FILE, "utf8"));
  const ajv = new Ajv2020({ strict: false, validateSchema: false });
  formats.default(ajv);
  const check = (schema: JsonSchema, value: object | string) => {
    const validate = ajv.compile({ ...schema, components });
    assert.ok(validate(value), `${ajv.errorsText(validate.errors)}: ${JSON.stringify(value)}`);
    if (typeof value === "object") assert.ok(!validate({ ...value, more: 1 }));
  };
  for (const { value } of Object.values(components.examples) as { value: object }[])
    check(components.schemas.Problem, value);
  for (const { operationId, requestBody, responses } of operationsOf(paths)) {
    for (const [where, body] of Object.entries({ ...responses, request: requestBody })) {
      for (const [type, { schema, example, examples }] of Object.entries(body?.content ?? {})) {
        if (isBinary(schema)) continue;
        assert.ok(example ?? examples, `${operationId}, ${where}, ${type} has no example`);
        if (example !== undefined) check(schema, example);
      }
    }
  }
});

test("every POST that stores something documents Idempotency-Key and its errors", async () => {
  const { paths } = JSON.parse(await readFile(FILE, "utf8"));
  const all = Object.values(paths as Record<string, { post?: PostDescription }>);
  const { posts = [], others = [] } = Object.groupBy(
    all.flatMap(({ post }) => post ?? []),
    ({ operationId }) => (/announceTyping|createArchive|findToken/.test(operationId) ? "others" : "posts"),
  );
  assert.doesNotMatch(JSON.stringify(others), /idempoten/i);
  assert.deepEqual([others.length, posts.length], [3, 14]);
  for (const { operationId, parameters, responses } of posts) {
    const key = parameters.find(({ name }) => name === "Idempotency-Key");
    assert.equal(key?.in, "header", operationId);
    const form = new RegExp(key.schema.pattern, "u");
    for (const text of ["a-Z~!", "x".repeat(255)]) assert.match(text, form);
    for (const text of ["a b", "é", "", "x".repeat(256)]) assert.doesNotMatch(text, form);
    assert.ok((responses[201] ?? responses[200])!.headers["Idempotent-Replayed"], operationId);
    assert.ok(responses[409]!.headers["Retry-After"], operationId);
    const [conflicts, refused] = [409, 422].map((status) =>
      Object.keys(responses[status]!.content["application/problem+json"]!.examples).join(),
    ) as [string, string];
    assert.match(conflicts, /idempotency_in_progress/, operationId);
    assert.match(refused, /^idempotency_key_reused(,metadata_not_removable)?(,file_infected)?$/, operationId);
  }
});

test("openapi.json has the headers of real answers", async (t) => {
  const server = await startOn(t, await testConfig(t, { requestsPerSecond: 5, uploadsPerUser: 0 }), {
    clock: () => 0,
  });
  const { paths, components } = JSON.parse(await readFile(FILE, "utf8"));
  const common = ["request-id", "x-content-type-options"];
  const rates = ["ratelimit", "ratelimit-policy"];
  const contact = JSON.stringify({ username: "ada", phone_number: "555" });
  const once = { "idempotency-key": "k", "content-type": "application/json" };
  const create = { headers: once, body: contact };
  const asked: [status: number, names: string[], request: string, route: string, more?: RequestInit][] = [
    [200, rates, "GET /v1/me", "/v1/me"],
    [200, rates, "GET /v1/contacts", "/v1/contacts"],
    [200, [...rates, "last-event-id"], "GET /v1/events", "/v1/events"],
    [201, [...rates, "etag", "location"], "POST /v1/contacts", "/v1/contacts", create],
    [201, [...rates, "etag", "location", "idempotent-replayed"], "POST /v1/contacts", "/v1/contacts", create],
    [404, rates, "GET /v1/contacts/con_x", "/v1/contacts/{contact_id}"],
    [429, [...rates, "retry-after"], "POST /v1/attachments", "/v1/attachments"],
    [429, [...rates, "retry-after"], "GET /v1/me", "/v1/me"],
    [200, [], "GET /healthz", "/healthz"],
  ];
  const user = await server.user();
  for (const [status, names, line, route, { headers, body } = {}] of asked) {
    const [method = "", path = ""] = line.split(" ");
    let answer: Response;
    // The clock stands still, so enough requests use up the burst of the rate.
    do
      answer = await fetch(server.url + path, {
        ...{ method, headers: { ...user.headers, ...headers }, body: body ?? null },
      });
    while (status === 429 && path === "/v1/me" && answer.status === 200);
    assert.equal(answer.status, status, path);
    const described: Record<string, { $ref: string }> =
      paths[route][method.toLowerCase()].responses[status].headers;
    const known = Object.keys(described).map((name) => name.toLowerCase());
    for (const name of [...common, ...names]) {
      assert.ok(answer.headers.has(name), `${path}: ${name}`);
      assert.ok(known.includes(name), `${status} of ${path} has no ${name} in the document`);
    }
    for (const { $ref } of Object.values(described))
      assert.ok(components.headers[$ref.split("/").at(-1)!], $ref);
  }
});

test("openapi.json lists all error codes, and both JSON lines types", async () => {
  const { paths, components } = JSON.parse(await readFile(FILE, "utf8"));
  assert.deepEqual(components.schemas.Problem.properties.code.enum, Object.keys(catalogue));
  assert.deepEqual(Object.keys(paths["/v1/audit"].get.responses[200].content), [
    "application/json",
    "application/jsonl",
    "application/x-ndjson",
  ]);
});

test("every operation of openapi.json is served", async (t) => {
  const server = await startOn(t, await testConfig(t));
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const user = await server.user();
  for (const [path, methods] of Object.entries(document.paths)) {
    const response = await fetch(server.url + path.replace(/{\w+}/g, "x"), {
      method: "PROPFIND",
      headers: user.headers,
    });
    const allowed = response.headers
      .get("allow")
      ?.split(", ")
      // Neither is an operation of the document: OPTIONS returns the features of resumable uploads.
      .filter((method) => method !== "HEAD" && method !== "OPTIONS");
    assert.equal(response.status, 405, path);
    assert.deepEqual(
      allowed?.sort(),
      Object.keys(methods)
        .map((method) => method.toUpperCase())
        .sort(),
      path,
    );
  }
});
