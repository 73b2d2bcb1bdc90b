import { hash } from "node:crypto";
import { type EventRow, firstNumber, lastNumber, listEvents } from "../db/events.ts";
import { NEWEST } from "../db/page.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { bitsOfId, idOfBits } from "../util/ids.ts";
import { linked } from "./attachments.ts";
import type { Caller } from "./caller.ts";
import type { Core } from "./core.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";

export { RESOURCE_EVENTS } from "../db/events.ts";

const DAY_MS = 24 * 3600 * 1000;

/** Events from before this time (milliseconds) are erased, or about to be. */
export function keptSince(core: Core): number {
  return core.clock() - core.limits.eventDays * DAY_MS;
}

const NUMBER_BITS = 40n;
const RECIPIENT_BITS = 34n;

/**
 * Of an event, always the same: its time, its number and some bits that are the recipient's, in the form of all ids. So an
 * id is also the place in the recipient's events, and no column of its own.
 */
export function eventId({ recipient_id, number, created_at }: EventRow): string {
  const low = (BigInt(number) << RECIPIENT_BITS) | recipientBits(recipient_id);
  return idOfBits("evt", created_at, low);
}

/** The number of the event with this id. Throws `invalid_parameter` for an id that no event of the recipient has. */
function eventNumber(recipientId: string, id: string, param: string): number {
  const low = bitsOfId(id);
  if (low % (1n << RECIPIENT_BITS) === recipientBits(recipientId)) {
    return Number((low >> RECIPIENT_BITS) % (1n << NUMBER_BITS));
  }
  throw new ParleyError("invalid_parameter", `${param} must be the id of an event of yours (evt_…).`, {
    param,
  });
}

function recipientBits(recipientId: string): bigint {
  return hash("sha256", recipientId, "buffer").readBigUInt64BE() >> (64n - RECIPIENT_BITS);
}

function eventOf(core: Core, row: EventRow): ToldEvent {
  const id = eventId(row);
  return { id, type: row.type, json: eventJson(core, id, row.type, row.created_at, row.payload) };
}

/** An event as it is told: the payload is the resource as its recipient would have retrieved it, its link signed now. */
export function eventJson(core: Core, id: string, type: string, at: number, payload: string): string {
  const shown = type.startsWith("attachment.") ? linked(core, JSON.parse(payload)) : payload;
  return `{"id":"${id}","type":"${type}","timestamp":${toSeconds(at)},"payload":${shown}}`;
}

interface ToldEvent {
  id: string;
  type: string;
  /** `{id, type, timestamp, payload}`. */
  json: string;
}

/** One page of the caller's events, of all types or of these. */
export async function listEventPage(
  core: Core,
  caller: Caller,
  request: PageRequest & { types?: readonly string[] | undefined },
): Promise<PageOf> {
  const { userId } = caller;
  const page = pageQuery(request);
  const given = Object.entries(request).find(([name]) => /^(?:starting_after|ending_before)$/.test(name));
  const cursor =
    page.cursor === NEWEST ? Number.MAX_SAFE_INTEGER : eventNumber(userId, page.cursor, given![0]);
  const rows = await listEvents(core.db, {
    recipientId: userId,
    cursor,
    newer: page.newer,
    since: keptSince(core),
    limit: page.limit + 1,
    types: request.types ?? null,
  });
  return pageOf(page, rows, (row) => eventOf(core, row).json);
}

/** Events that are read at a time for one listener. */
const AT_ONCE = 50;

/**
 * Where to go on from: behind the event with this id, or, without one, behind the last. Throws `events_erased` where some
 * that came in between are gone.
 */
export async function findStart(core: Core, caller: Caller, lastId: string | undefined): Promise<number> {
  const { userId } = caller;
  if (lastId === undefined) return lastNumber(core.db, userId);
  const number = eventNumber(userId, lastId, "Last-Event-ID");
  const last = await lastNumber(core.db, userId);
  if (number >= last) return last;
  const first = await firstNumber(core.db, userId, keptSince(core));
  if (first === undefined || first > number + 1) throw new ParleyError("events_erased");
  return number;
}

/**
 * The next events behind a number, and the number to go on from; what is of other types is passed over. Undefined
 * where some were erased before they were read.
 */
export async function nextEvents(
  core: Core,
  userId: string,
  after: number,
  types: readonly string[] | undefined,
): Promise<{ events: ToldEvent[]; after: number } | undefined> {
  const rows = await listEvents(core.db, {
    recipientId: userId,
    cursor: after,
    newer: true,
    since: keptSince(core),
    limit: AT_ONCE,
    types: null,
  });
  // The count has no gaps: what is missing was erased.
  if (rows.length > 0 && rows[0]!.number !== after + 1) return undefined;
  const events = rows.filter(({ type }) => !types || types.includes(type)).map((row) => eventOf(core, row));
  return { events, after: rows.at(-1)?.number ?? after };
}
