import type { Events } from "./events.ts";
import { List } from "./list.ts";
import { type MessageChange, type MessageWatchOptions, watchMessages } from "./message-watch.ts";
import { toSource, type UploadSource } from "./source.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type {
  Message,
  MessageAdditions,
  MessageChanges,
  MessageDeletion,
  MessageQuery,
  MessageSearch,
  NewMessage,
  ReaderQuery,
  ShownUser,
} from "./types.ts";
import { sendFiles, type UploadProgress } from "./upload.ts";

const PATH = ["v1", "messages"];

export interface SendOptions extends CreateOptions {
  /** Up to ten files, each with a name: paths (in Node) or `File` objects. */
  files?: readonly UploadSource[] | undefined;
  /** Called often while files are sent, and again from 0 for each retry. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Replaces the client's `retryForMs`. */
  retryForMs?: number | undefined;
}

type RetrieveOptions = CallOptions & MessageAdditions;

export type DeleteOptions = ChangeOptions & MessageDeletion;

/** Messages in conversations. */
export class Messages {
  readonly #transport: Transport;
  readonly #events: Events;

  constructor(transport: Transport, events: Events) {
    this.#transport = transport;
    this.#events = events;
  }

  /** Lists the messages of a conversation, newest first, or those around one of them. */
  list(query: MessageQuery, options: CallOptions = {}): List<Message> {
    return new List(this.#transport, PATH, query, options);
  }

  /**
   * Searches the caller's messages, or those of one conversation, for all words of `q`, the last one as a prefix. Newest
   * first. A page can have fewer items than its limit, even none, and not be the last.
   */
  search(query: MessageSearch, options: CallOptions = {}): List<Message> {
    return new List(this.#transport, PATH, query, options);
  }

  /**
   * Yields the newest messages of a conversation, oldest first, and then every change of its messages as it happens: each once, in
   * order, also after a lost connection. If the server no longer keeps the events in between, the list is read again and compared,
   * for the newest 1,000 messages at most. Ends when `signal` is aborted or the loop is left. Throws if the server refuses, for
   * example `conversation_not_found` once the caller has left the conversation.
   */
  watch(
    conversationId: string,
    options: MessageWatchOptions = {},
  ): AsyncGenerator<MessageChange, void, undefined> {
    const list = (query: MessageQuery, options: CallOptions) => this.list(query, options);
    const retrieve = (id: string, options: RetrieveOptions) => this.retrieve(id, options);
    return watchMessages({ events: this.#events, list, retrieve }, conversationId, options);
  }

  /** Sends a message with its files, and retries for `retryForMs`. If it throws, the server keeps nothing of it, unless the connection was lost. */
  async create(
    fields: NewMessage,
    { files = [], onProgress, retryForMs = this.#transport.retryForMs, ...others }: SendOptions = {},
  ): Promise<Message> {
    const options = { ...others, retryForMs };
    if (files.length === 0)
      return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
    options.signal?.throwIfAborted();
    const sources = await Promise.all(files.map((file) => toSource(file, {})));
    return sendFiles(this.#transport, PATH, toTexts(fields), sources, { ...options, onProgress });
  }

  retrieve(id: string, { include, ...options }: RetrieveOptions = {}): Promise<Message> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id], query: { include } });
  }

  /** Edits text and data; null clears one. Throws `not_sender` if another user sent the message. */
  update(id: string, changes: MessageChanges, options: ChangeOptions = {}): Promise<Message> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  /** Deletes the message and its files: for everybody, or with `for: "me"` a message of any sender for the caller alone. */
  delete(id: string, { for: whom, ...options }: DeleteOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options, { for: whom });
  }

  /** Reacts with an emoji: any one visible character. The same reaction again changes nothing. */
  addReaction(id: string, emoji: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id, "reactions", emoji] });
  }

  /** Lists the users who have read the message, without its sender. */
  listReaders(id: string, query: ReaderQuery = {}, options: CallOptions = {}): List<ShownUser> {
    return new List(this.#transport, [...PATH, id, "readers"], query, options);
  }

  /** Removes a reaction of the caller, if it is there. */
  removeReaction(id: string, emoji: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "DELETE", path: [...PATH, id, "reactions", emoji] });
  }
}

/** The fields as a form has them: JSON as text, and a list as a repeated field. */
function toTexts(fields: NewMessage): [name: string, value: string][] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map((each): [string, string] => [name, String(each)]);
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    // UTF-8 would silently replace it; in JSON the server refuses it.
    if (!text.isWellFormed())
      throw new TypeError(`${name} has a lone surrogate: it was cut within a character.`);
    return [[name, text]];
  });
}
