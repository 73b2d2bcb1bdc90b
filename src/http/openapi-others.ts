// What the OpenAPI document has besides the operations: other routes, what is sent to webhooks, and what all share.
import type { ErrorCode } from "../errors.ts";
import { statusOf } from "./problems.ts";

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
const HEADERS_OF: Readonly<Partial<Record<ErrorCode, object>>> = {
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

const FILE_ERRORS: readonly ErrorCode[] = [
  "malformed_request",
  "invalid_parameter",
  "unknown_parameter",
  "repeated_parameter",
  "invalid_token",
  "invalid_signature",
  "insufficient_scope",
  "attachment_not_found",
  "username_taken",
  "precondition_failed",
  "range_not_satisfiable",
  "rate_limited",
  "internal_error",
  "unavailable",
];

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
        ...problems(["malformed_request", "unknown_parameter", "repeated_parameter", "unavailable"]),
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
          ...problems(FILE_ERRORS),
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
        ...problems([
          "malformed_request",
          "unknown_parameter",
          "repeated_parameter",
          "missing_token",
          "invalid_token",
          "insufficient_scope",
          "username_taken",
          "unsupported_media_type",
          "rate_limited",
          "internal_error",
          "unavailable",
        ]),
      },
    },
  };
}

/** One response for each status, with an example of each of its codes. */
export function problems(codes: Iterable<ErrorCode>): object {
  const responses: Record<string, { description: string; content: object; headers: object }> = {};
  for (const code of new Set(codes)) {
    const status = statusOf(code);
    const known = responses[status];
    const examples = { ...examplesIn(known), [code]: { $ref: `${EXAMPLES}${code}` } };
    responses[status] = {
      description: known ? `${known.description} · \`${code}\`` : `\`${code}\``,
      headers: { ...REQUEST_ID, ...known?.headers, ...HEADERS_OF[code] },
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" }, examples } },
    };
  }
  return responses;
}

function examplesIn(response: { content: object } | undefined): object {
  const content = response?.content as Record<string, { examples: object }> | undefined;
  return content?.["application/problem+json"]?.examples ?? {};
}
