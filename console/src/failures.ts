// What went wrong, as the console has to know it and as a person can read it.
import { ParleyApiError } from "../../client/src/index.ts";

/** Whether the token is not taken, or not any more. */
export function isRefused(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 401;
}

/** Whether the server is away, or not itself: it may be back in a moment. */
export function isOutage(error: unknown): boolean {
  return error instanceof ParleyApiError && (error.status === 0 || error.status >= 500);
}

/** Whether the person, or a newer question, ended it: nothing to tell. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Whether it is refused for being another's. */
export function isForeign(error: unknown): boolean {
  return error instanceof ParleyApiError && error.code === "not_uploader";
}

/** What the fields of the API are called on the screen. */
export const LABELS = {
  username: "Username",
  phone_number: "Phone number",
  display_name: "Display name",
  filename: "The name",
};

export function explain(error: unknown): string {
  if (!(error instanceof ParleyApiError)) return error instanceof Error ? error.message : String(error);
  if (error.code === "connection_failed") return "The server cannot be reached. Is the network there?";
  if (error.code === "source_changed")
    return "The file was changed or taken away since it was chosen. Choose it again.";
  if (error.code === "contact_exists") return "You have a contact of this username.";
  const { param = "", detail } = error;
  if (!(param in LABELS)) return detail;
  return detail
    .replace(param, LABELS[param as keyof typeof LABELS])
    .replace(/must be (?:a string of )?(\d)/, "must have $1");
}
