// Declares which answers of the OpenAPI document have which headers.
import type { ErrorCode } from "../../errors.ts";
import type { HeaderName } from "../protocol/headers.ts";

/** Headers of every answer. */
const COMMON_HEADERS: readonly HeaderName[] = ["Request-Id", "X-Content-Type-Options"];
/** Headers of answers to a request with a valid token. */
export const RATE_HEADERS: readonly HeaderName[] = ["RateLimit-Policy", "RateLimit"];
/** Headers that only answers with these codes have. */
export const CODE_HEADERS: Readonly<Partial<Record<ErrorCode, HeaderName>>> = {
  missing_token: "WWW-Authenticate",
  invalid_token: "WWW-Authenticate",
  insufficient_scope: "WWW-Authenticate",
  range_not_satisfiable: "Content-Range",
  upload_offset_mismatch: "Upload-Offset",
  unsupported_upload_protocol: "Tus-Version",
  rate_limited: "Retry-After",
  daily_limit_reached: "Retry-After",
  idempotency_in_progress: "Retry-After",
  unavailable: "Retry-After",
};

/** Returns the `headers` of an answer, each once: the common ones and these. */
export function headersNamed(...names: readonly HeaderName[]): object {
  return Object.fromEntries(
    [...COMMON_HEADERS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}
