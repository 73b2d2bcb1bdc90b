import { connectionError } from "./errors.ts";
import { List } from "./list.ts";
import { isOutage, pauseBefore, sleep } from "./retries.ts";
import { readMessages } from "./server-sent-events.ts";
import { bodyChunks } from "./streams.ts";
import { type CallOptions, cursorOf, type Transport, toCursor, type WatchedResponse } from "./transport.ts";
import type { Event, EventQuery, EventType, StreamEvent } from "./types.ts";

const PATH = ["v1", "events"];
/** The server sends a heartbeat every 15 seconds. */
const IDLE_MS = 45_000;

export interface StreamOptions extends CallOptions {
  /** All types by default. */
  types?: readonly StreamEvent["type"][] | undefined;
  /**
   * The cursor or the id of the event after which to begin. Null begins with the oldest event kept; by default the stream
   * begins with the next event.
   */
  after?: string | null | undefined;
}

/** Events: changes of what the caller can see. */
export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
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
   * Streams events as they happen, each once, from the first call of `next`. If the connection is lost, it reconnects for
   * as long as that takes and continues after the last event. It ends when `signal` is aborted or the loop is left. Throws
   * if the server refuses, for example `events_erased` if the next event is no longer kept.
   */
  async *stream({ types, after, signal }: StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    try {
      let last = after ?? undefined;
      if (after === null) {
        last = await this.cursor({ signal });
        for (const event of await this.#kept(types, signal)) {
          yield event;
          last = event.id;
        }
      }
      let isBegun = false;
      for (let failures = 1; ; failures++) {
        try {
          const answer = await this.#open(types, last, signal);
          last ??= toCursor(answer.response.headers);
          isBegun = true;
          for await (const event of readEvents(answer)) {
            if (signal?.aborted) return;
            yield event;
            if (event.type !== "typing") last = event.id;
            failures = 1;
          }
        } catch (error) {
          if (!isBegun || !isOutage(error)) throw error;
          await sleep(pauseBefore(error, failures), signal);
        }
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  /** Returns all events that the server keeps, oldest first. */
  async #kept(types: StreamOptions["types"], signal: AbortSignal | undefined): Promise<Event[]> {
    const kept: Event[] = [];
    const stored = types?.filter((type): type is EventType => type !== "typing");
    if (stored?.length === 0) return kept;
    for await (const event of this.list({ types: stored }, { signal })) kept.push(event);
    return kept.reverse();
  }

  #open(types: StreamOptions["types"], last: string | undefined, signal: AbortSignal | undefined) {
    const headers = {
      accept: "text/event-stream",
      ...(last === undefined ? {} : { "last-event-id": last }),
    };
    return this.#transport.open({
      method: "GET",
      path: PATH,
      query: { types },
      headers,
      signal,
      idleMs: IDLE_MS,
    });
  }
}

/** Yields the events of one connection, and throws when it ends. */
async function* readEvents(answer: WatchedResponse): AsyncGenerator<StreamEvent, never, undefined> {
  try {
    for await (const message of readMessages(bodyChunks(answer))) yield JSON.parse(message);
  } finally {
    answer.watch.end(undefined);
  }
  throw connectionError(new Error("the stream has ended"));
}
