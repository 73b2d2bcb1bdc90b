import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, Transport } from "./transport.ts";
import type { Conversation, ConversationQuery, ConversationSettings, ReadPosition } from "./types.ts";

const PATH = ["v1", "conversations"];

/** The caller's inbox: their view of each conversation. */
export class Conversations {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists conversations, most recent activity first. Cursors are positions, not ids. */
  list(query: ConversationQuery = {}, options: CallOptions = {}): List<Conversation> {
    return new List(this.#transport, PATH, query, options);
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
