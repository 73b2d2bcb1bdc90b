import { EventReader } from "./event-reader.ts";
import { List } from "./list.ts";
import { Live } from "./live.ts";
import { type StreamState, stateReporter } from "./states.ts";
import { type CallOptions, cursorOf, type Transport } from "./transport.ts";
import type { Event, EventQuery, EventType, StreamEvent } from "./types.ts";

const PATH = ["v1", "events"];

export interface StreamOptions extends CallOptions {
  /** All types by default. */
  types?: readonly StreamEvent["type"][] | undefined;
  /**
   * The cursor or the id of the event after which to begin. Null begins with the oldest event kept; by default the stream
   * begins with the next event.
   */
  after?: string | null | undefined;
  /** Called with each change of the connection, `connecting` first. */
  onState?: ((state: StreamState) => void) | undefined;
}

/** Events: changes of what the caller can see. */
export class Events {
  readonly #transport: Transport;
  readonly #live: Live;

  constructor(transport: Transport) {
    this.#transport = transport;
    this.#live = new Live(transport);
  }

  list(query: EventQuery = {}, options: CallOptions = {}): List<Event> {
    return new List(this.#transport, PATH, query, options);
  }

  /**
   * Returns a cursor: after it a stream has every event that does not exist yet. Read it before the lists that the stream
   * keeps up to date. Then no change is lost in between.
   */
  async cursor(options: CallOptions = {}): Promise<string> {
    return cursorOf(await this.list({ limit: 1 }, options));
  }

  /**
   * Streams events as they happen, each once, from the first call of `next`. All streams of the client share one connection. If it
   * is lost, it reconnects for as long as that takes and continues after the last event. The stream ends when `signal` is aborted
   * or the loop is left. Throws if the server refuses, for example `events_erased` if the next event is no longer kept.
   */
  async *stream({
    types,
    after,
    signal,
    onState,
  }: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const report = stateReporter(onState);
    try {
      signal?.throwIfAborted();
      report(false);
      let last = after ?? undefined;
      // Without a cursor a reader has to open the connection: one that is open may be late, or open during `#checkTypes`.
      if (after === null || (after === undefined && (types || this.#live.isOpen)))
        last = await this.cursor({ signal });
      if (types) await this.#checkTypes(types, last, signal);
      if (after === null) {
        for (const event of await this.#kept(types, signal)) {
          yield event;
          last = event.id;
        }
      }
      const list = (query: EventQuery, options: CallOptions) => this.list(query, options);
      const reader = new EventReader({ live: this.#live, list }, last, signal);
      for await (const event of reader.read(report)) {
        if (signal?.aborted) return;
        if (!types || types.includes(event.type)) yield event;
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  /**
   * Connects again at once, for example when an app is shown again: a dead connection is noticed only after up to 45 seconds.
   * Streams continue after their last event. Browsers that are online again do this themselves.
   */
  reconnect(): void {
    this.#live.reconnect();
  }

  /** Throws what the server answers if the token may not see these types, or the events after this one are erased. */
  async #checkTypes(
    types: readonly StreamEvent["type"][],
    ending_before: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Pages have no typing, which needs the same scope as messages.
    const stored = types.map((type) => (type === "typing" ? "message.created" : type));
    await this.list({ types: stored, ending_before, limit: 1 }, { signal });
  }

  /** Returns all events that the server keeps, oldest first. */
  async #kept(types: StreamOptions["types"], signal: AbortSignal | undefined): Promise<Event[]> {
    const kept: Event[] = [];
    const stored = types?.filter((type): type is EventType => type !== "typing");
    if (stored?.length === 0) return kept;
    for await (const event of this.list({ types: stored }, { signal })) kept.push(event);
    return kept.reverse();
  }
}
