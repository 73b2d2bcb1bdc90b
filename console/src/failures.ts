// Errors: what the console does about them, and their text for the user.
import { ParleyApiError } from "../../client/src/index.ts";
import { formatSize } from "./format.ts";

/** Whether the server refused the token. */
export function isRefused(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 401;
}

/** Whether the server is unreachable or failing, which may pass. */
export function isOutage(error: unknown): boolean {
  return error instanceof ParleyApiError && (error.status === 0 || error.status >= 500);
}

/** Whether the same request may succeed later. */
export function isPassing(error: unknown): boolean {
  return isOutage(error) || (error instanceof ParleyApiError && error.status === 429);
}

/** Whether it does not exist, or not any more. */
export function isGone(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 404;
}

/** Whether the user or a newer request aborted it: not an error to show. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Whether the file was refused because another user uploaded it. */
export function isForeign(error: unknown): boolean {
  return error instanceof ParleyApiError && error.code === "not_uploader";
}

/** The labels of the API's fields. */
export const LABELS = {
  username: "Username",
  phone_number: "Phone number",
  display_name: "Display name",
};

/** What each field accepts, by its `param`. */
const ACCEPTED: Readonly<Record<string, string>> = {
  username: `${LABELS.username} must have 1 to 128 characters, at least one of them visible.`,
  phone_number: `${LABELS.phone_number} must have 3 to 64 characters, at least 3 of them digits.`,
  display_name: `${LABELS.display_name} must have at most 128 characters.`,
  name: "The name must have 1 to 128 characters, at least one of them visible.",
  q: "Search for at most 20 words.",
  emoji: "A reaction is one character, such as an emoji.",
  filename: "The name must have 1 to 255 bytes and no slashes.",
};

/** Returns the text of an error: by its code and field, otherwise the server's own words. */
export function explain(error: unknown): string {
  if (!(error instanceof ParleyApiError)) return error instanceof Error ? error.message : String(error);
  if (error.code === "missing_token") return "The session has expired.";
  if (error.code === "connection_failed") return "The server cannot be reached. Check your network.";
  if (error.code === "source_changed")
    return "The file was changed or removed after you chose it. Choose it again.";
  if (error.code === "contact_exists") return "You already have a contact with this username.";
  const accepted = error.code === "invalid_parameter" ? ACCEPTED[error.param ?? ""] : undefined;
  return accepted ?? error.detail;
}

export function explainSize(size: number, limit: number): string {
  return `The file has ${formatSize(size)}. The server accepts at most ${formatSize(limit)}.`;
}
