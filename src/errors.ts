/**
 * The closed catalogue of errors. The page of an error shows its `title` and its `explanation`: why it happens and what to
 * do. Only `http/` knows the status codes.
 */
export const catalogue = {
  malformed_request: {
    title: "Malformed request",
    explanation:
      "The server could not parse the request line, a header or the framing of the body, or they are ambiguous, as with two Host headers. Send valid HTTP/1.1.",
  },
  malformed_body: {
    title: "Malformed body",
    explanation:
      "The body does not match its Content-Type, is not UTF-8, or ended early. Check its syntax and encoding.",
  },
  missing_parameter: {
    title: "Required field missing",
    explanation:
      "The field named in `param` is required. Send it in the body, or as a multipart part if it is a file.",
  },
  invalid_parameter: {
    title: "Invalid field value",
    explanation: "The field named in `param` has the wrong type or format. `detail` says what is accepted.",
  },
  unknown_parameter: {
    title: "Unknown field",
    explanation:
      "The request must not have the field named in `param`. Remove it. `detail` lists the accepted fields.",
  },
  repeated_parameter: {
    title: "Repeated field",
    explanation: "The field named in `param` was sent more than once. Send it once, in one place.",
  },
  digest_mismatch: {
    title: "Digest mismatch",
    explanation: "The SHA-256 of the received bytes does not match `Content-Digest`. Send them again.",
  },
  missing_token: {
    title: "Authentication required",
    explanation:
      "Send the header `Authorization: Bearer <ACCESS_TOKEN>`. `parley token create NAME` creates a token.",
  },
  invalid_token: {
    title: "Invalid access token",
    explanation:
      "The token is malformed, unknown, expired or revoked. Create a new one: `parley token create NAME`. A JWT must come from an issuer that this server trusts.",
  },
  insufficient_scope: {
    title: "Insufficient scope",
    explanation: "The token lacks the scope named in `detail`. Use one that has it.",
  },
  user_paused: {
    title: "User paused",
    explanation:
      "An administrator has paused this user. Nothing is lost. An administrator can resume the user: `PUT /v1/users/{user_id}` with `paused` false, or `parley user edit NAME --resume`.",
  },
  invalid_signature: {
    title: "Invalid or expired link",
    explanation:
      "Links to files are signed and expire. Retrieve the attachment again for a new `file_url`, or send the access token of a member.",
  },
  origin_not_allowed: {
    title: "Origin not allowed",
    explanation:
      "Pages of this origin can't open a WebSocket, or can't use a session or `act_as` in one. The operator lists the origins of pages in PARLEY_CORS_ORIGINS; sessions and `act_as` work only in pages of the server itself.",
  },
  not_uploader: {
    title: "Not the uploader",
    explanation: "Only the user who uploaded an attachment can rename or delete it.",
  },
  not_sender: {
    title: "Not the sender",
    explanation:
      "Only the user who sent a message can edit or delete it. Nobody edits messages of the system.",
  },
  not_owner: {
    title: "Not the owner",
    explanation:
      "Only the user who created a webhook can change its address and its events, test it and rotate its secret. Others with the scope `admin` can enable, disable and delete it.",
  },
  not_admin: {
    title: "Not an admin of the group",
    explanation:
      "Only an admin of the group can do this. `GET /v1/groups/{group_id}/members` lists the admins.",
  },
  route_not_found: {
    title: "Address not found",
    explanation: "No resource has this path. Check it: the API is below /v1.",
  },
  contact_not_found: {
    title: "Contact not found",
    explanation: "The id is unknown or malformed, the contact was deleted, or it belongs to another user.",
  },
  attachment_not_found: {
    title: "Attachment not found",
    explanation: "The id is unknown or malformed, the attachment was deleted, or you may not see it.",
  },
  avatar_not_found: {
    title: "Picture not found",
    explanation:
      "The address is wrong, or the user has replaced or deleted the picture. `avatar_url` of the user is the current one.",
  },
  conversation_not_found: {
    title: "Conversation not found",
    explanation:
      "The id is unknown or malformed, the conversation was deleted, or you are not a member of it.",
  },
  message_not_found: {
    title: "Message not found",
    explanation: "The id is unknown or malformed, the message was deleted, or you may not see it.",
  },
  group_not_found: {
    title: "Group not found",
    explanation:
      "The id is unknown or malformed, the group has ended, or you are neither a member nor invited. Its members are shown to you after you have joined.",
  },
  upload_not_found: {
    title: "Upload not found",
    explanation:
      "The id is unknown or malformed, the upload belongs to another user, or it has expired or was deleted. Start a new upload.",
  },
  member_not_found: {
    title: "Member not found",
    explanation:
      "The id is unknown or malformed, the member has left, the invitation was withdrawn, or only admins see it.",
  },
  user_not_found: {
    title: "User not found",
    explanation:
      "The id or name is unknown or malformed, or the user was deleted. `GET /v1/users` and `parley user list` list the users.",
  },
  token_not_found: {
    title: "Token not found",
    explanation:
      "The id is unknown or malformed, or the token was already revoked. `GET /v1/tokens` and `parley token list` list the tokens.",
  },
  webhook_not_found: {
    title: "Webhook not found",
    explanation: "The id is unknown or malformed, the webhook was deleted, or it belongs to another user.",
  },
  push_subscription_not_found: {
    title: "Push subscription not found",
    explanation:
      "The id is unknown or malformed, the subscription belongs to another user, or it has ended: it was deleted, its token was revoked, or its push server answered 404 or 410.",
  },
  delivery_not_found: {
    title: "Delivery not found",
    explanation: "The id is unknown or malformed, or the delivery is too old and was deleted.",
  },
  method_not_allowed: {
    title: "Method not allowed",
    explanation: "The `Allow` header of the answer lists the methods of this address.",
  },
  request_timeout: {
    title: "Request timeout",
    explanation: "The headers or the body arrived too slowly. Send the request again.",
  },
  contact_exists: {
    title: "Contact already exists",
    explanation:
      "Your contact list already has this username. With the scope `contacts:read`, `existing_id` is the id of the contact.",
  },
  username_taken: {
    title: "Username already taken",
    explanation:
      "Another user has this username, or one that differs only in case or in the form of its characters. Choose another; for a user of an identity provider, change it there, or link the user who has the name: `PUT /v1/users/{user_id}`. With the scope `admin`, `existing_id` is the id of the user.",
  },
  identity_taken: {
    title: "Identity already taken",
    explanation:
      "Another user has this issuer and subject. Remove the identities of that user first: `PUT /v1/users/{user_id}` with `subject` null. With the scope `admin`, `existing_id` is the id of the user.",
  },
  upload_offset_mismatch: {
    title: "Wrong upload offset",
    explanation:
      "The server has more or fewer bytes than `Upload-Offset` says. The `Upload-Offset` header of the answer has their number: continue there.",
  },
  upload_completed: {
    title: "Upload already complete",
    explanation:
      "The upload is complete and takes no more bytes. `GET /v1/uploads/{upload_id}` has the id of its attachment.",
  },
  upload_length_mismatch: {
    title: "Wrong upload length",
    explanation:
      "The bytes or the lengths in the headers contradict the length of the upload. Check the file, and ask for the offset with `HEAD`. If that is 404, the upload was deleted: start a new one.",
  },
  checksum_mismatch: {
    title: "Checksum mismatch",
    explanation:
      "The received bytes do not match `Upload-Checksum`, and were not stored. Send them again from the same offset.",
  },
  unsupported_upload_protocol: {
    title: "Unsupported upload protocol",
    explanation:
      "The server does not support the version of tus in `Tus-Resumable`. Use the one in the `Tus-Version` header of the answer.",
  },
  count_limit_reached: {
    title: "Limit reached",
    explanation:
      "The limit named in `detail` is reached. Delete what you no longer need, then send the request again.",
  },
  idempotency_in_progress: {
    title: "Request in progress",
    explanation:
      "The first request with this Idempotency-Key is still running. Retry after the time in the `Retry-After` header.",
  },
  idempotency_key_reused: {
    title: "Idempotency-Key already used",
    explanation:
      "A key stands for one request, with all its fields, for 24 hours. Use a new key for a new request.",
  },
  client_id_conflict: {
    title: "Client id already used",
    explanation:
      "You have sent another message with this `client_id`: with other content, or to another conversation. Use a new `client_id` for a new message.",
  },
  webhook_disabled: {
    title: "Webhook disabled",
    explanation: "Parley sends nothing to a disabled webhook. Update it with `enabled` true first.",
  },
  too_many_streams: {
    title: "Too many event streams",
    explanation:
      "The user has as many event streams open as the limit allows. Close one, or read events in pages.",
  },
  events_erased: {
    title: "Events no longer available",
    explanation:
      "The events after this one are older than the server keeps events. Read the current state, then start again without `Last-Event-ID`.",
  },
  precondition_failed: {
    title: "Resource has changed",
    explanation:
      "The resource does not meet the condition in `If-Match` or a similar header. Retrieve it again before you change it.",
  },
  file_too_large: {
    title: "File too large",
    explanation:
      "The file exceeds the limit named in `detail`. The operator sets it with PARLEY_MAX_FILE_SIZE.",
  },
  preview_not_found: {
    title: "No preview",
    explanation:
      "There is no preview of this file: it is no JPEG, PNG, GIF or WebP, is damaged or too large, or the server makes no previews. Leave out `width` to get the file itself.",
  },
  file_type_refused: {
    title: "File type not accepted",
    explanation:
      "The server does not accept files of this type; `detail` names it. Parley detects the type in the bytes. `limits` of `GET /v1/me` lists the types. The operator sets them with PARLEY_ALLOWED_TYPES and PARLEY_REFUSED_TYPES.",
  },
  metadata_not_removable: {
    title: "Metadata not removable",
    explanation:
      "Parley removes metadata from complete JPEG, PNG, GIF and WebP pictures only; `detail` says what is wrong with the file. Nothing was stored. Save the picture again in one of these formats, or send it without `strip_metadata`.",
  },
  body_too_large: {
    title: "Body too large",
    explanation: "The fields exceed the limit named in `detail`. Send files as multipart/form-data.",
  },
  file_infected: {
    title: "File refused by the virus scanner",
    explanation:
      "The virus scanner of the server found something in the file; `detail` names it. Nothing was stored.",
  },
  rate_limited: {
    title: "Too many requests",
    explanation:
      "The token, user or address exceeded a limit; `detail` names it. Retry after the time in the `Retry-After` header. For the rate of a token, `RateLimit-Policy` is the limit, and `RateLimit` is what remains of it.",
  },
  daily_limit_reached: {
    title: "Daily limit reached",
    explanation:
      "The user has uploaded as many files today as the operator allows with PARLEY_MAX_FILES_PER_DAY. The day ends at midnight UTC, after the time in the `Retry-After` header.",
  },
  headers_too_large: {
    title: "Headers too large",
    explanation:
      "The request line and the headers together exceed the limit named in `detail`. Shorten them.",
  },
  unsupported_media_type: {
    title: "Unsupported media type",
    explanation: "Send the body with one of the types named in `detail`.",
  },
  range_not_satisfiable: {
    title: "Range not satisfiable",
    explanation:
      "The range starts after the end of the file. The `Content-Range` header of the answer has its size.",
  },
  internal_error: {
    title: "Internal server error",
    explanation:
      "The request failed because of an error in the server. Its log has the details under the `request_id`.",
  },
  unavailable: {
    title: "Temporarily unavailable",
    explanation:
      "The server is busy, stopping, or cannot reach its storage. Retry after the time in the `Retry-After` header.",
  },
  outcome_unknown: {
    title: "Outcome unknown",
    explanation:
      "The connection to the database was lost during the write. Check whether it succeeded before you send the request again.",
  },
  quota_exceeded: {
    title: "Storage quota exceeded",
    explanation: "The file was not stored. Delete files, or ask the operator to raise PARLEY_USER_QUOTA.",
  },
  disk_full: {
    title: "Disk full",
    explanation: "Nothing was stored. The operator must free disk space before you send the request again.",
  },
} as const;

export type ErrorCode = keyof typeof catalogue;

/** An error for the caller. `message` is the problem's `detail`: what is wrong and what to do. */
export class ParleyError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  /** Further members of the problem's body. */
  readonly members: Readonly<Record<string, string | number>>;
  /** The value of a header that `http/` sends: the missing scope, the allowed methods, the file size, the seconds to wait. */
  readonly header: string | undefined;

  constructor(
    code: ErrorCode,
    detail?: string,
    options: {
      param?: string;
      members?: Record<string, string | number>;
      header?: string;
      cause?: unknown;
    } = {},
  ) {
    super(detail ?? catalogue[code].explanation, { cause: options.cause });
    this.name = "ParleyError";
    this.code = code;
    this.param = options.param;
    this.members = options.members ?? {};
    this.header = options.header;
  }
}

/** Whether an error of a write proves that nothing was written. */
export function isUndone(error: unknown): boolean {
  return error instanceof ParleyError && error.code !== "outcome_unknown";
}

/** An error for the operator: its message says what is wrong and what to do, and no stack is shown. */
export class OperatorError extends Error {}
