import type { Contact, Conversation, Me, Member, Message } from "parley-client";

/** Something to show. Has the shape that `useSyncExternalStore` takes: a snapshot stays the same object until it changes. */
export interface View<T> {
  /** Calls the listener after each change. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
  getSnapshot(): T;
}

/** A view of the newest items of a list. */
export interface ListView<T> extends View<T> {
  /** Loads the next older items. Rejects if the server can't be reached. */
  loadOlder(): Promise<void>;
}

/** `waiting`: for its turn, or for the server. `failed`: refused; it waits for `retry` or `discard`. */
export type State = "waiting" | "sending" | "sent" | "failed";

/** Why the last attempt did not succeed. `code`: of the API or of the client. */
export interface Reason {
  code: string;
  detail: string;
  param?: string | undefined;
}

/** A file of a message that is not sent yet. */
export interface PendingFile {
  filename: string;
  file_type: string;
  /** Bytes. */
  file_size: number;
}

/** A message of the server, or one that is still to be sent. */
export interface SyncMessage extends Message {
  /** Names the message while it is sent and afterwards, for lists of elements. */
  key: string;
  state: State;
  /** Null unless an attempt failed. */
  reason: Reason | null;
  /** The files that are not sent yet. */
  files: readonly PendingFile[];
  /** Bytes of `files` sent so far. */
  sent_bytes: number;
}

/** An entry of the inbox. Its `last_message` may still be to be sent. */
export interface InboxEntry extends Omit<Conversation, "last_message"> {
  last_message: SyncMessage | null;
}

export interface Inbox {
  /** Most recent activity first. */
  items: readonly InboxEntry[];
  /** Whether the server may have more than these. */
  hasOlder: boolean;
}

export interface ConversationState {
  /** Undefined until it is read, and after it was left. */
  conversation: InboxEntry | undefined;
  /** The contact of a direct conversation. */
  contact: Contact | undefined;
  /** The members of a group; null while they are unknown. */
  members: readonly Member[] | null;
  /** Oldest first, with those that are still to be sent at the end. */
  messages: readonly SyncMessage[];
  hasOlder: boolean;
  /** Whether `messages` has what the store has, even if that is nothing. */
  isLoaded: boolean;
}

export interface ContactsState {
  /** Newest first. */
  items: readonly Contact[];
  hasOlder: boolean;
}

/**
 * `connecting`: also while the server can't be reached, and until the copy has all earlier changes. `live`: changes arrive as they
 * happen. `refused`: the token is no longer valid, or lacks a scope that is needed.
 */
export interface LinkState {
  state: "connecting" | "live" | "refused";
  reason: Reason | null;
}

export interface Connection extends LinkState {
  /** Whether this instance makes the requests for all tabs. */
  isLeader: boolean;
  /** False once a write to the store failed: then changes are kept in memory only. */
  isStored: boolean;
  /** Null until the first contact with the server. */
  me: Me | null;
}

/** What to send. */
export interface Outgoing {
  text?: string | undefined;
  data?: Record<string, unknown> | undefined;
  mentions?: readonly string[] | undefined;
  replyTo?: string | undefined;
  /** `File` objects, or Blobs with a `name`. */
  files?: readonly (Blob & { name: string })[] | undefined;
}

interface Pending {
  /** Its place in the order of all operations. */
  key: string;
  conversation_id: string;
  state: Exclude<State, "sent">;
  reason: Reason | null;
  /** Unix seconds, UTC, by the clock of the device. */
  created_at: number;
}

/** A file on its way through `/v1/uploads`. */
interface Upload {
  id: string;
  created_at: number;
  attachment_id: string | null;
}

export interface SendOperation extends Pending {
  kind: "send";
  client_id: string;
  text: string | null;
  data: Record<string, unknown> | null;
  mentions: readonly string[];
  reply_to_id: string | null;
  files: readonly PendingFile[];
  sent_bytes: number;
  /** Set once the message exists, while large files are missing. */
  message_id: string | null;
  /** By the index of the file. */
  uploads: Readonly<Record<string, Upload>>;
}

export interface EditOperation extends Pending {
  kind: "edit";
  message_id: string;
  text: string | null;
  /** Those of the edited message; undefined if they stay. */
  mentions?: readonly string[] | undefined;
}

export interface DeleteOperation extends Pending {
  kind: "delete";
  message_id: string;
  for_me: boolean;
}

export interface ReactOperation extends Pending {
  kind: "react";
  message_id: string;
  emoji: string;
  is_there: boolean;
}

export interface ReadOperation extends Pending {
  kind: "read";
  message_id: string;
  is_private: boolean;
}

/** A change that the server does not have yet. */
export type Operation = SendOperation | EditOperation | DeleteOperation | ReactOperation | ReadOperation;
