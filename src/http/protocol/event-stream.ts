import type { ServerResponse } from "node:http";
import { renderEvents } from "../../core/events/event-render.ts";
import { shownTypes, showsTyping } from "../../core/events/event-types.ts";
import { findStart, newestEventId, nextEvents } from "../../core/events/events.ts";
import type { Caller } from "../../core/node/caller.ts";
import type { Core } from "../../core/node/core.ts";
import {
  type Listener,
  type RenderedEvent,
  SENT_AT_ONCE,
  type Transport,
  type TypingFrame,
} from "../../core/node/event-hub.ts";
import { findRefusal } from "../../core/people/sign-in.ts";
import type { ErrorCode } from "../../errors.ts";

/** Selects the events that a stream sends. */
interface Subscription {
  caller: Caller;
  token: string;
  /** Undefined means all. */
  types: readonly string[] | undefined;
  showsTyping: boolean;
  /** The event after which the stream begins: its id and number. */
  lastId: string;
  after: number;
}

/** What a client asks for. Without `lastId` the stream begins with the next event. */
interface Wanted {
  types: readonly string[] | undefined;
  lastId: string | undefined;
  /** Where the client has sent `lastId`. */
  param: string;
}

/** Throws `insufficient_scope`, `invalid_parameter` and `events_erased`. */
export async function toSubscription(
  core: Core,
  caller: Caller,
  token: string,
  { types: wanted, lastId: sent, param }: Wanted,
): Promise<Subscription> {
  const types = shownTypes(caller.scopes, wanted);
  const lastId = sent ?? (await newestEventId(core, caller));
  const after = await findStart(core, caller, lastId, param);
  return { caller, token, types, showsTyping: showsTyping(caller.scopes, wanted), lastId, after };
}

/** Called when a write has left, or has failed. */
export type OnLeft = (error?: Error | null) => void;

/** The connection that carries a stream. */
export interface Wire {
  readonly transport: Transport;
  /** Calls back once the connection is closed, at once if it already is. */
  onClose(closed: () => void): void;
  /** Calls back after each such time without bytes in either direction. */
  onQuiet(ms: number, quiet: () => void): void;
  send(events: readonly RenderedEvent[], onLeft: OnLeft): void;
  /** Sends the frame, unless the client reads slowly. */
  sendTyping(frame: TypingFrame): void;
  /** Sends a heartbeat. */
  beat(onLeft: OnLeft): void;
  /** Closes the connection after everything that was sent has left. The code says why. */
  end(code: ErrorCode): void;
  /** Closes the connection at once. */
  destroy(): void;
}

/**
 * Sends events as they are published. Between two events it holds no promise, buffer or timer: they would live long enough to
 * be promoted to the old generation, and wait for a full collection.
 */
export class EventStream implements Listener {
  readonly #core: Core;
  readonly #wire: Wire;
  readonly #subscription: Subscription;
  /** The number of the last event that was sent. */
  #at: number;
  /** The number up to which events are announced; infinite while that is unknown. */
  #announced = Number.POSITIVE_INFINITY;
  #isHeartbeatDue = false;
  #hasStarted = false;
  /** Also true until the stream starts. */
  #isSending = true;
  /** Why the stream has ended. */
  #ended: ErrorCode | undefined;
  /** Called when the last write has left, or the connection is closed. */
  #onLeft: (() => void) | undefined;

  constructor(core: Core, wire: Wire, subscription: Subscription) {
    this.#core = core;
    this.#wire = wire;
    this.#subscription = subscription;
    this.#at = subscription.after;
  }

  get userId(): string {
    return this.#subscription.caller.userId;
  }

  get transport(): Transport {
    return this.#wire.transport;
  }

