// What the OpenAPI document has besides the operations: other routes, what is sent to webhooks, and what all share.
import type { ErrorCode } from "../errors.ts";

export const EXAMPLES = "#/components/examples/";

export const REQUEST_ID = {
  "Request-Id": { description: "Also in the server's log.", schema: { type: "string" } },
};

const CHALLENGE = { "WWW-Authenticate": { description: "Bearer (RFC 6750).", schema: { type: "string" } } };
export const RATE_HEADERS = {
  "RateLimit-Policy": { description: "How much is allowed.", schema: { type: "string" } },
  RateLimit: { description: "How much of it is left.", schema: { type: "string" } },
};
const RETRY_AFTER = { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } };
/** What answers with these codes have besides. */
export const HEADERS_OF: Readonly<Partial<Record<ErrorCode, object>>> = {
  missing_token: CHALLENGE,
  invalid_token: CHALLENGE,
  insufficient_scope: CHALLENGE,
  rate_limited: { ...RATE_HEADERS, ...RETRY_AFTER },
  idempotency_in_progress: RETRY_AFTER,
  unavailable: RETRY_AFTER,
};
const FILE_HEADERS = Object.fromEntries(
  [
    ...["ETag", "Last-Modified", "Accept-Ranges", "Repr-Digest", "Cache-Control", "Content-Disposition"],
    ...["Content-Security-Policy", "Cross-Origin-Resource-Policy", "X-Content-Type-Options"],
  ].map((name) => [name, { schema: { type: "string" } }]),
);

/** What is no operation on resources: the bytes of files, and the service's own state. */
export function otherPaths(): object {
  const text = { type: "string" };
  const state = (name: string, summary: string) => ({
    get: {
      operationId: name,
      tags: ["service"],
      summary,
      security: [],
      responses: {
        200: {
          description: "Yes.",
          content: { "application/json": { schema: { type: "object", properties: { status: text } } } },
        },
        400: problem("malformed_request"),
        503: problem("unavailable"),
      },
    },
  });
  return {
    "/files/{id}/{filename}": {
      get: {
        operationId: "downloadFile",
        tags: ["files"],
        summary: "Download a file, by its signed address or with a member's token",
        security: [{}, { token: [] }],
        parameters: [
          { name: "id", in: "path", required: true, schema: text },
          { name: "filename", in: "path", required: true, schema: text },
          { name: "expires", in: "query", schema: { type: "integer" } },
          { name: "signature", in: "query", schema: text },
          { name: "download", in: "query", schema: { const: "1" }, description: "Save instead of show." },
        ],
        responses: {
          200: {
            description: "The bytes.",
            headers: { ...REQUEST_ID, ...FILE_HEADERS },
            content: { "*/*": { schema: { type: "string", format: "binary" } } },
          },
          206: {
            description: "A range of them.",
            headers: { ...REQUEST_ID, ...FILE_HEADERS, "Content-Range": { schema: text } },
            content: { "*/*": { schema: { type: "string", format: "binary" } } },
          },
          304: { description: "The client has them.", headers: { ...REQUEST_ID, ...FILE_HEADERS } },
          302: {
            description: "The bytes are at another address, which is valid for a few minutes.",
            headers: { ...REQUEST_ID, Location: { schema: text } },
          },
          308: {
            description: "The file has another name by now.",
            headers: { ...REQUEST_ID, Location: { schema: text } },
          },
          400: problem("unknown_parameter"),
          401: problem("invalid_token"),
          403: problem("invalid_signature"),
          404: problem("attachment_not_found"),
          409: problem("username_taken"),
          412: problem("precondition_failed"),
          416: problem("range_not_satisfiable"),
          429: problem("rate_limited"),
          503: problem("unavailable"),
        },
      },
    },
    "/metrics": metricsPath(),
    "/healthz": state("isAlive", "Whether the process lives"),
    "/readyz": state("isReady", "Whether it can do its work"),
  };
}

/** What is sent to webhooks. */
export function sentEvents(): object {
  const header = (name: string, description: string) => ({
    name,
    in: "header",
    required: true,
    description,
    schema: { type: "string" },
  });
  const sent = (schema: string, summary: string) => ({
    post: {
      operationId: `receive${schema}`,
      tags: ["webhooks"],
      summary,
      security: [],
      parameters: [
        header("webhook-id", "The event's id: the same at every attempt."),
        header("webhook-timestamp", "When it was sent, in Unix seconds."),
        header("webhook-signature", "One or more, with spaces between them (Standard Webhooks 1.0.0)."),
      ],
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } },
      },
      responses: {
        "2XX": { description: "Taken. Anything else is tried again, for three days." },
        410: { description: "Nothing more is sent: the webhook is disabled." },
      },
    },
  });
  return {
    event: sent("Event", "Something has happened"),
    test: sent("TestEvent", "Somebody tries the webhook"),
  };
}

function metricsPath(): object {
  return {
    get: {
      operationId: "readMetrics",
      tags: ["service"],
      summary: "Metrics in the format of Prometheus",
      description: "Scope: `admin`.",
      responses: {
        200: { description: "The metrics.", content: { "text/plain": { schema: { type: "string" } } } },
        401: problem("invalid_token"),
        403: problem("insufficient_scope"),
        409: problem("username_taken"),
        429: problem("rate_limited"),
        503: problem("unavailable"),
      },
    },
  };
}

function problem(code: ErrorCode): object {
  const schema = { $ref: "#/components/schemas/Problem" };
  const content = {
    "application/problem+json": { schema, examples: { [code]: { $ref: `${EXAMPLES}${code}` } } },
  };
  return { description: `\`${code}\``, headers: { ...REQUEST_ID, ...HEADERS_OF[code] }, content };
}
