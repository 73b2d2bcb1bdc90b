import {
  eventResource,
  memberReferenceResource,
  referenceResource,
  sharedEventResource,
  testEventResource,
  typingEventResource,
  userReferenceResource,
} from "../../core/events/event-fields.ts";
import { reactionResource } from "../../core/messages/reactions.ts";
import type { Field, Shape } from "../../core/resource/fields.ts";
import { orNull, type Resource } from "../../core/resource/schema.ts";
import { ACT_AS } from "../protocol/acting.ts";
import { MAX_MESSAGE_FILES } from "../protocol/forms.ts";
import { headers } from "../protocol/headers.ts";
import { documentPath, KEY, type Operation, takesKey } from "../protocol/operation.ts";
import { FIRST_TYPES, PART_TYPES } from "../protocol/resumable.ts";
import type { Group } from "../routes/operations.ts";
import { examplesOf, problem, responsesOf, toPageSchema } from "./responses.ts";
import { webhooks } from "./webhooks.ts";

/** The fields of a real request, and bodies of real answers by status and media type, such as "200 application/json". */
export interface Example {
  request?: unknown;
  answers: Record<string, unknown>;
}

/** Examples by the name of the operation. */
export type Examples = Readonly<Record<string, Example>>;

const text = { type: "string" };

/** The header of all operations with a token. */
const actAs = {
  name: ACT_AS,
  in: "header",
  description:
    "The user as whom the request is done: an id, or `username:` and a username in percent-encoding. The token needs the scope `act_as`.",
  schema: { ...text, pattern: "^(usr_|username:)" },
};

function takesToken({ access, scope }: Operation): boolean {
  return access === undefined || (access === "link" && scope !== undefined);
}

/** Builds the OpenAPI 3.1 document from the operations, whose shapes also check the requests. */
export function buildOpenApi(groups: readonly Group[], version: string, examples: Examples): object {
  const operations = groups.flatMap((group) => group.operations);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { tag, operations } of groups) {
    for (const operation of operations) {
      const path = documentPath(operation);
      paths[path] ??= {};
      paths[path][operation.method.toLowerCase()] = describe(tag, operation, examples[operation.name]);
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Parley",
      version,
      description: "A self-hosted messaging backend: contacts, and messages and files in conversations.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The server that this document comes from." }],
    security: [{ token: [] }],
    tags: groups.map(({ tag, description }) => ({ name: tag, description })),
    paths,
    webhooks,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description:
            "An access token, as `parley token create NAME` prints it, or a JWT of an issuer that the server trusts.",
        },
      },
      parameters: { ActAs: actAs },
      schemas: schemasOf(operations),
      headers,
      examples: examplesOf(operations),
    },
  };
}

/** Returns the schemas of the components, by name. */
function schemasOf(operations: readonly Operation[]): object {
  const answered = operations.flatMap(({ answer: { resource, page } }): Resource[] => [
    ...(resource ? [resource] : []),
    ...(page ? [page, toPageSchema(page)] : []),
  ]);
  const all = [
    ...answered,
    eventResource,
    sharedEventResource,
    testEventResource,
    typingEventResource,
    referenceResource,
    memberReferenceResource,
    userReferenceResource,
    reactionResource,
    problem,
  ];
  return Object.fromEntries(all.map(({ name, schema }) => [name, schema]));
}

function describe(tag: string, operation: Operation, example: Example = { answers: {} }): object {
  const { name, summary, description, query, access } = operation;
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...scopesOf(operation),
    ...(access === "open" && { security: [] }),
    ...(access === "link" && { security: operation.scope ? [{}, { token: [] }] : [] }),
    parameters: [
      ...pathParameters(operation),
      ...queryParameters(query),
      ...headerParameters(operation),
      ...(takesToken(operation) ? [{ $ref: "#/components/parameters/ActAs" }] : []),
    ],
    ...bodyOf(operation, example),
    responses: responsesOf(operation, example.answers),
  };
}

function scopesOf({ scope, orAdmin, readScope, showsOthers, access }: Operation): object {
  if (!scope) return {};
  if (access === "link") return { description: `With a token, its scope: \`${scope}\`.` };
  if (orAdmin) return { description: `Scope: \`${scope}\`, or \`admin\` for that of any user.` };
  if (showsOthers) return { description: `Scopes: \`${scope}\` and \`${readScope}\`.` };
  if (readScope) return { description: `Scopes: \`${scope}\`; without fields also \`${readScope}\`.` };
  return { description: `Scope: \`${scope}\`.` };
}

