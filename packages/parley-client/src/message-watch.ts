import { ParleyApiError } from "./errors.ts";
import type { Events } from "./events.ts";
import type { List } from "./list.ts";
import { withReaction } from "./reactions.ts";
import { isOutage, pauseBefore, sleep } from "./retries.ts";
import { type StreamState, stateReporter } from "./states.ts";
import type { CallOptions } from "./transport.ts";
import type { Message, MessageAdditions, MessageQuery, Reaction, StreamEvent } from "./types.ts";

export interface MessageWatchOptions extends CallOptions {
  /** How many existing messages to begin with, 1 to 100; 20 by default. */
  limit?: number | undefined;
  /** Adds these members to each file, as reads of messages do. */
  include?: string | undefined;
  /** Called with each change of the connection; `ready` first after the existing messages. */
  onState?: ((state: StreamState) => void) | undefined;
}

/** A change of a conversation. Applied in order, the changes make the list of its messages. */
export type MessageChange =
  | { type: "message.created" | "message.updated"; message: Message }
  | ReactionChange
  | { type: "message.deleted"; id: string };

type ReactionChange = {
  type: "reaction.created" | "reaction.deleted";
  /** As it is then. */
  message: Message;
  emoji: string;
  /** Who reacted. */
  user_id: string;
};

interface Source {
  events: Events;
  list: (query: MessageQuery, options: CallOptions) => List<Message>;
  retrieve: (id: string, options: CallOptions & MessageAdditions) => Promise<Message>;
}

/** See `Messages.watch`. */
export async function* watchMessages(
  { events, list, retrieve }: Source,
  conversationId: string,
  { limit = 20, include, onState, signal }: MessageWatchOptions,
): AsyncGenerator<MessageChange, void, undefined> {
  const view = new View();
  const report = stateReporter(onState);
  const onStreamState = (state: StreamState) => report(state === "ready");
  /** Events have files without what `include` adds. */
  const complete = async (event: StreamEvent): Promise<StreamEvent> => {
    if (include === undefined || (event.type !== "message.created" && event.type !== "message.updated"))
      return event;
    const { payload } = event;
    if (!("sender" in payload) || payload.attachments.length === 0) return event;
    try {
      return { ...event, payload: await retrieve(payload.id, { include, signal }) };
    } catch (error) {
      // It is gone by now, and its `message.deleted` follows.
      if (error instanceof ParleyApiError && error.code === "message_not_found") return event;
      throw error;
    }
  };
  let isBegun = false;
  for (let failures = 1; !signal?.aborted; ) {
    try {
      report(false);
      const after = await events.cursor({ signal });
      if (isBegun)
        yield* view.compare(
          await view.listAgain(list({ conversation_id: conversationId, include }, { signal })),
        );
      else yield* view.begin(await list({ conversation_id: conversationId, limit, include }, { signal }));
      isBegun = true;
      failures = 1;
      for await (const event of events.stream({ after, signal, onState: onStreamState })) {
        if (event.conversation_id !== conversationId) continue;
        // The caller has left the conversation: its list says so from now on.
        if (event.type === "contact.deleted" || event.type === "group.deleted") break;
        yield* view.toChanges(await complete(event));
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

interface Known {
  message: Message;
  /** What it looked like. */
  look: string;
}

/** What the watcher knows of a conversation: its newest messages. */
class View {
  /** By their ids, oldest first. */
  readonly #known = new Map<string, Known>();
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
  toChanges(event: StreamEvent): MessageChange[] {
    if (event.type === "message.deleted") return this.#toDeletion(event.payload.id);
    if (event.type === "reaction.created" || event.type === "reaction.deleted")
      return this.#toReaction(event.type, event.payload);
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
    const look = toLook(message);
    const before = this.#known.get(id);
    if (before?.look === look) return [];
    this.#known.set(id, { message, look });
    if (this.#known.size > MOST_KNOWN) {
      const [oldest, next] = this.#known.keys();
      this.#known.delete(oldest!);
      this.#first = next!;
    }
    return [{ type: before === undefined ? "message.created" : "message.updated", message }];
  }

  /** Reactions to messages that are not known are not followed. */
  #toReaction(type: ReactionChange["type"], { message_id, emoji, user_id }: Reaction): ReactionChange[] {
    const before = this.#known.get(message_id)?.message;
    // Only ids: it is gone by now, or the caller has blocked who reacted.
    if (!before || emoji === undefined || user_id === undefined) return [];
    const reactions = withReaction(before.reactions, emoji, user_id, type === "reaction.created");
    if (reactions === before.reactions) return [];
    const message = { ...before, reactions };
    this.#known.set(message_id, { message, look: toLook(message) });
    return [{ type, message, emoji, user_id }];
  }
}

/** Links to files are signed again and again, and events may tell of reactions in another order than the list has. */
function toLook(message: Message): string {
  return JSON.stringify(message, (key, value) => {
    if (key === "file_url") return undefined;
    return key === "reactions" ? toSet(value) : value;
  });
}

function toSet(reactions: Message["reactions"]): string[] {
  return reactions.flatMap(({ emoji, user_ids }) => user_ids.map((id) => `${emoji} ${id}`)).sort();
}
