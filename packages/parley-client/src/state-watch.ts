import { ParleyApiError } from "./errors.ts";
import type { Events } from "./events.ts";
import { isOutage, pauseBefore, sleep } from "./retries.ts";
import { type StreamState, stateReporter } from "./states.ts";
import type { CallOptions } from "./transport.ts";
import type { StreamEvent } from "./types.ts";

export interface WatchOptions extends CallOptions {
  /** Called with each change of the connection; `ready` first after the first value. */
  onState?: ((state: StreamState) => void) | undefined;
}

/** A value that events change. */
export interface Watched<T> {
  /** The types of events to read; all by default. */
  types?: readonly StreamEvent["type"][];
  read(options: CallOptions): T | PromiseLike<T>;
  /** Reports whether an event may have changed the value. */
  isChangedBy(event: StreamEvent): boolean;
  /** Returns after how many milliseconds time changes the value; undefined for never. */
  changesInMs?(): number | undefined;
}

/**
 * Yields a value, and again each time that it has changed. If it changes often, it is read again once the last read has ended and the
 * caller wants the next value.
 */
export async function* watchState<T>(
  events: Events,
  watched: Watched<T>,
  { signal, onState }: WatchOptions,
): AsyncGenerator<T, void, undefined> {
  const report = stateReporter(onState);
  let shown: string | undefined;
  for (let failures = 1; !signal?.aborted; ) {
    const changes = new Changes(watched);
    try {
      report(false);
      changes.follow(events, await events.cursor({ signal }), signal);
      while (!signal?.aborted) {
        const value = await watched.read({ signal });
        failures = 1;
        const look = toLook(value);
        if (look !== shown) yield value;
        shown = look;
        await changes.next(report);
      }
    } catch (error) {
      if (signal?.aborted) return;
      const isMissed = error instanceof ParleyApiError && error.code === "events_erased";
      if (shown === undefined || !(isMissed || isOutage(error))) throw error;
      if (!isMissed) await sleep(pauseBefore(error, failures++), signal).catch(() => {});
    } finally {
      changes.stop();
    }
  }
}

/** Learns of changes while the value is read. */
class Changes {
  readonly #watched: Watched<unknown>;
  readonly #stop = new AbortController();
  /** Why the stream has ended. */
  #end: { error: unknown } | undefined;
  #isReady = false;
  #hasChanged = false;
  #wake = () => {};

  constructor(watched: Watched<unknown>) {
    this.#watched = watched;
  }

  follow(events: Events, after: string, caller: AbortSignal | undefined): void {
    const signal = caller ? AbortSignal.any([caller, this.#stop.signal]) : this.#stop.signal;
    const onState = (state: StreamState) => {
      this.#isReady = state === "ready";
      this.#wake();
    };
    void this.#read(events.stream({ after, signal, types: this.#watched.types, onState }))
      .then(() => signal.reason)
      .catch((error) => error)
      .then((error) => {
        this.#end = { error };
        this.#wake();
      });
  }

  async #read(stream: AsyncIterable<StreamEvent>): Promise<void> {
    for await (const event of stream) if (this.#watched.isChangedBy(event)) this.#change();
  }

  #change(): void {
    this.#hasChanged = true;
    this.#wake();
  }

  /** Waits for a change since the last call. Throws once the stream has ended. */
  async next(report: (isReady: boolean) => void): Promise<void> {
    while (!this.#hasChanged && !this.#end) {
      report(this.#isReady);
      const ms = this.#watched.changesInMs?.();
      const timer = ms === undefined ? undefined : setTimeout(() => this.#change(), ms);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      clearTimeout(timer);
    }
    this.#hasChanged = false;
    if (this.#end) throw this.#end.error;
  }

  stop(): void {
    this.#stop.abort();
  }
}

/** Links to files are signed again and again. */
function toLook(value: unknown): string {
  return JSON.stringify(value, (key, each) => (key === "file_url" ? undefined : each));
}
