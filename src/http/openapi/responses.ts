import {
  bytes,
  count,
  described,
  id,
  integer,
  oneOf,
  type Resource,
  type Schema,
  text,
  url,
} from "../../core/resource/schema.ts";
import { catalogue, type ErrorCode } from "../../errors.ts";
import type { HeaderName } from "../protocol/headers.ts";
import { type Operation, takesKey } from "../protocol/operation.ts";
import { problemOf, statusOf } from "../protocol/problems.ts";
import { CODE_HEADERS, headersNamed, RATE_HEADERS } from "./headers.ts";

/** Errors of every operation. */
const OPEN: readonly ErrorCode[] = [
  "malformed_request",
  "unknown_parameter",
  "repeated_parameter",
  "unavailable",
];
/** Errors of an operation that accepts only a signed link. */
const LINK: readonly ErrorCode[] = [...OPEN, "invalid_parameter", "rate_limited", "internal_error"];
/** Errors of an operation that accepts a token. */
const TOKEN: readonly ErrorCode[] = [
  ...OPEN,
  "invalid_parameter",
  "invalid_token",
  "insufficient_scope",
  "user_paused",
  "username_taken",
  "user_not_found",
  "rate_limited",
  "internal_error",
];
/** Errors of an operation that requires a token. */
const REQUIRED: readonly ErrorCode[] = [
  ...TOKEN,
  "malformed_body",
  "unsupported_media_type",
  "missing_token",
];

const ORIGIN = "http://127.0.0.1:8080";
const DESCRIPTIONS = { 200: "The answer.", 201: "Created.", 204: "Done." } as const;

/** The body of every error. Unlike in other resources, some members are optional. */
export const problem: Resource = {
  name: "Problem",
  schema: {
    type: "object",
    description: "Problem details (RFC 9457).",
    properties: {
      type: described(url, "The address of a page that explains the code."),
      title: text,
      status: integer,
      detail: described(text, "What is wrong and what to do."),
      code: described(oneOf(...Object.keys(catalogue)), "From a closed list; for programs to check."),
      param: described(text, "The field at fault, if there is one."),
      "expected-offset": described(bytes, "The bytes that the server has (`upload_offset_mismatch`)."),
      "provided-offset": described(bytes, "The offset of the request (`upload_offset_mismatch`)."),
      existing_id: described(
        text,
        "The contact or user that has the username or the identity (`contact_exists`, `username_taken`, `identity_taken`).",
      ),
      index: described(count, "The place, from 0, of the name that is nobody's (`user_not_found`)."),
      request_id: id("req"),
    },
    required: ["type", "title", "status", "detail", "code", "request_id"],
    additionalProperties: false,
  },
};

/** Refers to a resource in the components of the document. */
export function schemaOf({ name }: Resource): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Describes a page of a resource. */
export function toPageSchema(resource: Resource): Resource {
  const data = { type: "array", maxItems: 100, items: schemaOf(resource) };
  const properties = { has_more: described({ type: "boolean" }, "Whether more items follow."), data };
  return {
    name: `${resource.name}Page`,
    schema: {
      type: "object",
      description: "Items, newest first.",
      properties,
      required: Object.keys(properties),
      additionalProperties: false,
    },
  };
}

/** Describes all answers of an operation, by status, with the bodies of real answers by status and media type. */
export function responsesOf(operation: Operation, examples: Readonly<Record<string, unknown>>): object {
  const { answer } = operation;
  const { status, resource, page, versioned, content, headers = [], others } = answer;
  const always = headersOfAll(operation);
  const own: HeaderName[] = [...always, ...headers];
  if (takesKey(operation)) own.push("Idempotent-Replayed");
  if (status === 201 && !operation.storesNothing) own.push("Location");
  if (page) own.push("Link");
  if (versioned) own.push("ETag");
  const json = page ? toPageSchema(page) : resource;
  const toContent = (status: number | string, schemas: Readonly<Record<string, Schema>> = {}) =>
    Object.fromEntries(
      Object.entries(schemas).map(([type, schema]) => {
        const example = examples[`${status} ${type}`];
        return [type, { schema, ...(example !== undefined && { example }) }];
      }),
    );
  const bodies = toContent(status, { ...(json && { "application/json": schemaOf(json) }), ...content });
  return {
    [status]: {
      description: DESCRIPTIONS[status],
      headers: headersNamed(...own),
      ...(Object.keys(bodies).length > 0 && { content: bodies }),
    },
    ...(versioned &&
      operation.method === "GET" && {
        304: { description: "The client has this version.", headers: headersNamed(...own) },
      }),
    ...Object.fromEntries(
      Object.entries(others ?? {}).map(([status, other]) => [
        status,
        {
          description: other.description,
          headers: headersNamed(...always, ...(other.headers ?? [])),
          ...(other.content && { content: toContent(status, other.content) }),
        },
      ]),
    ),
    ...problems(codesOf(operation), always),
  };
}

/** Returns the headers that all answers of an operation have, including errors. */
function headersOfAll({ access, answer: { always = [] } }: Operation): readonly HeaderName[] {
  if (access === "open") return always;
  // The URL contains the signature, which must not leak to pages that the file links to.
  return [...(access === "link" ? (["Referrer-Policy"] as const) : []), ...RATE_HEADERS, ...always];
}

function codesOf(operation: Operation): ErrorCode[] {
  const { access, scope, method, body, errors } = operation;
  const reads = method === "GET";
  const byLink = scope ? TOKEN : LINK;
  const upload = typeof body === "string";
  return [
    ...(access === "open" ? OPEN : access === "link" ? byLink : REQUIRED),
    ...(upload || Object.keys(body).length > 0 ? (["missing_parameter"] as const) : []),
    // These apply without fields, too: the body is read and refused.
    ...(reads || upload ? [] : (["body_too_large", "request_timeout"] as const)),
    ...(reads ? [] : (["digest_mismatch", "outcome_unknown"] as const)),
    ...(takesKey(operation) ? (["idempotency_in_progress", "idempotency_key_reused"] as const) : []),
    ...errors,
  ];
}

/** Describes one response for each status, with an example of each of its codes. */
function problems(codes: readonly ErrorCode[], always: readonly HeaderName[]): object {
  const statuses = Map.groupBy(new Set(codes), statusOf);
  return Object.fromEntries(
    [...statuses].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\``).join(" · "),
        headers: headersNamed(...always, ...codes.flatMap((code) => CODE_HEADERS[code] ?? [])),
        content: {
          "application/problem+json": {
            schema: schemaOf(problem),
            examples: Object.fromEntries(
              codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
            ),
          },
        },
      },
    ]),
  );
}

/** Returns the examples of the components: one for each code that these operations answer. */
export function examplesOf(operations: readonly Operation[]): object {
  const codes = new Set(operations.flatMap(codesOf));
  return Object.fromEntries([...codes].sort().map((code) => [code, { value: exampleOf(code) }]));
}

function exampleOf(code: ErrorCode): unknown {
  const error = { code, message: catalogue[code].explanation, param: undefined, members: {}, header: "" };
  return JSON.parse(problemOf(error, "req_01m7yvg6waejjacycgbh9077zr", ORIGIN).body);
}
