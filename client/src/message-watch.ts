import { ParleyApiError } from "./errors.ts";
import type { Events } from "./events.ts";
import type { List } from "./list.ts";
import { isOutage, pauseBefore, sleep } from "./retries.ts";
import type { CallOptions } from "./transport.ts";
import type { Event, Message, MessageQuery } from "./types.ts";

export interface MessageWatchOptions extends CallOptions {
  /** How many existing messages to begin with, 1 to 100; 20 by default. */
  limit?: number | undefined;
}

/** A change of a conversation. Applied in order, the changes make the list of its messages. */
export type MessageChange =
  | { type: "message.created" | "message.updated"; message: Message }
  | { type: "message.deleted"; id: string };

interface Source {
  events: Events;
  list: (query: MessageQuery, options: CallOptions) => List<Message>;
}

/** See `Messages.watch`. */
export async function* watchMessages(
  { events, list }: Source,
  conversationId: string,
  { limit = 20, signal }: MessageWatchOptions,
): AsyncGenerator<MessageChange, void, undefined> {
  const view = new View();
  let isBegun = false;
  for (let failures = 1; !signal?.aborted; ) {
    try {
      const after = await events.cursor({ signal });
      if (isBegun)
        yield* view.compare(await view.listAgain(list({ conversation_id: conversationId }, { signal })));
      else yield* view.begin(await list({ conversation_id: conversationId, limit }, { signal }));
      isBegun = true;
      failures = 1;
      for await (const event of events.stream({ after, signal })) {
        if (event.conversation_id !== conversationId) continue;
        // The caller has left the conversation: its list says so from now on.
        if (event.type === "contact.deleted" || event.type === "group.deleted") break;
        yield* view.toChanges(event);
      }
    } catch (error) {
      if (signal?.aborted) return;
      const isMissed = error instanceof ParleyApiError && error.code === "events_erased";
      if (!isBegun || !(isMissed || isOutage(error))) throw error;
      if (!isMissed) await sleep(pauseBefore(error, failures++), signal).catch(() => {});
    }
  }
}

/** So many messages are compared when the list has to be read again. */
const MOST_KNOWN = 1000;

/** What the watcher knows of a conversation: its newest messages. */
class View {
  /** What each message looked like, by its id, oldest first. */
  readonly #known = new Map<string, string>();
  /** Messages with smaller ids are older than the known ones; empty if there are none. */
  #first = "";

  begin({ data, has_more }: { data: Message[]; has_more: boolean }): MessageChange[] {
    const changes = data.toReversed().flatMap((message) => this.#toChange(message));
    if (has_more) this.#first = data.at(-1)!.id;
    return changes;
  }

  /** Reads the list down to the oldest known message. Returns it oldest first. */
  async listAgain(list: List<Message>): Promise<Message[]> {
    const messages: Message[] = [];
    for await (const message of list) {
      if (message.id < this.#first) break;
      messages.push(message);
    }
    return messages.reverse();
  }

  compare(messages: readonly Message[]): MessageChange[] {
    const ids = new Set(messages.map(({ id }) => id));
    const gone = [...this.#known.keys()].filter((id) => !ids.has(id));
    return [
      ...gone.flatMap((id) => this.#toDeletion(id)),
      ...messages.flatMap((message) => this.#toChange(message)),
    ];
  }

  /** Returns no change for what the list already had. */
  toChanges(event: Event): MessageChange[] {
    if (event.type === "message.deleted") return this.#toDeletion(event.payload.id);
    if (event.type !== "message.created" && event.type !== "message.updated") return [];
    const { payload } = event;
    // Only ids: it is gone by now, and its `message.deleted` follows.
    if (!("sender" in payload)) return [];
    // So many came before the list was read that it ends with a newer one.
    if (event.type === "message.created" && payload.id < this.#first) return [];
    return this.#toChange(payload);
  }

  #toDeletion(id: string): MessageChange[] {
    return this.#known.delete(id) || id < this.#first ? [{ type: "message.deleted", id }] : [];
  }

  #toChange(message: Message): MessageChange[] {
    const { id } = message;
    if (id < this.#first) return [{ type: "message.updated", message }];
    // Links to files are signed again and again.
    const look = JSON.stringify(message, (key, value) => (key === "file_url" ? undefined : value));
    const before = this.#known.get(id);
    if (before === look) return [];
    this.#known.set(id, look);
    if (this.#known.size > MOST_KNOWN) {
      const [oldest, next] = this.#known.keys();
      this.#known.delete(oldest!);
      this.#first = next!;
    }
    return [{ type: before === undefined ? "message.created" : "message.updated", message }];
  }
}
