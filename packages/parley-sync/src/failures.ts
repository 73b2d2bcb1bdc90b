import type { Reason } from "./types.ts";

interface ApiError {
  code: string;
  status: number;
  detail: string;
  param?: string | undefined;
  retryAfter?: number | undefined;
}

/** Errors of the client are known by their fields: its classes are not imported. */
function toApiError(error: unknown): ApiError | undefined {
  const { code, status } = (error ?? {}) as Partial<ApiError>;
  return typeof code === "string" && typeof status === "number" ? (error as ApiError) : undefined;
}

export const isCode = (error: unknown, code: string) => toApiError(error)?.code === code;

export function isNotFound(error: unknown): boolean {
  const { status, code } = toApiError(error) ?? {};
  return status === 404 && code !== "unexpected_answer";
}

/** Whether the same request may succeed later: nothing of Parley has refused it. */
export function isPassing(error: unknown): boolean {
  const { status = -1, code } = toApiError(error) ?? {};
  // The storage is full, or the limit of the day is reached: only the user can change that soon.
  if (code === "source_changed" || code === "daily_limit_reached" || status === 507) return false;
  return (
    status === 0 ||
    status === 408 ||
    status === 429 ||
    status >= 500 ||
    code === "unexpected_answer" ||
    code === "idempotency_in_progress"
  );
}

/** Whether the token is invalid, expired or revoked, or its user paused. The same request may succeed with the next token, or later. */
export const isSignedOut = (error: unknown) =>
  toApiError(error)?.status === 401 || isCode(error, "user_paused");

export function toReason(error: unknown): Reason {
  const known = toApiError(error);
  if (known) return { code: known.code, detail: known.detail, param: known.param };
  return { code: "unexpected", detail: error instanceof Error ? error.message : String(error) };
}

export const retryAfterOf = (error: unknown) => toApiError(error)?.retryAfter;

/** Resolves with undefined if the token lacks the scope. */
export async function ifAllowed<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (!isCode(error, "insufficient_scope")) throw error;
    return undefined;
  }
}

export class Lost extends Error {
  readonly code = "connection_failed";
  readonly status = 0;
  readonly detail = "The connection was lost. The client connects again.";
}

export class NoEvents extends Error {
  readonly code = "insufficient_scope";
  readonly status = 403;
  readonly detail = "The token lacks the scope events:read. Use one that has it.";
}

/** An event is missing. */
export class Gap extends Error {}
