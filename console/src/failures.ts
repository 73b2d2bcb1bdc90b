// How the console handles errors, and their texts for the user.
import { type ErrorCode, ParleyApiError } from "../../packages/parley-client/src/index.ts";
import { formatSize } from "./ui/format.ts";

export function isCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ParleyApiError && error.code === code;
}

/** Reports whether the server refused the token, or has paused its user. */
export function isRefused(error: unknown): boolean {
  return error instanceof ParleyApiError && (error.status === 401 || error.code === "user_paused");
}

/** Reports whether the server is unreachable or failing, which may be temporary. */
function isOutage(error: unknown): boolean {
  return error instanceof ParleyApiError && (error.status === 0 || error.status >= 500);
}

/** Reports whether the same request may succeed later, without any action of the user. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof ParleyApiError)) return false;
  // The file has changed, the disk or quota is full, or the daily limit of files is reached.
  if (error.code === "source_changed" || error.status === 507 || error.code === "daily_limit_reached")
    return false;
  // The first attempt may still be running if its connection was lost or its body stalled.
  if (error.code === "idempotency_in_progress" || error.code === "request_timeout") return true;
  return isOutage(error) || error.status === 429;
}

/** Reports whether the resource does not exist, or is deleted. */
export function isGone(error: unknown): boolean {
  return error instanceof ParleyApiError && error.status === 404;
}

/** Passes on other errors than that the resource does not exist, or is deleted. */
export function nullIfGone(error: unknown): null {
  if (!isGone(error)) throw error;
  return null;
}

/** Reports whether the user or a newer request aborted it: not an error to show. */
export function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** Reports whether the server refused because another user uploaded the file. */
export function isForeign(error: unknown): boolean {
  return isCode(error, "not_uploader");
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
  display_name: `${LABELS.display_name} must have at most 128 characters, without tabs or other control characters.`,
  name: "The name must have 1 to 128 characters, at least one of them visible.",
  q: "Search for at most 20 words.",
  emoji: "A reaction is one character, such as an emoji.",
  filename: "The name must have 1 to 255 bytes and no slashes.",
  description: "The description must have at most 1,000 characters.",
  avatar_url: "The picture URL must be an http or https URL of at most 2,048 characters.",
  members: "Invite at most 1,000 people, by their usernames.",
  url: "The address must start with https: and be public. The operator can allow others with PARLEY_WEBHOOKS_ALLOW_PRIVATE=true.",
  expires_at: "The token must expire in the future.",
};

/** Page and server do not match: the page may be older than the server. */
const OUTDATED = "The server does not understand this page. Reload it.";

export const PAUSED = "An administrator has paused your account. Nothing is lost. Ask them to resume it.";

