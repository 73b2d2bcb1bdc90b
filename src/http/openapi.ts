import type { Field, Shape } from "../core/fields.ts";
import { catalogue, type ErrorCode } from "../errors.ts";
import { LINES } from "./audit.ts";
import { EXAMPLES, otherPaths, problems, RATE_HEADERS, REQUEST_ID, sentEvents } from "./openapi-others.ts";
import { KEY, type Operation } from "./operation.ts";
import { problemOf } from "./problems.ts";
import { schemas } from "./schemas.ts";

/** Real answers, by the name of the operation. */
export type Examples = Readonly<Record<string, { body?: unknown; request?: unknown }>>;

/** What every operation can answer besides its own. */
const COMMON: readonly ErrorCode[] = [
  "malformed_request",
  "malformed_body",
  "unsupported_media_type",
  "invalid_parameter",
  "unknown_parameter",
  "repeated_parameter",
  "missing_token",
  "invalid_token",
  "insufficient_scope",
  "username_taken",
  "rate_limited",
  "internal_error",
  "unavailable",
];
const ORIGIN = "http://127.0.0.1:8080";
const text = { type: "string" };
const REPLAYED = { description: "The request was done before.", schema: { const: "true" } };
/** The OpenAPI 3.1 document of the operations, made of the very shapes that check their requests. */
export function buildOpenApi(operations: readonly Operation[], version: string, examples: Examples): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, "{$1}");
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = describe(operation, examples[operation.name] ?? {});
  }
  const all = { ...paths, ...otherPaths() };
  return {
    openapi: "3.1.0",
    info: {
      title: "Parley",
      version,
      description: "A self-hosted messaging backend: contacts, and files shared in conversations.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The server that this document comes from." }],
    security: [{ token: [] }],
    tags: [
      { name: "contacts", description: "People in the caller's contact list." },
      { name: "attachments", description: "Files shared in conversations." },
      { name: "files", description: "The bytes of attachments." },
      { name: "events", description: "What happens to what the caller sees." },
      { name: "webhooks", description: "Addresses that events are sent to." },
      { name: "me", description: "The caller." },
      { name: "users", description: "Who uses the service: for the integrator's back end." },
      { name: "tokens", description: "Access tokens of the users." },
      { name: "audit", description: "Who did what, when." },
      { name: "service", description: "For supervisors." },
    ],
    paths: all,
    webhooks: sentEvents(),
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description:
            "An access token, as `parley token create NAME` makes one, or a JWT of the identity provider that the server trusts.",
        },
      },
      schemas,
      examples: examplesFor(all),
    },
  };
}

/** The examples that are referred to, once each. */
function examplesFor(paths: object): object {
  const named = JSON.stringify(paths).matchAll(new RegExp(`${EXAMPLES}([a-z_]+)`, "g"));
  const codes = new Set([...named].map((match) => match[1] as ErrorCode));
  return Object.fromEntries([...codes].sort().map((code) => [code, { value: exampleOf(code) }]));
}

function describe(operation: Operation, example: Examples[string]): object {
  const { status, schema, lines, stream } = operation.answer;
  const answered =
    schema === undefined
      ? { description: "Done." }
      : {
          description: catalogueOfSuccess[status],
          content: {
            "application/json": {
              schema: { $ref: `#/components/schemas/${schema}` },
              ...(example.body === undefined ? {} : { example: example.body }),
            },
            ...(stream === undefined ? {} : { [stream]: { schema: { type: "string" } } }),
            ...(lines === undefined
              ? {}
              : Object.fromEntries(LINES.map((type) => [type, { schema: linesOf(lines) }]))),
          },
        };
  return {
    operationId: operation.name,
    tags: [operation.path.split("/")[2]],
    summary: operation.summary,
    ...(operation.scope ? { description: `Scope: \`${operation.scope}\`.` } : {}),
    parameters: [
      ...(operation.id ? [pathId("id", operation.id.kind)] : []),
      ...(operation.innerId ? [pathId(operation.innerId.name, operation.innerId.kind)] : []),
      ...queryOf(operation.query),
      ...headersFor(operation),
    ],
    ...bodyOf(operation, example),
    responses: {
      [status]: { ...answered, headers: headersOf(operation) },
      ...(isRead(operation)
        ? { 304: { description: "The client has this version.", headers: headersOf(operation) } }
        : {}),
      ...problemsOf(operation),
    },
  };
}

function linesOf(schema: string): object {
  return { type: "string", description: `All, oldest first, each line the JSON text of one ${schema}.` };
}

const catalogueOfSuccess = { 200: "The answer.", 201: "Created.", 204: "Done." } as const;

function pathId(name: string, kind: string): object {
  return { name, in: "path", required: true, schema: { type: "string" }, description: `${kind}_…` };
}

