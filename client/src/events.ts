import { connectionError, ParleyApiError } from "./errors.ts";
import { List } from "./list.ts";
import { pauseBefore, sleep } from "./retries.ts";
import { messagesOf } from "./server-sent-events.ts";
import { bodyChunks } from "./streams.ts";
import type { Answer, CallOptions, Transport } from "./transport.ts";
import type { Event, EventQuery, EventType } from "./types.ts";

const PATH = ["v1", "events"];
/** The server says something every 15 seconds. */
const IDLE_MS = 45_000;

export interface StreamOptions extends CallOptions {
  /** All without it. */
  types?: readonly EventType[] | undefined;
  /** The id of the event behind which to begin; without it the stream begins with what happens from now on. */
  after?: string | undefined;
}

/** What happens to what the caller sees. */
export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: EventQuery = {}, options: CallOptions = {}): List<Event> {
    return new List(this.#transport, PATH, query, options);
  }

  /**
   * The events as they happen, each once, from the moment at which the first is asked for. Where the connection is lost it
   * goes on behind the last event, for as long as that takes; it ends when `signal` is aborted or the loop is left. Throws what
   * the server refuses, such as `events_erased` where the next event is kept no longer.
   */
  async *stream({ types, after, signal }: StreamOptions = {}): AsyncGenerator<Event, void, undefined> {
    try {
      let last = after ?? (await this.#newest(signal));
      let isBegun = false;
      for (let failures = 1; ; failures++) {
        try {
          const answer = await this.#open(types, last, signal);
          isBegun = true;
          for await (const event of this.#eventsOf(answer, last === undefined, types, signal)) {
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

  /** Those of one connection; `isFirst`: there was none before it, so what there is by now has come meanwhile. */
  async *#eventsOf(
    answer: Answer,
    isFirst: boolean,
    types: readonly EventType[] | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Event, void, undefined> {
    const told = new Set<string>();
    const messages = messagesOf(bodyChunks(answer));
    try {
      const early: Event[] = [];
      if (isFirst) for await (const event of this.list({ types }, { signal })) early.unshift(event);
      for (const event of early) {
        told.add(event.id);
        yield event;
      }
      for await (const message of messages) {
        const event: Event = JSON.parse(message);
        if (!told.has(event.id)) yield event;
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
