const text = { type: "string" };

/** The headers of answers, as the OpenAPI document describes them. */
export const headers = {
  "Request-Id": { description: "Also in the server's log.", schema: text },
  "X-Content-Type-Options": { description: "Always `nosniff`.", schema: { const: "nosniff" } },
  "RateLimit-Policy": {
    description: "The limit. Missing if there is none.",
    schema: text,
  },
  RateLimit: { description: "What remains of the limit.", schema: text },
  "Retry-After": { description: "Seconds to wait before a retry.", schema: { type: "integer", minimum: 0 } },
  "Idempotent-Replayed": {
    description: "The first request with this key succeeded; this is its answer.",
    schema: { const: "true" },
  },
  "WWW-Authenticate": { description: "Bearer (RFC 6750).", schema: text },
  ETag: { description: "For If-None-Match and If-Match.", schema: text },
  Location: { description: "The address of the resource, or of a redirect.", schema: text },
  Link: { description: "rel=next and rel=prev (RFC 8288).", schema: text },
  "Last-Event-ID": {
    description:
      "A cursor: the newest event when the server began to answer, or the event that a stream continues after.",
    schema: text,
  },
  "X-Accel-Buffering": {
    description: "Only of a stream: nginx must pass on what comes at once.",
    schema: { const: "no" },
  },
  "Last-Modified": { schema: text },
  "Accept-Ranges": { schema: text },
  "Content-Range": { description: "The range of these bytes, and the size of the file.", schema: text },
  "Repr-Digest": { description: "The SHA-256 of the whole file (RFC 9530).", schema: text },
  "Content-Disposition": { description: "The name of the file.", schema: text },
  "Content-Security-Policy": { schema: text },
  "Cross-Origin-Resource-Policy": { schema: text },
  "Parley-Unscanned": {
    description: "The server scans for viruses, but accepted this file without a scan.",
    schema: { const: "true" },
  },
  "Parley-Attachment": { description: "The attachment, once the upload is complete.", schema: text },
  "Tus-Resumable": { description: "If the request spoke tus.", schema: text },
  "Upload-Offset": { description: "The bytes that the server has.", schema: { type: "integer", minimum: 0 } },
  "Upload-Length": { description: "The bytes of the whole file.", schema: { type: "integer", minimum: 0 } },
  "Upload-Defer-Length": { description: "In tus, if the length is not known yet.", schema: { const: "1" } },
  "Upload-Metadata": { description: "In tus: the fields of the upload.", schema: text },
  "Upload-Complete": { description: "`?1` or `?0`.", schema: text },
  "Upload-Expires": { description: "When the upload expires if no more bytes come.", schema: text },
  "Upload-Limit": { description: "What the server accepts.", schema: text },
  "Tus-Version": { description: "The version of tus that the server supports.", schema: text },
  "Referrer-Policy": { description: "Always `no-referrer`.", schema: { const: "no-referrer" } },
};

export type HeaderName = keyof typeof headers;
