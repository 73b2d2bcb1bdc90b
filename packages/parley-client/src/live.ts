import { connectionError, ParleyApiError } from "./errors.ts";
import { type Follow, followSocket } from "./event-socket.ts";
import { isOutage, isPassing, LONGEST_PAUSE_MS, pauseBefore, sleep } from "./retries.ts";
import { readMessages } from "./server-sent-events.ts";
import { bodyChunks } from "./streams.ts";
import { type Transport, toCursor } from "./transport.ts";
import type { StreamEvent } from "./types.ts";

/** The server sends a heartbeat every 15 seconds. */
const IDLE_MS = 45_000;
/** A WebSocket that a proxy loses delays each connection, one that failed by chance is worth another try. */
const FIRST_SOCKET_PAUSE_MS = 5 * 60_000;
const LONGEST_SOCKET_PAUSE_MS = 60 * 60_000;

/** Takes the events of the connection. */
interface Listener {
  /** Called when the connection is ready, with the id of the event after which it continues. */
  onReady(id: string): void;
  onEvent(event: StreamEvent): void;
  /** The connection was lost. It continues after the last event. */
  onLost(): void;
  /** The connection begins anew: events are missing. */
  onMissed(): void;
  /** The server has refused the connection. Nothing follows. */
  onRefused(error: unknown): void;
}

interface Pause {
  failures: number;
  hasBegun: boolean;
  signal: AbortSignal;
  /** Ends the pause, unless the server asked for it. */
  attempt: AbortSignal;
}

/** One connection for all streams of a client, over a WebSocket or as server-sent events. It is open while it has listeners. */
export class Live {
  readonly #transport: Transport;
  readonly #listeners = new Set<Listener>();
  #stop = new AbortController();
  /** Ends the current connection, or the pause before the next one. */
  #attempt = new AbortController();
  /** The id of the newest event that has arrived, or of the one after which the connection began. */
  #last: string | undefined;
  #isReady = false;
  /** When a WebSocket is tried again (of `performance.now`). */
  #socketFrom = 0;
  /** The time without, if the next WebSocket fails: none if the last one worked. */
  #socketPauseMs = FIRST_SOCKET_PAUSE_MS;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get isOpen(): boolean {
    return this.#listeners.size > 0;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** The id of the event after which listeners get all others; undefined until the server says it. */
  get last(): string | undefined {
    return this.#last;
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
    if (this.#listeners.size > 1) return;
    this.#last = undefined;
    this.#isReady = false;
    this.#stop = new AbortController();
    onOnline(this.#stop.signal, () => this.reconnect());
    void this.#run(this.#stop.signal);
  }

  remove(listener: Listener): void {
    if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#stop.abort();
  }

  /** Connects again at once, except during a pause that the server asked for. */
  reconnect(): void {
    this.#attempt.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await this.#reconnect(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#stop.abort();
      const refused = [...this.#listeners];
      this.#listeners.clear();
      for (const listener of refused) listener.onRefused(error);
    }
  }

  /** Connects again and again. Throws what is no outage. */
  async #reconnect(signal: AbortSignal): Promise<never> {
    let hasBegun = false;
    for (let failures = 1; ; failures++) {
      this.#attempt = new AbortController();
      const attempt = AbortSignal.any([signal, this.#attempt.signal]);
      let readyAt = Number.POSITIVE_INFINITY;
      const onReady = (id: string) => {
        if (attempt.aborted) return;
        hasBegun = true;
        readyAt = performance.now();
        this.#last ??= id;
        this.#isReady = true;
        for (const listener of this.#listeners) listener.onReady(this.#last);
      };
      const onEvent = (event: StreamEvent) => {
        if (attempt.aborted) return;
        failures = 1;
        if (event.type !== "typing") this.#last = event.id;
        for (const listener of this.#listeners) listener.onEvent(event);
      };
      try {
        await this.#follow({ after: this.#last, signal: attempt, onReady, onEvent });
      } catch (error) {
        signal.throwIfAborted();
        this.#isReady = false;
        if (this.#last !== undefined && isErased(error)) {
          // Each listener finds out whether that concerns it.
          this.#last = undefined;
          for (const listener of this.#listeners) listener.onMissed();
          continue;
        }
        if (performance.now() - readyAt > LONGEST_PAUSE_MS) failures = 1;
        if (!attempt.aborted && (hasBegun ? !isOutage(error) : !isPassing(error))) throw error;
        for (const listener of this.#listeners) listener.onLost();
        if (!attempt.aborted)
          await this.#pause(error as ParleyApiError, { failures, hasBegun, signal, attempt });
        if (attempt.aborted) failures = 0;
      }
    }
  }

  async #pause(error: ParleyApiError, { failures, hasBegun, signal, attempt }: Pause): Promise<void> {
    const end = error.retryAfter === undefined ? attempt : signal;
    try {
      if (hasBegun) await sleep(pauseBefore(error, failures), end);
      else await this.#transport.pause(error, failures, end);
    } catch (thrown) {
      if (signal.aborted || !attempt.aborted) throw thrown;
    }
  }

  /** Follows one connection until it ends, which is always an error. */
  async #follow(follow: Follow): Promise<void> {
    const { WebSocket } = this.#transport;
    if (WebSocket === undefined || performance.now() < this.#socketFrom) return this.#followSent(follow);
    let isReady = false;
    const onReady = (id: string) => {
      isReady = true;
      this.#socketPauseMs = 0;
      follow.onReady(id);
    };
    try {
      await followSocket(WebSocket, this.#transport, { ...follow, onReady });
    } catch (error) {
      // Browsers do not say why no WebSocket came about: a proxy may not pass it on, or the server is away.
      const isUnknown = error instanceof ParleyApiError && error.status === 0;
      if (isReady || !isUnknown || !canStream()) throw error;
    }
    await this.#followSent({
      ...follow,
      onReady: (id) => {
        this.#socketFrom = performance.now() + this.#socketPauseMs;
        const doubled = Math.max(FIRST_SOCKET_PAUSE_MS, 2 * this.#socketPauseMs);
        this.#socketPauseMs = Math.min(LONGEST_SOCKET_PAUSE_MS, doubled);
        follow.onReady(id);
      },
    });
  }

  async #followSent({ after, signal, onReady, onEvent }: Follow): Promise<never> {
    const headers = {
      accept: "text/event-stream",
      ...(after === undefined ? {} : { "last-event-id": after }),
    };
    const answer = await this.#transport.open({
      method: "GET",
      path: ["v1", "events"],
      headers,
      signal,
      idleMs: IDLE_MS,
      // The next attempt may be a WebSocket.
      canRepeat: () => false,
    });
    try {
      onReady(after ?? toCursor(answer.response.headers));
      for await (const message of readMessages(bodyChunks(answer))) onEvent(JSON.parse(message));
    } finally {
      answer.watch.end(undefined);
    }
    throw connectionError(new Error("the stream has ended"));
  }
}

/** Whether `fetch` passes on the parts of an answer as they arrive. That of React Native does not. */
function canStream(): boolean {
  return "body" in Response.prototype;
}

interface Browser {
  addEventListener(type: "online", listener: () => void, options: { signal: AbortSignal }): void;
}

/** Calls back when a browser is online again, until the signal is aborted. */
function onOnline(signal: AbortSignal, listener: () => void): void {
  (globalThis as Partial<Browser>).addEventListener?.("online", listener, { signal });
}

function isErased(error: unknown): boolean {
  return error instanceof ParleyApiError && error.code === "events_erased";
}
