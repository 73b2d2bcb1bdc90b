import type { components } from "./schema.ts";

/**
 * Why a request failed: a code of the API (docs/api/README.md, Errors) or, if the API did not answer,
 * `connection_failed`, `timeout` (nothing arrived for `timeoutMs`), `unexpected_answer` (from a proxy or another server) or
 * `source_changed` (the source of an upload changed its size, or could not be read any more).
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

/** A request that failed, after all retries. Its message is `detail`. */
export class ParleyApiError extends Error {
  override readonly name = "ParleyApiError";
  readonly code: ErrorCode;
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** Says what is wrong, and what to do. */
  readonly detail: string;
  /** The field at fault, if there is one. */
  readonly param: string | undefined;
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined;
  /** Seconds after which to retry. */
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

/** Reads the error from an answer that is not a success. */
export async function readError(response: Response): Promise<ParleyApiError> {
  const { status, headers } = response;
  const retryAfter = parseRetryAfter(headers.get("retry-after"));
  const requestId = headers.get("request-id") ?? undefined;
  const text = await response.text();
  const isProblem = headers.get("content-type")?.startsWith("application/problem+json");
  const members = isProblem ? (parseJson(text) as components["schemas"]["Problem"] | null | undefined) : null;
  // Gateways answer with problems too, but with other members.
  if (typeof members?.code !== "string" || typeof members.detail !== "string")
    return unexpectedAnswer(status, { requestId, retryAfter });
  const { code, detail, param } = members;
  return new ParleyApiError({ code, status, detail, param, requestId, retryAfter, members });
}

/** Parses JSON; returns undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `to`: the target of the redirect, if known. */
export function redirected(status: number, to: string | null): ParleyApiError {
  const where = to === null ? "" : ` to ${to}`;
  const detail = `The server redirects${where}, and the client does not follow. Use the URL that it redirects to.`;
  return new ParleyApiError({ code: "unexpected_answer", status, detail });
}

export function unexpectedAnswer(status: number, more: Partial<Failure> = {}): ParleyApiError {
  const detail = `The answer (${status}) is not from Parley. Check the URL and any proxy in front of the server.`;
  return new ParleyApiError({ ...more, code: "unexpected_answer", status, detail });
}

/** Parses Retry-After (RFC 9110, section 10.2.3): seconds, or a date, which proxies send. */
function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds));
}

/** The page or worker that runs the client, in browsers. */
const { location } = globalThis as { location?: { origin: string } };

/**
 * Describes a connection that failed without an abort of the caller. `url`: of a request without an answer. Browsers do not say
 * that the server does not let their page call.
 */
export function connectionError(cause: unknown, url?: string): ParleyApiError {
  const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = reason instanceof Error && reason.message ? ` (${reason.message})` : "";
  const isForeign = url !== undefined && location !== undefined && new URL(url).origin !== location.origin;
  const advice = isForeign ? ` Check that PARLEY_CORS_ORIGINS of the server has ${location.origin}.` : "";
  const detail = `The connection to the server failed${why}.${advice}`;
  return new ParleyApiError({ code: "connection_failed", status: 0, detail, cause });
}
