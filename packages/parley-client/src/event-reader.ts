import type { List } from "./list.ts";
import type { Live } from "./live.ts";
import { isOutage, pauseBefore, sleep } from "./retries.ts";
import type { CallOptions } from "./transport.ts";
import type { Event, EventQuery, StreamEvent } from "./types.ts";

/** So many events wait for a slow reader. Then it lists them. */
const MOST_WAITING = 1000;

interface Source {
  live: Live;
  list: (query: EventQuery, options: CallOptions) => List<Event>;
}

/**
 * Reads events from one position on, each once and in order: those up to the position of the shared connection from the list, and
 * later ones from the connection. Events that both have are recognized by their `sequence`.
 */
export class EventReader {
  readonly #source: Source;
  readonly #signal: AbortSignal | undefined;
  /** The id of the last event that was read, or of the one before the first; undefined until the connection has begun. */
  #last: string | undefined;
  /** The `sequence` of that event, or a smaller one if it is not known. */
  #sequence = 0;
  /** Events of the connection that were not read yet. None are kept while the reader is behind. */
  #waiting: StreamEvent[] = [];
  /** Whether events are missing that the connection does not bring any more. */
  #isBehind: boolean;
  #hasBegun = false;
  #failures = 0;
  #refusal: { error: unknown } | undefined;
  #wake = () => {};

  /** Without `last` the reader begins where the connection does, which it has to open. */
  constructor(source: Source, last: string | undefined, signal: AbortSignal | undefined) {
    this.#source = source;
    this.#last = last;
    this.#isBehind = last !== undefined;
    this.#signal = signal;
  }

  onReady(id: string): void {
    this.#last ??= id;
    this.#wake();
  }

  onEvent(event: StreamEvent): void {
    if (this.#isBehind) return;
    if (this.#waiting.length === MOST_WAITING) this.onMissed();
    else this.#waiting.push(event);
    this.#wake();
  }

  onLost(): void {
    this.#wake();
  }

  onMissed(): void {
    this.#isBehind = true;
    this.#waiting = [];
  }

  onRefused(error: unknown): void {
    this.#refusal = { error };
    this.#wake();
  }

  /** Yields events until the signal is aborted. Calls `report` with whether everything up to now was read. */
  async *read(report: (isReady: boolean) => void): AsyncGenerator<StreamEvent, void, undefined> {
    const { live } = this.#source;
    const abort = () => {
      // The caller may not call `next` again.
      live.remove(this);
      this.#wake();
    };
    this.#signal?.addEventListener("abort", abort);
    live.add(this);
    try {
      while (!this.#signal?.aborted) {
        const event = this.#waiting.shift();
        if (event) {
          if (this.#take(event)) yield event;
        } else if (this.#refusal) throw this.#refusal.error;
        else if (this.#isBehind && live.last !== undefined) yield* this.#catchUp();
        else {
          // Before the report, in which the caller may abort.
          const woken = new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#hasBegun ||= live.isReady;
          report(live.isReady);
          await woken;
        }
      }
    } finally {
      this.#signal?.removeEventListener("abort", abort);
      live.remove(this);
    }
  }

  /** Moves to an event. Returns false if it was read before. */
  #take(event: StreamEvent): boolean {
    if (event.type === "typing") return true;
    if (event.sequence <= this.#sequence) return false;
    this.#sequence = event.sequence;
    this.#last = event.id;
    return true;
  }

  /** Yields the events of the list that are newer than the last one. Meanwhile those of the connection wait. */
  async *#catchUp(): AsyncGenerator<Event, void, undefined> {
    const { live, list } = this.#source;
    this.#isBehind = false;
    if (live.last === this.#last) return;
    const options = { signal: this.#signal };
    try {
      const newest = await first(list({ limit: 1 }, options));
      let hasMissed = false;
      for await (const event of list({ ending_before: this.#last }, options)) {
        hasMissed = true;
        if (this.#take(event)) yield event;
      }
      // Then the newest is not after the position, and those that did not exist yet are.
      if (!hasMissed) this.#sequence = Math.max(this.#sequence, newest?.sequence ?? 0);
      this.#failures = 0;
      this.#hasBegun = true;
    } catch (error) {
      if (!this.#hasBegun || !isOutage(error)) throw error;
      this.onMissed();
      await sleep(pauseBefore(error, ++this.#failures), this.#signal);
    }
  }
}

/** Returns the first item; undefined if there is none. A page can be empty and not be the last. */
async function first<T>(list: List<T>): Promise<T | undefined> {
  for await (const item of list) return item;
  return undefined;
}
