import type { FastifyInstance, FastifyRequest } from "fastify";
import { ACT_AS } from "./acting.ts";
import { KEY_HEADER } from "./sessions.ts";

/** The headers of answers to resumable uploads. */
const UPLOAD_HEADERS = [
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
];

const MAX_REQUEST_HEADERS = 50;
// Not `*`, which stands for all headers.
const HEADER_NAME = /^[a-z0-9_.-]{1,100}$/;
/** Headers with which a page of another origin could use the session of the console, or act as any user. */
const REFUSED = new Set(["cookie", "cookie2", KEY_HEADER, ACT_AS.toLowerCase()]);

/** Lets pages of these origins call the API with a token. Call it before other hooks are added: a preflight has no token. */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  const { default: cors } = await import("@fastify/cors");
  const options = {
    origin: origins.includes("*") ? "*" : [...origins],
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
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
      ...UPLOAD_HEADERS,
    ],
    maxAge: 7200,
  };
  await app.register(cors, {
    // An OPTIONS request that is not a preflight is handled like any other method.
    delegator: (request: FastifyRequest, done: (error: null, options: object) => void) =>
      done(null, {
        ...options,
        preflight: isPreflight(request),
        allowedHeaders: allowedHeaders(request),
      }),
  });
}

function isPreflight({ headers }: FastifyRequest): boolean {
  return headers.origin !== undefined && headers["access-control-request-method"] !== undefined;
}

/** Returns the headers that a page may send: those that it requests, because tracing, caching and proxies add headers. */
function allowedHeaders({ headers }: FastifyRequest): string[] {
  const requested = (headers["access-control-request-headers"] ?? "")
    .toLowerCase()
    .split(",", MAX_REQUEST_HEADERS);
  return requested.map((name) => name.trim()).filter((name) => HEADER_NAME.test(name) && !REFUSED.has(name));
}
