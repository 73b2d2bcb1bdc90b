/**
 * The closed catalogue of errors. `title` names the error, `explanation` is what its page says: why it happens
 * and how to mend it. Only `http/` knows which status code each one has.
 */
export const catalogue = {
  malformed_request: {
    title: "The request is not valid HTTP",
    explanation:
      "The request line, a header or the framing of the body could not be parsed, or two readers could read it in two ways, as where Host, Authorization or Content-Type stands twice. Send valid HTTP/1.1.",
  },
  malformed_body: {
    title: "The body could not be parsed",
    explanation:
      "The body is not well formed for its Content-Type, is not UTF-8, or ended early. Check its syntax and encoding.",
  },
  missing_parameter: {
    title: "A required field is missing",
    explanation:
      "The field named in `param` is required. Send it in the body, or, for a file, as a multipart part.",
  },
  invalid_parameter: {
    title: "A field has a value that is not accepted",
    explanation: "The field named in `param` has a wrong type or form. `detail` says what is accepted.",
  },
  unknown_parameter: {
    title: "A field is not known here, or may not be written",
    explanation:
      "Nothing is silently ignored: remove the field named in `param`. `detail` lists the accepted ones.",
  },
  repeated_parameter: {
    title: "A field was given more than once",
    explanation: "Send the field named in `param` once, in one place.",
  },
  digest_mismatch: {
    title: "The content is not what its digest says",
    explanation: "The bytes that came have another SHA-256 than `Content-Digest` announced. Send them again.",
  },
  missing_token: {
    title: "Authentication is required",
    explanation:
      "Send the header `Authorization: Bearer <ACCESS_TOKEN>`. `parley token create NAME` makes a token.",
  },
  invalid_token: {
    title: "The access token is not valid",
    explanation:
      "The token is malformed, unknown, expired or revoked. Make a new one: `parley token create NAME`. A signed token must be one of the identity provider that this server trusts.",
  },
  insufficient_scope: {
    title: "The access token lacks a scope",
    explanation: "Use a token that was made with the scope that `detail` names.",
  },
  invalid_signature: {
    title: "The link is not valid, or no longer",
    explanation:
      "Links to files are signed and expire. Retrieve the attachment again for a fresh `file_url`, or send a member's access token.",
  },
  not_uploader: {
    title: "Only the uploader may do this",
    explanation: "An attachment is renamed and deleted only by the user who uploaded it.",
  },
  route_not_found: {
    title: "There is nothing at this address",
    explanation: "Check the path. All resources are below /v1.",
  },
  contact_not_found: {
    title: "There is no such contact",
    explanation: "The id is unknown, malformed, deleted, or of a contact that is not yours.",
  },
  attachment_not_found: {
    title: "There is no such attachment",
    explanation: "The id is unknown, malformed, deleted, or of an attachment that you may not see.",
  },
  conversation_not_found: {
    title: "There is no such conversation",
    explanation: "The id is unknown, malformed, deleted, or of a conversation that you are not a member of.",
  },
  message_not_found: {
    title: "There is no such message",
    explanation: "The id is unknown, malformed, deleted, or of a message that is not yours.",
  },
  user_not_found: {
    title: "There is no such user",
    explanation:
      "The id or name is unknown or malformed, or the user was erased. `GET /v1/users` and `parley user list` show the users.",
  },
  token_not_found: {
    title: "There is no such token",
    explanation:
      "The id is unknown or malformed, or the token was revoked already. `GET /v1/tokens` and `parley token list` show the tokens.",
  },
  webhook_not_found: {
    title: "There is no such webhook",
    explanation: "The id is unknown, malformed, deleted, or of a webhook that is not yours.",
  },
  delivery_not_found: {
    title: "There is no such delivery",
    explanation: "The id is unknown or malformed, or the delivery is so old that it was erased.",
  },
  method_not_allowed: {
    title: "The method is not allowed at this address",
    explanation: "The header `Allow` of the answer lists the methods that are.",
  },
  request_timeout: {
    title: "The request took too long to arrive",
    explanation: "The headers or the body stalled or came too slowly. Send the request again.",
  },
  contact_exists: {
    title: "The contact exists",
    explanation: "A username is once in a contact list. `existing_id` is the contact that has it.",
  },
  username_taken: {
    title: "The username is taken",
    explanation:
      "Choose another username, for a user of an identity provider there. Names that differ only in case are the same. Administrators see in `existing_id` who has it.",
  },
  count_limit_reached: {
    title: "There are as many of these as there may be",
    explanation:
      "The limit that `detail` names is reached. Delete some that are not needed any more; then send the request again.",
  },
  idempotency_in_progress: {
    title: "The first request with this Idempotency-Key is still under way",
    explanation: "Wait for its answer, or send the same request again a little later.",
  },
  idempotency_key_reused: {
    title: "The Idempotency-Key was used for another request",
    explanation:
      "A key stands for one request, with all its fields, for 24 hours. Make a new key for a new request.",
  },
  webhook_disabled: {
    title: "The webhook is disabled",
    explanation: "Nothing is sent to it. Enable it first: update it with `enabled` true.",
  },
  too_many_streams: {
    title: "The user has as many streams of events open as there may be",
    explanation: "Close one of them that is not needed any more, or read events in pages.",
  },
  events_erased: {
    title: "Events after this one have been erased",
    explanation:
      "Events are kept for some days, and those that came next are older. Read what there is now, and begin without `Last-Event-ID`.",
  },
  precondition_failed: {
    title: "The resource has changed",
    explanation: "It is not the version that `If-Match` names. Retrieve it again, and decide anew.",
  },
  file_too_large: {
    title: "The file is too large",
    explanation:
      "The file passes the limit that `detail` names. The operator sets it as PARLEY_MAX_FILE_SIZE.",
  },
  body_too_large: {
    title: "The body is too large",
    explanation:
      "The fields of a request fit in the size that `detail` names. Files are sent as multipart/form-data.",
  },
  rate_limited: {
    title: "Too many requests",
    explanation:
      "Go on after the time in the header `Retry-After`. `RateLimit-Policy` and `RateLimit` say how much is allowed, and how much of it is left.",
  },
  headers_too_large: {
    title: "The headers are too large",
    explanation:
      "The request line and the headers together pass the limit that `detail` names. Shorten them.",
  },
  unsupported_media_type: {
    title: "The body has a type that is not accepted here",
    explanation: "Send the body with one of the types that `detail` lists.",
  },
  range_not_satisfiable: {
    title: "The range lies outside the file",
    explanation: "The header `Content-Range` of the answer has the size of the file.",
  },
  internal_error: {
    title: "Something went wrong here",
    explanation: "The fault is the server's. Its log has the details under the `request_id`.",
  },
  unavailable: {
    title: "The service cannot do this right now",
    explanation: "Try again after the time in the header `Retry-After`.",
  },
  outcome_unknown: {
    title: "It is not known whether this was done",
    explanation:
      "The database was lost at the moment of the write. Look whether it was done, before you send it again.",
  },
  quota_exceeded: {
    title: "The quota of the user is used up",
    explanation:
      "Nothing was kept of this file. Delete files, or ask the operator to raise PARLEY_USER_QUOTA.",
  },
  disk_full: {
    title: "The disk is full",
    explanation: "Nothing was kept of this request. The operator must free space; then send it again.",
  },
} as const;

export type ErrorCode = keyof typeof catalogue;

/** An error that a caller is told of. `message` is the problem's `detail`: a sentence that says how to mend it. */
export class ParleyError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  /** Further members of the problem's body. */
  readonly members: Readonly<Record<string, string>>;
  /** What `http/` says in a header: the missing scope, the allowed methods, the size of the file, the seconds to wait. */
  readonly header: string | undefined;

  constructor(
    code: ErrorCode,
    detail?: string,
    options: { param?: string; members?: Record<string, string>; header?: string; cause?: unknown } = {},
  ) {
    super(detail ?? catalogue[code].explanation, { cause: options.cause });
    this.name = "ParleyError";
    this.code = code;
    this.param = options.param;
    this.members = options.members ?? {};
    this.header = options.header;
  }
}

/** Whether an error of a write tells for certain that nothing of it was done. */
export function isUndone(error: unknown): boolean {
  return error instanceof ParleyError && error.code !== "outcome_unknown";
}

/** An error for the person who runs Parley: its message says what is wrong and how to mend it, no stack is shown. */
export class OperatorError extends Error {}
