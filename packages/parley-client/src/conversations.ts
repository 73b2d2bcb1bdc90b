import type { Events } from "./events.ts";
import { List } from "./list.ts";
import { type Watched, type WatchOptions, watchState } from "./state-watch.ts";
import type { CallOptions, ChangeOptions, Transport } from "./transport.ts";
import type { Conversation, ConversationQuery, ConversationSettings, Me, ReadPosition } from "./types.ts";
import { Typists } from "./typists.ts";

const PATH = ["v1", "conversations"];

/** The caller's inbox: their view of each conversation. */
export class Conversations {
  readonly #transport: Transport;
  readonly #events: Events;

  constructor(transport: Transport, events: Events) {
    this.#transport = transport;
    this.#events = events;
  }

  /** Lists conversations, most recent activity first. Cursors are positions, not ids. */
  list(query: ConversationQuery = {}, options: CallOptions = {}): List<Conversation> {
    return new List(this.#transport, PATH, query, options);
  }

  /**
   * Yields the page of conversations that `list` returns, and again each time that it has changed, also after a lost connection. Ends
   * when `signal` is aborted or the loop is left.
   */
  watch(
    query: ConversationQuery = {},
    options: WatchOptions = {},
  ): AsyncGenerator<Conversation[], void, undefined> {
    return this.#watch(async ({ signal }) => (await this.list(query, { signal })).data, options);
  }

  /** Yields `unread_conversations` of the caller, for a badge, and again each time that it has changed. */
  watchUnread(options: WatchOptions = {}): AsyncGenerator<number, void, undefined> {
    const read = async ({ signal }: CallOptions) => {
      const me = await this.#transport.call<Me>({ method: "GET", path: ["v1", "me"], signal });
      return me.unread_conversations;
    };
    return this.#watch(read, options);
  }

  /** Yields the ids of the users who are typing in a conversation, nobody first, and again each time that they have changed. */
  watchTyping(id: string, options: WatchOptions = {}): AsyncGenerator<string[], void, undefined> {
    return watchState(this.#events, new Typists(id), options);
  }

  #watch<T>(read: Watched<T>["read"], options: WatchOptions): AsyncGenerator<T, void, undefined> {
    return watchState(this.#events, { read, isChangedBy: ({ type }) => type !== "typing" }, options);
  }

  retrieve(id: string, options: CallOptions = {}): Promise<Conversation> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /** Pins, archives or mutes the conversation for the caller alone. */
  update(id: string, settings: ConversationSettings, options: ChangeOptions = {}): Promise<Conversation> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: settings });
  }

  /** Marks everything up to a message as read; never moves backwards. */
  markRead(id: string, position: ReadPosition, options: CallOptions = {}): Promise<void> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id, "read"], body: position });
  }

  /**
   * Shows the other members for six seconds that the caller is typing. Call it every few seconds while that is so: more than
   * once in three seconds has no effect. It is not retried, because later it may no longer be so.
   */
  typing(id: string, options: CallOptions = {}): Promise<void> {
    const path = [...PATH, id, "typing"];
    return this.#transport.call({ ...options, method: "POST", path, canRepeat: () => false });
  }
}
