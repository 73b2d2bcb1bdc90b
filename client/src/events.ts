import { connectionError, ParleyApiError } from "./errors.ts";
import { List } from "./list.ts";
import { pauseBefore, sleep } from "./retries.ts";
import { readMessages } from "./server-sent-events.ts";
import { bodyChunks } from "./streams.ts";
import type { CallOptions, Transport, WatchedResponse } from "./transport.ts";
import type { Event, EventQuery, EventType } from "./types.ts";

const PATH = ["v1", "events"];
/** The server sends a heartbeat every 15 seconds. */
const IDLE_MS = 45_000;

export interface StreamOptions extends CallOptions {
  /** All types by default. */
  types?: readonly EventType[] | undefined;
  /**
   * The id of the event after which to begin. Null begins with the oldest event kept; by default the stream begins with
   * the next event.
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
   * Streams events as they happen, each once, from the first call of `next`. If the connection is lost, it reconnects for
   * as long as that takes and continues after the last event. It ends when `signal` is aborted or the loop is left. Throws
   * if the server refuses, for example `events_erased` if the next event is no longer kept.
   */
  async *stream({ types, after, signal }: StreamOptions = {}): AsyncGenerator<Event, void, undefined> {
    try {
      let last = after === undefined ? await this.#newest(signal) : (after ?? undefined);
      let isBegun = false;
      for (let failures = 1; ; failures++) {
        try {
          const answer = await this.#open(types, last, signal);
          isBegun = true;
          for await (const event of this.#readEvents(answer, last === undefined, types, signal)) {
            if (signal?.aborted) return;
            yield event;
            last = event.id;
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

  async #newest(signal: AbortSignal | undefined): Promise<string | undefined> {
    const { data } = await this.list({ limit: 1 }, { signal });
    return data[0]?.id;
  }

  #open(types: readonly EventType[] | undefined, last: string | undefined, signal: AbortSignal | undefined) {
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

  /** Yields the events of one connection. `isFirst`: no event existed when the stream began, so all existing events are new. */
  async *#readEvents(
    answer: WatchedResponse,
    isFirst: boolean,
    types: readonly EventType[] | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Event, void, undefined> {
    const seen = new Set<string>();
    const messages = readMessages(bodyChunks(answer));
    try {
      const early: Event[] = [];
      if (isFirst) for await (const event of this.list({ types }, { signal })) early.unshift(event);
      for (const event of early) {
        seen.add(event.id);
        yield event;
      }
      for await (const message of messages) {
        const event: Event = JSON.parse(message);
        if (!seen.has(event.id)) yield event;
      }
    } finally {
      answer.watch.end(undefined);
    }
    throw connectionError(new Error("the stream has ended"));
  }
}

function isOutage(error: unknown): error is ParleyApiError {
  return (
    error instanceof ParleyApiError && (error.status === 0 || error.status === 429 || error.status >= 500)
  );
}
