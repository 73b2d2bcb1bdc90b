import type { Limits } from "../../config/limits.ts";
import type { Database } from "../../db/database.ts";
import {
  eventsAfter,
  groupByChange,
  isSameForAll,
  lastPosition,
  type PositionedEvent,
} from "../../db/queries/events/events.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";

/** The part of the core that the hub needs. */
interface HubContext {
  db: Database;
  limits: Limits;
}

/** An event as it is sent. */
export interface RenderedEvent {
  id: string;
  type: string;
  json: string;
}

/** A typing event as it is sent: it is encoded once for all streams of a transport. */
export interface TypingFrame {
  sse: Uint8Array;
  json: Uint8Array;
}

export const TRANSPORTS = ["sse", "websocket"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** An open stream of one user's events. */
export interface Listener {
  userId: string;
  transport: Transport;
  /** Returns the number of the last event that was sent; undefined while the stream does not wait for the next. */
  waitsAfter(): number | undefined;
  /** Sends the events that the stream waits for, of which `upTo` is the last number. */
  send(events: readonly RenderedEvent[], upTo: number): void;
  /** Called when the stream has to read the events up to this number. */
  wake(upTo: number): void;
  /** Sends a frame of an event that is stored nowhere, at once or not at all. */
  sendTyping(frame: TypingFrame): void;
  /** Resolves to the reason once the token of the stream is no longer valid, or its user is paused. Never rejects. */
  findRefusal(): Promise<ErrorCode | undefined>;
  /** Ends the stream. The code says why. */
  end(code: ErrorCode): void;
}

/** Renders the events of one change for their recipients, in their order. */
type RenderChange = (change: readonly PositionedEvent[]) => Promise<RenderedEvent[]>;

/** Positions read in one turn. */
const AT_ONCE = 1000;
/** Events sent to a stream at once: the next are rendered when these have left. */
export const SENT_AT_ONCE = 10;
/** Tokens checked concurrently. */
const CHECKED_AT_ONCE = 50;
/** How often tokens are checked for expiry. */
const LOOK_AGAIN_MS = 1000;

/** Tracks the listeners of this node, and wakes those with new events from any node or process. */
export class EventHub {
  readonly #listeners = new Map<string, Set<Listener>>();
  #position: number | undefined;
  #revocations: number | null = null;
  #lookedAt = 0;
  /** Increases each time the tokens have to be checked again. */
  #round = 0;
  /** The round in which each listener was last allowed. */
  readonly #allowed = new WeakMap<Listener, number>();
  #checking: Promise<void> | undefined;
  #closed = false;

  /** Adds a listener. Throws `too_many_streams`, or `unavailable` if the server is stopping. */
  async add(core: HubContext, listener: Listener): Promise<void> {
    if (this.#closed) throw new ParleyError("unavailable");
    const others = this.#listeners.get(listener.userId);
    if (others && others.size >= core.limits.eventListenersPerUser) throw new ParleyError("too_many_streams");
    this.#listeners.set(listener.userId, (others ?? new Set()).add(listener));
    // The position is not updated while nobody listens.
    if (this.#position !== undefined) return;
    const position = await lastPosition(core.db);
    // Another listener may meanwhile have set and advanced it.
    this.#position ??= position;
  }

  remove(listener: Listener): void {
    const listeners = this.#listeners.get(listener.userId);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(listener.userId);
    if (this.#listeners.size === 0) this.#position = undefined;
  }

  hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  countListeners(transport: Transport): number {
    return this.#all().filter((listener) => listener.transport === transport).length;
  }

  /** Reads new events and wakes listeners. Call this when there may be new events, and periodically. Does not wait for token checks. */
  async look(core: HubContext, render: RenderChange): Promise<void> {
    this.#lookForRevocations(core);
    for (let more = true; more && this.#position !== undefined; ) {
      const rows = await eventsAfter(core.db, this.#position, AT_ONCE);
      await this.#handOut(
        core,
        rows.filter((row) => this.#listeners.has(row.recipient_id)),
        render,
      );
      if (rows.length > 0 && this.#position !== undefined) this.#position = rows.at(-1)!.position;
      more = rows.length === AT_ONCE;
    }
  }

  /** Renders each change once for all streams that wait for it, and wakes the others. */
  async #handOut(core: HubContext, rows: readonly PositionedEvent[], render: RenderChange): Promise<void> {
    if (rows.length === 0) return;
    const byRecipient = Map.groupBy(rows, ({ recipient_id }) => recipient_id);
    const areFew = (userId: string) => byRecipient.get(userId)!.length <= SENT_AT_ONCE;
    const awaited = rows.filter(
      (row) => isSameForAll(row.type) && areFew(row.recipient_id) && this.#isAwaited(row),
    );
    const { changes } = groupByChange(awaited, awaited.length + 1)!;
    const rendered = new Map<PositionedEvent, RenderedEvent>();
    const renderAll = async (change: readonly PositionedEvent[]) => {
      const events = await render(change);
      for (const [i, row] of change.entries()) rendered.set(row, events[i]!);
    };
    // A change that cannot be rendered ends only the streams that then read it.
    await Promise.allSettled(changes.map(renderAll));
    // Tokens may have been revoked meanwhile.
    this.#lookForRevocations(core);
    for (const [userId, own] of byRecipient)
      for (const listener of this.#listeners.get(userId) ?? []) void this.#handTo(listener, own, rendered);
  }

  #isAwaited({ recipient_id, number }: PositionedEvent): boolean {
    for (const listener of this.#listeners.get(recipient_id) ?? [])
      if (number > (listener.waitsAfter() ?? number)) return true;
    return false;
  }

  async #handTo(
    listener: Listener,
    rows: readonly PositionedEvent[],
    rendered: ReadonlyMap<PositionedEvent, RenderedEvent>,
  ): Promise<void> {
    const after = listener.waitsAfter();
    // A stream that reads events itself may be ahead.
    const next = after === undefined ? rows : rows.filter(({ number }) => number > after);
    if (next.length === 0) return;
    const events = next.flatMap((row) => rendered.get(row) ?? []);
    // The numbers of a recipient have no gaps.
    const areNext = next[0]!.number - 1 === after && events.length === next.length;
    const upTo = next.at(-1)!.number;
    if (this.#allowed.get(listener) !== this.#round && !(await this.#isAllowed(listener))) return;
    if (areNext && listener.waitsAfter() === after) listener.send(events, upTo);
    else listener.wake(upTo);
  }

  /** Sends a frame to the streams of the user that show who is typing. */
  sendTyping(core: HubContext, userId: string, frame: TypingFrame): void {
    const listeners = this.#listeners.get(userId);
    if (!listeners) return;
    this.#lookForRevocations(core);
    for (const listener of listeners) {
      if (this.#allowed.get(listener) === this.#round) listener.sendTyping(frame);
      else void this.#isAllowed(listener).then((isAllowed) => isAllowed && listener.sendTyping(frame));
    }
  }

  /** Ends all streams and refuses new ones. */
  close(): void {
    this.#closed = true;
    this.endAll();
  }

  /** Ends all streams, so that clients resume them on another node. */
  endAll(): void {
    for (const listener of this.#all()) listener.end("unavailable");
  }

  #lookForRevocations({ db }: HubContext): void {
    const revocations = db.revocations();
    const now = performance.now();
    if (revocations !== this.#revocations || now - this.#lookedAt >= LOOK_AGAIN_MS) {
      this.#revocations = revocations;
      this.#lookedAt = now;
      this.#round++;
      this.#checking ??= this.#checkAll().finally(() => {
        this.#checking = undefined;
      });
    }
  }

  /** Checks all tokens, a few at a time. Listeners with new events are checked earlier, by `#handTo`. */
  async #checkAll(): Promise<void> {
    for (let round = -1; round !== this.#round; ) {
      round = this.#round;
      const all = this.#all();
      for (let i = 0; i < all.length; i += CHECKED_AT_ONCE) {
        await Promise.all(all.slice(i, i + CHECKED_AT_ONCE).map((listener) => this.#isAllowed(listener)));
      }
    }
  }

  /** Ends the stream if its token is not valid, or its user is paused. */
  async #isAllowed(listener: Listener): Promise<boolean> {
    const round = this.#round;
    if (this.#allowed.get(listener) === round) return true;
    const refusal = await listener.findRefusal();
    if (refusal) {
      listener.end(refusal);
      return false;
    }
    this.#allowed.set(listener, round);
    return true;
  }

  #all(): Listener[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners]);
  }
}