/** Whether it answers with one resource that has a version, and changes nothing. */
function isRead(operation: Operation): boolean {
  const { method, id, answer } = operation;
  return method === "GET" && id !== undefined && !answer.schema?.endsWith("Page");
}

/** The headers by which a request can be made conditional, done once, or its body checked. */
function headersFor(operation: Operation): object[] {
  const header = (name: string, description: string, more: object = {}) => ({
    name,
    in: "header",
    description,
    schema: { ...text, ...more },
  });
  return [
    ...(isRead(operation) ? [header("If-None-Match", "Answer 304 where the ETag is one of these.")] : []),
    ...(operation.errors.includes("precondition_failed")
      ? [header("If-Match", "Answer 412 where the ETag is none of these.")]
      : []),
    ...(operation.answer.stream
      ? [
          header("Last-Event-ID", "A stream goes on behind this event; without it, it begins now.", {
            pattern: "^evt_",
          }),
        ]
      : []),
    ...(operation.method === "POST"
      ? [
          header("Idempotency-Key", "The same with the same key is done once.", {
            pattern: KEY.source,
          }),
        ]
      : []),
    ...(operation.body === "file" || Object.keys(operation.body).length > 0
      ? [header("Content-Digest", "The SHA-256 of the body: `sha-256=:BASE64:` (RFC 9530).")]
      : []),
  ];
}

function queryOf(shape: Shape): object[] {
  return Object.entries(shape).map(([name, field]) => ({
    name,
    in: "query",
    required: field.required,
    description: sentence(field),
    schema: field.schema,
  }));
}

function sentence(field: Field<unknown>): string {
  return `${field.accepts[0]!.toUpperCase()}${field.accepts.slice(1)}.`;
}

function bodyOf(operation: Operation, example: Examples[string]): object {
  if (operation.body === "file") return { requestBody: fileBody(operation.query) };
  const fields = Object.entries(operation.body);
  if (fields.length === 0) return {};
  const required = fields.filter(([, field]) => field.required).map(([name]) => name);
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      fields.map(([name, field]) => [name, { ...field.schema, description: sentence(field) }]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  const content = { schema, ...(example.request === undefined ? {} : { example: example.request }) };
  return {
    requestBody: {
      required: required.length > 0,
      content: { "application/json": content, "application/x-www-form-urlencoded": content },
    },
  };
}

function fileBody(fields: Shape): object {
  const texts = Object.entries(fields).map(([name, field]) => [
    name,
    { ...field.schema, description: `${sentence(field)} Here or in the query, not both.` },
  ]);
  return {
    required: true,
    content: {
      "multipart/form-data": {
        schema: {
          type: "object",
          properties: {
            file: { type: "string", format: "binary", description: "The file, with its name." },
            ...Object.fromEntries(texts),
          },
          required: ["file"],
          additionalProperties: false,
        },
      },
    },
  };
}

/** Answers that nobody can be asked for by a version: they are of a moment. */
const UNTAGGED = ["Me", "NewToken", "NewWebhook", "Delivery"];

function headersOf(operation: Operation): object {
  const { schema, status } = operation.answer;
  return {
    ...REQUEST_ID,
    ...RATE_HEADERS,
    ...(operation.method === "POST" ? { "Idempotent-Replayed": REPLAYED } : {}),
    ...(status === 201 ? { Location: { description: "The new resource.", schema: text } } : {}),
    ...(schema?.endsWith("Page")
      ? { Link: { description: "rel=next and rel=prev (RFC 8288).", schema: text } }
      : {}),
    ...(schema && !schema.endsWith("Page") && !UNTAGGED.includes(schema)
      ? { ETag: { description: "For If-None-Match and If-Match.", schema: text } }
      : {}),
  };
}

function problemsOf(operation: Operation): object {
  const reads = operation.method === "GET";
  const upload = operation.body === "file";
  return problems([
    ...COMMON,
    ...(upload || Object.keys(operation.body).length > 0 ? (["missing_parameter"] as const) : []),
    // Also where no field is taken: a body that comes nevertheless is read, and refused for what it is.
    ...(reads || upload ? [] : (["body_too_large", "request_timeout"] as const)),
    ...(reads ? [] : (["digest_mismatch", "outcome_unknown"] as const)),
    ...(operation.method === "POST" ? (["idempotency_in_progress", "idempotency_key_reused"] as const) : []),
    ...operation.errors,
  ]);
}

function exampleOf(code: ErrorCode): unknown {
  const error = { code, message: catalogue[code].explanation, param: undefined, members: {}, header: "" };
  return JSON.parse(problemOf(error, "req_01m7yvg6waejjacycgbh9077zr", ORIGIN).body);
}