function pathParameters(operation: Operation): object[] {
  const ids = [operation.id, operation.innerId];
  return [...documentPath(operation).matchAll(/{(\w+)}/g)].map(([, name]) => {
    const rule = ids.find((id) => id?.name === name);
    const { pathField } = operation;
    const field = pathField?.name === name ? pathField?.field : undefined;
    return {
      name,
      in: "path",
      required: true,
      schema: field?.schema ?? text,
      ...(field && { description: accepts(field) }),
      ...(rule && { description: `${rule.kind}_…` }),
    };
  });
}

/** Describes the headers that make a request conditional or idempotent, or check its body. */
function headerParameters(operation: Operation): object[] {
  const header = (name: string, description: string, more: object = {}) => ({
    name,
    in: "header",
    description,
    schema: { ...text, ...more },
  });
  const { method, answer, errors, body, headers = {} } = operation;
  return [
    ...(answer.versioned && method === "GET"
      ? [header("If-None-Match", "Answer 304 if the ETag is one of these.")]
      : []),
    ...(errors.includes("precondition_failed")
      ? [header("If-Match", "Answer 412 if the ETag is none of these.")]
      : []),
    ...Object.entries(headers).map(([name, { description, ...schema }]) => ({
      name,
      in: "header",
      description,
      schema,
    })),
    ...(takesKey(operation)
      ? [
          header("Idempotency-Key", "Retry a request with the same key: it takes effect once.", {
            pattern: KEY.source,
          }),
        ]
      : []),
    ...(typeof body === "string" || Object.keys(body).length > 0
      ? [header("Content-Digest", "The SHA-256 of the body: `sha-256=:BASE64:` (RFC 9530).")]
      : []),
  ];
}

function queryParameters(shape: Shape): object[] {
  return Object.entries(shape).map(([name, field]) => {
    const { description = accepts(field), ...schema } = field.schema;
    return { name, in: "query", required: field.required, description, schema };
  });
}

function accepts(field: Field<unknown>): string {
  return `${field.accepts[0]!.toUpperCase()}${field.accepts.slice(1)}.`;
}

function bodyOf(operation: Operation, { request }: Example): object {
  if (operation.body === "file") return { requestBody: fileBody(operation.query) };
  if (operation.body === "bytes") return { requestBody: bytesBody(operation) };
  const fields = Object.entries(operation.body);
  if (fields.length === 0) return {};
  const required = fields.filter(([, field]) => field.required).map(([name]) => name);
  const schema = {
    type: "object",
    properties: Object.fromEntries(
      fields.map(([name, field]) => {
        const { description = accepts(field), ...schema } = field.schema;
        const mayBeNull = operation.method === "POST" && !field.required;
        return [name, { ...(mayBeNull ? orNull(schema) : schema), description }];
      }),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
  const example = request === undefined ? {} : { example: request };
  const content = { schema, ...example };
  return {
    requestBody: {
      required: required.length > 0,
      content: {
        "application/json": content,
        "application/x-www-form-urlencoded": content,
        ...(operation.withFiles && { "multipart/form-data": { schema: withFiles(schema), ...example } }),
      },
    },
  };
}

/** The first request of an upload may have no bytes yet, later ones have some. */
function bytesBody({ method }: Operation): object {
  const types = method === "POST" ? FIRST_TYPES : PART_TYPES;
  const content = types.map((type) => [type, { schema: { type: "string", format: "binary" } }]);
  return { required: method === "PATCH", content: Object.fromEntries(content) };
}

function withFiles(schema: { properties: object }): object {
  const items = { type: "string", format: "binary" };
  const file = {
    type: "array",
    items,
    maxItems: MAX_MESSAGE_FILES,
    description: "Files, each with its name.",
  };
  return { ...schema, properties: { ...schema.properties, file } };
}

function fileBody(fields: Shape): object {
  const texts = Object.entries(fields).map(([name, field]) => [
    name,
    { ...field.schema, description: `${accepts(field)} Here or in the query, not both.` },
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
