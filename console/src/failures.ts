// What went wrong, as the console has to know it and as a person can read it.
import { ParleyApiError } from "../../client/src/index.ts";

/** Whether the token is not taken, or not any more. */
export function isRefused(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 401;
}

/** Whether the person, or a newer question, ended it: nothing to tell. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

export function explain(error: unknown): string {
  if (error instanceof ParleyApiError) {
    if (error.code === "connection_failed") return "The server cannot be reached. Is the network there?";
    return error.detail;
  }
  return error instanceof Error ? error.message : String(error);
}
