import type { ServerResponse } from "node:http";
import { renderEvents } from "../../core/events/event-render.ts";
import { nextEvents } from "../../core/events/events.ts";
import type { Caller } from "../../core/node/caller.ts";
import type { Core } from "../../core/node/core.ts";
import { type Listener, type RenderedEvent, SENT_AT_ONCE } from "../../core/node/event-hub.ts";
import { isStillValid } from "../../core/people/sign-in.ts";

/** Selects the events that a stream sends. */
interface Subscription {
  caller: Caller;
  token: string;
  /** Undefined means all. */
  types: readonly string[] | undefined;
  showsTyping: boolean;
  /** The number of the event after which the stream begins. */
  after: number;
}

/**
 * Sends events as they are published (https://html.spec.whatwg.org/#server-sent-events). Between two events it holds no
 * promise, buffer or timer: they would live long enough to be promoted to the old generation, and wait for a full collection.
 */
export class EventStream implements Listener {
  readonly #core: Core;
  readonly #response: ServerResponse;
  readonly #subscription: Subscription;
  /** The number of the last event that was sent. */
  #at: number;
  /** The number up to which events are announced; infinite while that is unknown. */
  #announced = Number.POSITIVE_INFINITY;
  #isHeartbeatDue = false;
  /** Also true until the stream starts. */
  #isSending = true;
  #hasEnded = false;
  /** Called when the last write has left, or the connection is closed. */
  #onLeft: (() => void) | undefined;

  constructor(core: Core, response: ServerResponse, subscription: Subscription) {
    this.#core = core;
    this.#response = response;
    this.#subscription = subscription;
    this.#at = subscription.after;
  }

  get userId(): string {
    return this.#subscription.caller.userId;
  }

  /** Registers the stream. Throws `too_many_streams`, or `unavailable` if the server is stopping. Call `start` afterwards. */
  async open(): Promise<void> {
    this.#response.once("close", () => {
      this.end();
      this.#onLeft?.();
    });
    try {
      await this.#core.eventHub.add(this.#core, this);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Starts to send. The head of the response leaves with the first bytes. */
  start(): void {
    // Uses the timer that each connection has anyway. It restarts whenever something is sent.
    this.#response.setTimeout(this.#core.limits.eventHeartbeatMs, () => this.#onQuiet());
    this.#isSending = false;
    if (this.#hasEnded) this.#response.end();
    else void this.#run(": listening\n\n");
  }

  waitsAfter(): number | undefined {
    return this.#isSending || this.#hasEnded ? undefined : this.#at;
  }

  send(events: readonly RenderedEvent[], upTo: number): void {
    const { types } = this.#subscription;
    this.#at = upTo;
    const shown = events.filter(({ type }) => !types || types.includes(type));
    if (shown.length > 0) void this.#run(shown.map(frame).join(""));
  }

  wake(upTo: number): void {
    this.#announced = Math.max(this.#announced, upTo);
    void this.#run();
  }

  /** Writes a typing frame at once, between other frames. Skips it if the client reads slowly. */
  sendTyping(frame: Uint8Array): void {
    const { headersSent, writableEnded, writableNeedDrain } = this.#response;
    if (!this.#subscription.showsTyping || !headersSent || writableEnded || writableNeedDrain) return;
    this.#response.write(frame);
  }

  isAllowed(): Promise<boolean> {
    return isStillValid(this.#core, this.#subscription.token, this.#subscription.caller);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#core.eventHub.remove(this);
    if (!this.#isSending) this.#response.end();
  }

  #onQuiet(): void {
    // The stream has ended, but its last bytes may not have left: do not wait for them.
    if (this.#hasEnded) this.#response.destroy();
    this.#isHeartbeatDue = true;
    void this.#run();
  }

  /** Sends these frames, then everything that is due. Does nothing if the stream is already sending. */
  async #run(frames?: string): Promise<void> {
    if (this.#isSending || this.#hasEnded) return;
    this.#isSending = true;
    try {
      if (frames !== undefined) await this.#write(frames);
      while (!this.#hasEnded && (this.#isHeartbeatDue || this.#announced > this.#at)) await this.#sendNext();
    } catch {
      // A client that resumes gets the error.
      this.#response.destroy();
      this.end();
    }
    this.#isSending = false;
    if (this.#hasEnded) this.#response.end();
  }

  async #sendNext(): Promise<void> {
    if (this.#isHeartbeatDue) {
      this.#isHeartbeatDue = false;
      return this.#write(":\n\n");
    }
    // Every event announced so far can now be read.
    this.#announced = 0;
    const { types } = this.#subscription;
    const { userId } = this;
    const next = await nextEvents(this.#core, userId, this.#at, types);
    // Events have expired: a client that resumes gets the error.
    if (!next) return this.end();
    if (next.hasMore) this.#announced = Number.POSITIVE_INFINITY;
    this.#at = next.after;
    // Render a few at a time, after the earlier ones have left: a slow client must not get what it may no longer see.
    for (let i = 0; i < next.events.length && !this.#hasEnded; i += SENT_AT_ONCE) {
      const some = next.events.slice(i, i + SENT_AT_ONCE);
      await this.#write((await renderEvents(this.#core, userId, some)).map(frame).join(""));
    }
  }

  /** Resolves when the text has left, or the client is gone. Closes the connection of a client that is too slow. */
  #write(text: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stalled = setTimeout(() => this.#response.destroy(), this.#core.limits.eventStallMs);
    this.#onLeft = () => {
      this.#onLeft = undefined;
      clearTimeout(stalled);
      resolve();
    };
    this.#response.write(text, (error) => {
      if (error) this.end();
      this.#onLeft?.();
    });
    return promise;
  }
}

function frame({ id, type, json }: RenderedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;
}
