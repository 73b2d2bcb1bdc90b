// The entries of the store. Nothing in it is trusted: an entry that is not as expected is dropped.
import type { Conversation, Me, Member } from "parley-client";
import type { Value } from "./store.ts";
import type { Operation, SendOperation } from "./types.ts";

export interface Meta {
  me: Me;
  /** The greatest position in the inbox below which conversations are not kept; empty if all are. */
  inboxFloor: string;
  /** Likewise the id of a contact. */
  contactsFloor: string;
}

/** The last event that the copy contains. */
export interface Cursor {
  id: string;
  /** Null if it is unknown. */
  sequence: number | null;
}

/** A conversation without its messages. */
export interface Talk {
  row: Conversation;
  /** The last message that `row` takes into account. */
  tail: string;
  /** All messages from this id on are kept: `NOTHING`, an id, or empty if the conversation begins there. */
  floor: string;
  /** How many messages are kept, so that a missing one is noticed. */
  count: number;
  /** Their approximate size. */
  bytes: number;
  /** Null of a direct conversation, or if they are unknown. */
  members: Member[] | null;
}

/** To read again: the row of a conversation, or also its messages. */
export interface Stale {
  what: "row" | "window";
}

/** Greater than all ids. */
export const NOTHING = "~";

export const META = "meta";
export const CURSOR = "cursor";
export const talkKey = (id: string) => `talk/${id}`;
export const contactKey = (id: string) => `contact/${id}`;
export const userKey = (id: string) => `user/${id}`;
export const staleKey = (id: string) => `stale/${id}`;
export const messageKey = (conversationId: string, id: string) => `message/${conversationId}/${id}`;
export const messagesOf = (conversationId: string) => `message/${conversationId}/`;
export const fileKey = (operationKey: string, at: number) => `file/${operationKey}/${at}`;

type Fields = Record<string, (value: unknown) => boolean>;

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isFlag = (value: unknown) => typeof value === "boolean";
const orNull = (check: (value: unknown) => boolean) => (value: unknown) => value === null || check(value);
const orMissing = (check: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || check(value);
const listOf = (check: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(check);
const oneOf =
  (...values: unknown[]) =>
  (value: unknown) =>
    values.includes(value);
const has =
  (fields: Fields) =>
  (value: unknown): boolean =>
    typeof value === "object" &&
    value !== null &&
    Object.entries(fields).every(([name, check]) => check((value as Record<string, unknown>)[name]));
const isObject = has({});

const USER: Fields = {
  id: isText,
  username: isText,
  display_name: orNull(isText),
  avatar_url: orNull(isText),
};
const FILE: Fields = {
  id: isText,
  filename: isText,
  file_url: isText,
  file_type: isText,
  file_size: isNumber,
};
const MESSAGE: Fields = {
  id: isText,
  conversation_id: isText,
  type: isText,
  sender: orNull(has(USER)),
  text: orNull(isText),
  data: orNull(isObject),
  attachments: listOf(has(FILE)),
  mentions: listOf(isText),
  reply_to_id: orNull(isText),
  client_id: orNull(isText),
  reactions: listOf(has({ emoji: isText, count: isNumber, user_ids: listOf(isText) })),
  created_at: isNumber,
  edited_at: orNull(isNumber),
};
const CONVERSATION: Fields = {
  id: isText,
  kind: oneOf("contact", "group", "self"),
  contact_id: orNull(isText),
  group_id: orNull(isText),
  name: orNull(isText),
  avatar_url: orNull(isText),
  last_message: orNull(has(MESSAGE)),
  unread_count: isNumber,
  unread_mention_count: isNumber,
  last_read_id: orNull(isText),
  contact_read_id: orNull(isText),
  is_pinned: isFlag,
  is_archived: isFlag,
  muted_until: orNull(isNumber),
  position: orNull(isText),
  created_at: isNumber,
};
const MEMBER: Fields = { id: isText, group_id: isText, username: orNull(isText), role: isText };
const CONTACT: Fields = {
  id: isText,
  username: isText,
  phone_number: isText,
  display_name: orNull(isText),
  avatar_url: orNull(isText),
  conversation_id: isText,
  created_at: isNumber,
};
const PENDING: Fields = {
  key: isText,
  conversation_id: isText,
  state: oneOf("waiting", "sending", "failed"),
  created_at: isNumber,
};
const OPERATIONS: Record<Operation["kind"], Fields> = {
  send: {
    client_id: isText,
    text: orNull(isText),
    data: orNull(isObject),
    mentions: listOf(isText),
    reply_to_id: orNull(isText),
    files: listOf(has({ filename: isText, file_type: isText, file_size: isNumber })),
    sent_bytes: isNumber,
    message_id: orNull(isText),
    uploads: isObject,
  },
  edit: { message_id: isText, text: orNull(isText), mentions: orMissing(listOf(isText)) },
  delete: { message_id: isText, for_me: isFlag },
  react: { message_id: isText, emoji: isText, is_there: isFlag },
  read: { message_id: isText, is_private: isFlag },
};

const TALK: Fields = {
  row: has(CONVERSATION),
  tail: isText,
  floor: isText,
  count: isNumber,
  bytes: isNumber,
  members: orNull(listOf(has(MEMBER))),
};

/** Returns the value if it is what its key promises. */
export function toEntry(key: string, value: unknown): Value | undefined {
  const [kind, id, messageId] = key.split("/");
  const is = (fields: Fields) => (has(fields)(value) ? (value as Value) : undefined);
  const equals = (expected: unknown) => oneOf(expected);
  if (key === META) return is({ me: has(USER), inboxFloor: isText, contactsFloor: isText });
  if (key === CURSOR) return is({ id: isText, sequence: orNull(isNumber) });
  if (kind === "talk") return is({ ...TALK, row: has({ ...CONVERSATION, id: equals(id) }) });
  if (kind === "contact") return is({ ...CONTACT, id: equals(id) });
  if (kind === "user") return is({ ...USER, id: equals(id) });
  if (kind === "stale") return is({ what: oneOf("row", "window") });
  if (kind === "message") return is({ ...MESSAGE, id: equals(messageId), conversation_id: equals(id) });
  return toOperation(value, key);
}

/** A message whose entry is damaged is kept as a failed one if its text is left. */
function toOperation(value: unknown, key: string): Operation | undefined {
  const operation = value as Operation;
  const fields = { ...PENDING, key: oneOf(key), ...OPERATIONS[operation?.kind] };
  // An operation that was being sent when its process ended waits again.
  if (has({ kind: oneOf(...Object.keys(OPERATIONS)), ...fields })(value))
    return { ...operation, state: operation.state === "failed" ? "failed" : "waiting" };
  if (!has({ text: isText, conversation_id: isText, client_id: isText })(value)) return undefined;
  const { text, conversation_id, client_id } = value as SendOperation;
  return {
    ...{ kind: "send", key, conversation_id, client_id, text, data: null, mentions: [], reply_to_id: null },
    ...{ files: [], sent_bytes: 0, message_id: null, uploads: {}, created_at: 0, state: "failed" },
    reason: { code: "damaged", detail: "The stored message was damaged. Only its text is left." },
  };
}
