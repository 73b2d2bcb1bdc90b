import type { components } from "./schema.ts";

/**
 * Why a request failed: a code of the API (docs/api.md, Errors), or, where no answer of the API came,
 * `connection_failed`, `timeout` (nothing came for `timeoutMs`), `unexpected_answer` (of a proxy, or another server) or
 * `source_changed` (what was uploaded had more or fewer bytes than were announced, or could be read no more).
 */
export type ErrorCode =
  | components["schemas"]["Problem"]["code"]
  | "connection_failed"
  | "timeout"
  | "source_changed"
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
  const isProblem = headers.get("content-type")?.startsWith("application/problem+json");
  const members = isProblem ? (jsonOf(text) as components["schemas"]["Problem"] | null | undefined) : null;
  // Gateways, too, answer with problems, which have other members.
  if (typeof members?.code !== "string" || typeof members.detail !== "string")
    return unexpectedAnswer(status, { requestId, retryAfter });
  const { code, detail, param } = members;
  return new ParleyApiError({ code, status, detail, param, requestId, retryAfter, members });
}

/** What a text says; undefined where it is no JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `to`: where it leads, where that is known. */
export function redirected(status: number, to: string | null): ParleyApiError {
  const where = to === null ? "" : ` to ${to}`;
  const detail = `The server redirects${where}, which is not followed: give the address that it leads to.`;
  return new ParleyApiError({ code: "unexpected_answer", status, detail });
}

export function unexpectedAnswer(status: number, more: Partial<Failure> = {}): ParleyApiError {
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