/** The text of each code for users: the server's own texts are for developers. */
const TEXTS: Readonly<Record<ErrorCode, string>> = {
  ...{ malformed_request: OUTDATED, malformed_body: OUTDATED, route_not_found: OUTDATED },
  ...{ method_not_allowed: OUTDATED, unknown_parameter: OUTDATED, repeated_parameter: OUTDATED },
  ...{ upload_completed: OUTDATED, unsupported_upload_protocol: OUTDATED },
  ...{ unsupported_media_type: OUTDATED, headers_too_large: OUTDATED, idempotency_key_reused: OUTDATED },
  ...{ client_id_conflict: OUTDATED, origin_not_allowed: OUTDATED },
  connection_failed: "The server cannot be reached. Check your network.",
  timeout: "The server takes too long to answer. Try again.",
  unexpected_answer: "The answer is not from Parley. Check your network, and any proxy.",
  source_changed: "The file was changed or removed after you chose it. Choose it again.",
  missing_parameter: "Fill in all required fields.",
  invalid_parameter: "The server does not accept this value.",
  digest_mismatch: "The file was damaged on its way. Send it again.",
  checksum_mismatch: "The file was damaged on its way. Send it again.",
  upload_offset_mismatch: "The upload was interrupted. Send the file again.",
  upload_length_mismatch: "The file was changed after you chose it. Choose it again.",
  missing_token: "The session has expired.",
  invalid_token: "The access token is invalid, has expired or was revoked.",
  insufficient_scope: "Your access token does not allow this.",
  user_paused: PAUSED,
  invalid_signature: "The link has expired. Reload the page.",
  not_uploader: "Only the person who sent a file can rename or delete it.",
  not_sender: "Only the person who sent a message can edit it or delete it for everyone.",
  not_owner: "Only the user who created the webhook can do this.",
  not_admin: "Only admins of the group can do this.",
  contact_not_found: "The contact was deleted.",
  attachment_not_found: "The file was deleted.",
  preview_not_found: "This file has no preview.",
  avatar_not_found: "The picture was replaced or deleted.",
  message_not_found: "The message was deleted.",
  conversation_not_found: "You are no longer in this conversation.",
  group_not_found: "You are no longer in this group.",
  upload_not_found: "The upload has expired. Send the file again.",
  member_not_found: "This person is no longer in the group.",
  user_not_found: "The user was deleted.",
  token_not_found: "The access token was revoked.",
  webhook_not_found: "The webhook was deleted.",
  push_subscription_not_found: "The server no longer sends notifications to this browser.",
  delivery_not_found: "The delivery is too old and was deleted.",
  contact_exists: "You already have a contact with this username.",
  username_taken: "A user with this username already exists.",
  identity_taken: "Another user has this identity.",
  count_limit_reached: "You have reached a limit of the server. Delete what you no longer need.",
  idempotency_in_progress: "The server is still working on this. Try again in a moment.",
  webhook_disabled: "The webhook is disabled. Enable it first.",
  too_many_streams: "Parley is open in too many browsers. Close it in some of them.",
  events_erased: "Older changes are no longer available. Reload the page.",
  precondition_failed: "Somebody else has changed this. Reload the page.",
  request_timeout: "The connection is too slow. Try again.",
  rate_limited: "Too many requests. Try again in a moment.",
  range_not_satisfiable: "The file is shorter than expected. Reload the page.",
  file_too_large: "The file is larger than the server accepts.",
  file_infected: "The virus scanner of the server found something in this file, so it was not sent.",
  file_type_refused: "The server does not accept files of this type.",
  metadata_not_removable: "The place and date cannot be removed from this file, so it was not sent.",
  daily_limit_reached: "You have sent as many files today as the server accepts. Try again tomorrow.",
  body_too_large: "The text is longer than the server accepts.",
  quota_exceeded: "Your storage is full. Delete files that you have sent, the largest first.",
  disk_full: "The disk of the server is full. Ask your administrator to make room.",
  internal_error: "The server failed. Try again, or ask your administrator.",
  unavailable: "The server is busy. Try again in a moment.",
  outcome_unknown:
    "The server lost its database connection. Check whether this was done before you try again.",
};

/** Returns the text of an error, by its code and field. Never shows the server's own text. */
export function explain(error: unknown): string {
  if (!(error instanceof ParleyApiError)) return error instanceof Error ? error.message : String(error);
  const { code, param = "", requestId } = error;
  const accepted = code === "invalid_parameter" ? ACCEPTED[param] : undefined;
  const text = accepted ?? TEXTS[code];
  if (text !== undefined && code !== "internal_error") return text;
  // A newer server may have other codes. The request id finds the details in its log.
  const id = requestId === undefined ? "" : ` Request ID: ${requestId}.`;
  return `${text ?? "The server refused this."}${id}`;
}

/** An error as shown in a form. */
export interface FormFailure {
  text: string;
  /** The field that caused the error; empty if none did. */
  param: string;
  /** The id of the existing resource, if that is the problem; otherwise empty. */
  existing: string;
}

export const NO_FAILURE: FormFailure = { text: "", param: "", existing: "" };

export function toFormFailure(error: unknown): FormFailure {
  const { param = "", members = {} } = error instanceof ParleyApiError ? error : {};
  return { text: explain(error), param, existing: String(members.existing_id ?? "") };
}

/** Names the limit that was reached, because many limits share one code. Returns other errors unchanged. */
export function nameLimit(error: unknown, text: string): unknown {
  return isCode(error, "count_limit_reached") ? new Error(text) : error;
}

export function explainSize(size: number, limit: number): string {
  return `The file is ${formatSize(size)}. The server accepts at most ${formatSize(limit)}.`;
}
