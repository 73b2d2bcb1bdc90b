import type { FastifyInstance, FastifyRequest } from "fastify";

/** The headers of resumable uploads. */
const UPLOAD_HEADERS = {
  asked: [
    "Tus-Resumable",
    "Upload-Checksum",
    "Upload-Complete",
    "Upload-Defer-Length",
    "Upload-Draft-Interop-Version",
    "Upload-Incomplete",
    "Upload-Length",
    "Upload-Metadata",
    "Upload-Offset",
  ],
  answered: [
    "Parley-Attachment",
    "Tus-Checksum-Algorithm",
    "Tus-Extension",
    "Tus-Max-Size",
    "Tus-Resumable",
    "Tus-Version",
    "Upload-Complete",
    "Upload-Defer-Length",
    "Upload-Draft-Interop-Version",
    "Upload-Expires",
    "Upload-Incomplete",
    "Upload-Length",
    "Upload-Limit",
    "Upload-Metadata",
    "Upload-Offset",
  ],
};

/** Lets pages of these origins call the API with a token. Added before all other hooks: a preflight has no token. */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  const { default: cors } = await import("@fastify/cors");
  const options = {
    origin: origins.includes("*") ? "*" : [...origins],
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    allowedHeaders: [
      "Authorization",
      "Content-Type",
      "Content-Digest",
      "Idempotency-Key",
      "If-Match",
      "If-None-Match",
      "If-Range",
      "Last-Event-ID",
      "Range",
      ...UPLOAD_HEADERS.asked,
    ],
    exposedHeaders: [
      "Accept-Ranges",
      "Content-Disposition",
      "Content-Range",
      "ETag",
      "Idempotent-Replayed",
      "Last-Event-ID",
      "Link",
      "Location",
      "Parley-Unscanned",
      "RateLimit",
      "RateLimit-Policy",
      "Repr-Digest",
      "Request-Id",
      "Retry-After",
      ...UPLOAD_HEADERS.answered,
    ],
    maxAge: 7200,
  };
  await app.register(cors, {
    // An OPTIONS that is no preflight is a method like any other, and answered as such.
    delegator: (request: FastifyRequest, done: (error: null, options: object) => void) =>
      done(null, { ...options, preflight: isPreflight(request) }),
  });
}

function isPreflight({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}
