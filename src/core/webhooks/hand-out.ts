import {
  eventsAfter,
  groupByChange,
  isShared,
  type PositionedEvent,
} from "../../db/queries/events/events.ts";
import {
  findCursor,
  firstListening,
  type ListeningRow,
  listBacklog,
  listListening,
  listWithBacklog,
  MAX_PENDING,
  type NewDelivery,
} from "../../db/queries/webhooks/hand-out.ts";
import { Rate } from "../../util/rate.ts";
import { isShown } from "../events/event-types.ts";
import { eventId } from "../events/events.ts";
import type { Core } from "../node/core.ts";

/** Events per step. */
const EVENTS = 200;
/** Recipients per step. One statement counts the pending deliveries of all their webhooks. */
const RECIPIENTS = 20;
/** The approximate number of deliveries that one write creates. Other writes wait for it. */
const DELIVERIES = 1000;
/** Webhooks with a backlog per step. */
const WEBHOOKS = 20;
/** How often to check backlogs while none makes progress: each check counts deliveries. */
const LOOK_MS = 250;
/**
 * How much the webhooks of one user may add to the database: the sustained rate and the burst. A user with 20 webhooks
 * stores each event 20 times; without a limit one token could fill a disk.
 */
const BYTES_PER_SECOND = 125_000;
const BURST_BYTES = 5_000_000;
/** Size of a delivery without its payload, including index entries, measured on SQLite. */
const ROW_BYTES = 600;

/** Creates deliveries for the webhooks that want an event, and tracks how many bytes each user's webhooks have used. */
export class HandOut {
  readonly #core: Core;
  readonly #rate: Rate;
  /** The next step checks the backlogs of webhooks after this id. */
  #after = "";
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(core: Core) {
    this.#core = core;
    this.#rate = new Rate(BYTES_PER_SECOND, BURST_BYTES, core.clock);
  }

  /** Takes one step; returns false if there is nothing more to do for now. */
  async step(): Promise<boolean> {
    const caughtUp = await this.#catchUp();
    return (await this.#handOutNext()) || caughtUp;
  }

  /** Hands out the next events after the cursor. */
  async #handOutNext(): Promise<boolean> {
    const { db } = this.#core;
    const since = await firstListening(db);
    if (since === undefined) return false;
    const from = await findCursor(db);
    const { changes, rest } = await readChanges((limit) => eventsAfter(db, Math.max(from, since), limit));
    if (changes.length === 0) return false;
    const recipients = new Set<string>();
    const beyond = changes.findIndex((change, i) => {
      for (const { recipient_id } of change) recipients.add(recipient_id);
      return i > 0 && recipients.size > RECIPIENTS;
    });
    const looked = beyond === -1 ? changes : changes.slice(0, beyond);
    const hooks = await listListening(db, [...recipients]);
    const deliveries: NewDelivery[] = [];
    const behind = new Set<string>();
    const fallen = new Map<string, number>();
    let to = from;
    for (const change of looked) {
      if (deliveries.length >= DELIVERIES) break;
      to = change.at(-1)!.position;
      for (const hook of hooks) {
        for (const events of toDeliver(hook, change)) {
          if (hook.backlog_from !== null) behind.add(hook.id);
          else if (fallen.has(hook.id)) continue;
          else if (this.#take(hook, events)) deliveries.push(this.#delivery(hook, events));
          else fallen.set(hook.id, events[0]!.position);
        }
      }
    }
    await db.write("addDeliveries", {
      deliveries,
      fallen: [...fallen].map(([webhookId, position]) => ({ webhookId, position })),
      behind: [...behind],
      since,
      from,
      to,
      now: this.#core.clock(),
    });
    return rest !== undefined || to < changes.at(-1)!.at(-1)!.position;
  }

  /** Hands events to webhooks with a backlog that have room again, each from the start of its backlog. */
  async #catchUp(): Promise<boolean> {
    if (performance.now() - this.#lookedAt < LOOK_MS) return false;
    const { db } = this.#core;
    const hooks = await listWithBacklog(db, this.#after, WEBHOOKS);
    this.#after = hooks.length < WEBHOOKS ? "" : hooks.at(-1)!.id;
    let more = false;
    // The webhooks of one user share the user's rate: the one with the oldest backlog comes first.
    for (const hook of hooks.sort((a, b) => a.backlog_from - b.backlog_from)) {
      if (!this.#hasMuchRoom(hook)) continue;
      const cursor = await findCursor(db);
      const { changes, rest } = await readChanges((limit) => listBacklog(db, hook, cursor, limit));
      const deliveries: NewDelivery[] = [];
      // The next step starts at the event after these.
      let next = rest?.[0];
      for (const events of changes.flatMap((change) => toDeliver(hook, change))) {
        if (!this.#take(hook, events)) {
          next = events[0];
          break;
        }
        deliveries.push(this.#delivery(hook, events));
      }
      const to = next?.position ?? null;
      if (to === hook.backlog_from) continue;
      const write = { webhookId: hook.id, deliveries, from: hook.backlog_from, to, cursor };
      await db.write("addBacklog", { ...write, now: this.#core.clock() });
      more = true;
    }
    if (!more) this.#lookedAt = performance.now();
    return more;
  }

  /** Reports whether there is room for many deliveries: a step for one costs as much. */
  #hasMuchRoom({ user_id, all_users, pending }: ListeningRow): boolean {
    if (pending > MAX_PENDING / 2) return false;
    return all_users === 1 || this.#rate.left(this.#rate.next(user_id, 0)) >= BYTES_PER_SECOND;
  }

  /** Reserves room for a delivery if the webhook and its owner have any. */
  #take(hook: ListeningRow, events: readonly PositionedEvent[]): boolean {
    if (hook.pending >= MAX_PENDING) return false;
    if (hook.all_users === 0) {
      const used = this.#rate.next(hook.user_id, ROW_BYTES + Buffer.byteLength(events[0]!.payload));
      if (this.#rate.isTooMuch(used)) return false;
      this.#rate.note(hook.user_id, used);
    }
    hook.pending++;
    return true;
  }

  #delivery(hook: ListeningRow, events: readonly PositionedEvent[]): NewDelivery {
    const first = events[0]!;
    const isOfChange = hook.all_users === 1 && isShared(first.type);
    return {
      id: this.#core.newId("dlv"),
      webhookId: hook.id,
      eventId: eventId(first),
      position: first.position,
      lastPosition: isOfChange ? events.at(-1)!.position : null,
    };
  }
}

/** Reads the next events, about `EVENTS`, as whole changes. */
async function readChanges(read: (limit: number) => Promise<PositionedEvent[]>) {
  for (let limit = EVENTS + 1; ; limit *= 2) {
    const grouped = groupByChange(await read(limit), limit);
    if (grouped) return grouped;
  }
}

/** Returns the events of each delivery of a change to the webhook. A webhook of all users gets them in one delivery. */
function toDeliver(hook: ListeningRow, change: readonly PositionedEvent[]): PositionedEvent[][] {
  const wanted = change.filter((event) => wants(hook, event));
  if (wanted.length === 0) return [];
  return hook.all_users === 1 && isShared(wanted[0]!.type) ? [wanted] : wanted.map((event) => [event]);
}

function wants(hook: ListeningRow, { recipient_id, type, position }: PositionedEvent): boolean {
  if (position <= hook.since_position) return false;
  if (hook.all_users === 0 && hook.user_id !== recipient_id) return false;
  if (!isShown(new Set(hook.scopes.split(" ")), type)) return false;
  return hook.types === null || hook.types.split(" ").includes(type);
}