  /** Registers the stream. Throws `too_many_streams`, or `unavailable` if the server is stopping. Call `start` afterwards. */
  async open(): Promise<void> {
    try {
      await this.#core.eventHub.add(this.#core, this);
    } catch (error) {
      this.end("unavailable");
      throw error;
    }
    this.#wire.onClose(() => {
      this.end("unavailable");
      this.#onLeft?.();
    });
  }

  /** Starts to send. */
  start(): void {
    this.#wire.onQuiet(this.#core.limits.eventHeartbeatMs, () => this.#onQuiet());
    this.#hasStarted = true;
    this.#isSending = false;
    if (this.#ended) this.#wire.end(this.#ended);
    else void this.#run();
  }

  waitsAfter(): number | undefined {
    return this.#isSending || this.#ended ? undefined : this.#at;
  }

  send(events: readonly RenderedEvent[], upTo: number): void {
    const { types } = this.#subscription;
    this.#at = upTo;
    const shown = events.filter(({ type }) => !types || types.includes(type));
    if (shown.length > 0) void this.#run(shown);
  }

  wake(upTo: number): void {
    this.#announced = Math.max(this.#announced, upTo);
    void this.#run();
  }

  /** Sends a typing frame at once, between other frames. */
  sendTyping(frame: TypingFrame): void {
    if (this.#subscription.showsTyping && this.#hasStarted && !this.#ended) this.#wire.sendTyping(frame);
  }

  findRefusal(): Promise<ErrorCode | undefined> {
    return findRefusal(this.#core, this.#subscription.token, this.#subscription.caller);
  }

  end(code: ErrorCode): void {
    if (this.#ended) return;
    this.#ended = code;
    this.#core.eventHub.remove(this);
    if (!this.#isSending) this.#wire.end(code);
  }

  #onQuiet(): void {
    // The stream has ended, but its last bytes may not have left: do not wait for them.
    if (this.#ended) this.#wire.destroy();
    this.#isHeartbeatDue = true;
    void this.#run();
  }

  /** Sends these events, then everything that is due. Does nothing if the stream is already sending. */
  async #run(events?: readonly RenderedEvent[]): Promise<void> {
    if (this.#isSending || this.#ended) return;
    this.#isSending = true;
    try {
      if (events) await this.#sendEvents(events);
      while (!this.#ended && (this.#isHeartbeatDue || this.#announced > this.#at)) await this.#sendNext();
    } catch {
      // A client that resumes gets the error.
      this.end("internal_error");
    }
    this.#isSending = false;
    if (this.#ended) this.#wire.end(this.#ended);
  }

  async #sendNext(): Promise<void> {
    if (this.#isHeartbeatDue) {
      this.#isHeartbeatDue = false;
      return this.#write((onLeft) => this.#wire.beat(onLeft));
    }
    // Every event announced so far can now be read.
    this.#announced = 0;
    const { types } = this.#subscription;
    const { userId } = this;
    const next = await nextEvents(this.#core, userId, this.#at, types);
    // Events have expired: a client that resumes gets the error.
    if (!next) return this.end("events_erased");
    if (next.hasMore) this.#announced = Number.POSITIVE_INFINITY;
    this.#at = next.after;
    // Render a few at a time, after the earlier ones have left: a slow client must not get what it may no longer see.
    for (let i = 0; i < next.events.length && !this.#ended; i += SENT_AT_ONCE) {
      const some = next.events.slice(i, i + SENT_AT_ONCE);
      await this.#sendEvents(await renderEvents(this.#core, userId, some));
    }
  }

  #sendEvents(events: readonly RenderedEvent[]): Promise<void> {
    return this.#write((onLeft) => this.#wire.send(events, onLeft));
  }

  /** Resolves when the bytes have left, or the client is gone. Closes the connection of a client that is too slow. */
  #write(write: (onLeft: OnLeft) => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stalled = setTimeout(() => this.#wire.destroy(), this.#core.limits.eventStallMs);
    this.#onLeft = () => {
      this.#onLeft = undefined;
      clearTimeout(stalled);
      resolve();
    };
    write((error) => {
      if (error) this.end("unavailable");
      this.#onLeft?.();
    });
    return promise;
  }
}

/** Carries a stream as server-sent events (https://html.spec.whatwg.org/#server-sent-events). */
export class SentEvents implements Wire {
  readonly transport = "sse";
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onClose(closed: () => void): void {
    if (this.#response.closed) closed();
    else this.#response.once("close", closed);
  }

  onQuiet(ms: number, quiet: () => void): void {
    // Uses the timer that each connection has anyway. It restarts whenever something is sent.
    this.#response.setTimeout(ms, quiet);
  }

  send(events: readonly RenderedEvent[], onLeft: OnLeft): void {
    this.#response.write(events.map(frame).join(""), onLeft);
  }

  sendTyping({ sse }: TypingFrame): void {
    const { writableEnded, writableNeedDrain } = this.#response;
    if (!writableEnded && !writableNeedDrain) this.#response.write(sse);
  }

  beat(onLeft: OnLeft): void {
    this.#response.write(":\n\n", onLeft);
  }

  end(): void {
    this.#response.end();
  }

  destroy(): void {
    this.#response.destroy();
  }
}

function frame({ id, type, json }: RenderedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
}
