import type { components } from "./schema.ts";

/**
 * Why a request failed: a code of the API (docs/api.md, Errors), or, where no answer of the API came,
 * `connection_failed`, `timeout` (nothing came for `timeoutMs`) or `unexpected_answer` (of a proxy, or another server).
 */
export type ErrorCode =
  | components["schemas"]["Problem"]["code"]
  | "connection_failed"
  | "timeout"
  | "unexpected_answer";

interface Failure {
  code: ErrorCode;
  status: number;
  detail: string;
  param?: string | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  members?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

/** A request that failed, after all that could be tried. Its message is `detail`. */
export class ParleyApiError extends Error {
  override readonly name = "ParleyApiError";
  readonly code: ErrorCode;
  /** The HTTP status; 0 where no answer came. */
  readonly status: number;
  /** A sentence that says how to mend it. */
  readonly detail: string;
  /** The field at fault, where there is one. */
  readonly param: string | undefined;
  /** What the server's log knows the request by. */
  readonly requestId: string | undefined;
  /** Seconds after which the request may be sent again. */
  readonly retryAfter: number | undefined;
  /** All members of the problem's body, such as `existing_id`. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(failure: Failure) {
    super(failure.detail, { cause: failure.cause });
    this.code = failure.code;
    this.status = failure.status;
    this.detail = failure.detail;
    this.param = failure.param;
    this.requestId = failure.requestId;
    this.retryAfter = failure.retryAfter;
    this.members = failure.members ?? {};
  }
}

/** The error that an answer other than a success tells of. */
export async function errorOf(response: Response): Promise<ParleyApiError> {
  const { status, headers } = response;
  const retryAfter = secondsOf(headers.get("retry-after"));
  const requestId = headers.get("request-id") ?? undefined;
  const text = await response.text();
  if (!headers.get("content-type")?.startsWith("application/problem+json")) {
    return unexpectedAnswer(status, { requestId, retryAfter });
  }
  const members: components["schemas"]["Problem"] = JSON.parse(text);
  const { code, detail, param } = members;
  return new ParleyApiError({ code, status, detail, param, requestId, retryAfter, members });
}

export function unexpectedAnswer(status: number, more: Partial<Failure>): ParleyApiError {
  const detail = `The answer (${status}) is not one of Parley: look at the address, and at what is in front of the server.`;
  return new ParleyApiError({ ...more, code: "unexpected_answer", status, detail });
}

/** RFC 9110, section 10.2.3: seconds, or a date, which proxies send. */
function secondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}

/** What became of the connection, unless it was the caller who ended it. */
export function connectionError(cause: unknown): ParleyApiError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const said = reason instanceof Error && reason.message ? ` (${reason.message})` : "";
  const detail = `The connection to the server could not be made, or was lost${said}.`;
  return new ParleyApiError({ code: "connection_failed", status: 0, detail, cause });
}
