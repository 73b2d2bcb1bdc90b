import { catalogue, type ErrorCode, type ParleyError } from "../../errors.ts";

/** Maps each code to its status. No other module knows statuses of codes. */
const statuses: Record<ErrorCode, number> = {
  malformed_request: 400,
  malformed_body: 400,
  missing_parameter: 400,
  invalid_parameter: 400,
  unknown_parameter: 400,
  repeated_parameter: 400,
  digest_mismatch: 400,
  missing_token: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  user_paused: 403,
  invalid_signature: 403,
  origin_not_allowed: 403,
  not_uploader: 403,
  not_sender: 403,
  not_owner: 403,
  not_admin: 403,
  route_not_found: 404,
  contact_not_found: 404,
  attachment_not_found: 404,
  preview_not_found: 404,
  avatar_not_found: 404,
  conversation_not_found: 404,
  message_not_found: 404,
  group_not_found: 404,
  upload_not_found: 404,
  member_not_found: 404,
  user_not_found: 404,
  token_not_found: 404,
  webhook_not_found: 404,
  push_subscription_not_found: 404,
  delivery_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  contact_exists: 409,
  username_taken: 409,
  identity_taken: 409,
  count_limit_reached: 409,
  idempotency_in_progress: 409,
  client_id_conflict: 409,
  events_erased: 410,
  precondition_failed: 412,
  file_too_large: 413,
  body_too_large: 413,
  unsupported_media_type: 415,
  file_type_refused: 415,
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  file_infected: 422,
  metadata_not_removable: 422,
  rate_limited: 429,
  daily_limit_reached: 429,
  upload_offset_mismatch: 409,
  upload_completed: 400,
  upload_length_mismatch: 400,
  unsupported_upload_protocol: 412,
  webhook_disabled: 409,
  too_many_streams: 429,
  headers_too_large: 431,
  checksum_mismatch: 460,
  internal_error: 500,
  unavailable: 503,
  outcome_unknown: 503,
  quota_exceeded: 507,
  disk_full: 507,
};

/** Registered problem types (draft-ietf-httpbis-resumable-upload). The `type` of other codes is a page of this server. */
const REGISTERED: Partial<Record<ErrorCode, string>> = {
  upload_offset_mismatch: "https://iana.org/assignments/http-problem-types#mismatching-upload-offset",
  upload_completed: "https://iana.org/assignments/http-problem-types#completed-upload",
  upload_length_mismatch: "https://iana.org/assignments/http-problem-types#inconsistent-upload-length",
};

const RETRY_AFTER_SECONDS = "1";

type Described = Pick<ParleyError, "code" | "message" | "param" | "members" | "header">;

/** An error as it is sent: problem details of RFC 9457. */
interface Problem {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export function statusOf(code: ErrorCode): number {
  return statuses[code];
}

/** Renders an error. `origin` is the server's public address, which has a page for each code. */
export function problemOf(error: Described, requestId: string, origin: string): Problem {
  const { code, param, members } = error;
  const status = statuses[code];
  const body = {
    type: REGISTERED[code] ?? `${origin}/docs/errors/${code}`,
    title: catalogue[code].title,
    status,
    detail: error.message,
    code,
    ...(param === undefined ? {} : { param }),
    ...members,
    request_id: requestId,
  };
  return {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", ...headersOf(error) },
    body: JSON.stringify(body),
  };
}

function headersOf(error: Described): Record<string, string> {
  switch (error.code) {
    case "missing_token":
      return { "www-authenticate": "Bearer" };
    case "invalid_token":
      return { "www-authenticate": 'Bearer error="invalid_token"' };
    case "insufficient_scope":
      return { "www-authenticate": `Bearer error="insufficient_scope", scope="${error.header}"` };
    case "method_not_allowed":
      return { allow: error.header! };
    case "range_not_satisfiable":
      return { "content-range": `bytes */${error.header}` };
    case "upload_offset_mismatch":
      return { "upload-offset": error.header! };
    case "unsupported_upload_protocol":
      return { "tus-version": error.header! };
    case "rate_limited":
    case "daily_limit_reached":
      return { "retry-after": error.header! };
    case "unavailable":
    case "idempotency_in_progress":
      return { "retry-after": error.header ?? RETRY_AFTER_SECONDS };
    default:
      return {};
  }
}
