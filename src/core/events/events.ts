import { hash } from "node:crypto";
import {
  type EventRow,
  firstNumber,
  lastEvent,
  listEvents as listEventRows,
} from "../../db/queries/events/events.ts";
import type { QuickReader } from "../../db/sql.ts";
import { ParleyError } from "../../errors.ts";
import { bitsOfId, idOfBits, isId } from "../../util/ids.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import type { RenderedEvent } from "../node/event-hub.ts";
import { NEWEST, type Page, type PageEnvelope, toPage, walkPages } from "../resource/page.ts";
import { ROWS_PER_TURN, type Turns } from "../resource/turns.ts";
import type { StoredEvent } from "./event-families.ts";
import { renderChange, renderEvents } from "./event-render.ts";
import { shownTypes } from "./event-types.ts";

const DAY_MS = 24 * 3600 * 1000;

/** Events from before this time (milliseconds) are erased, or will be soon. */
export function keptSince(core: DataAccess): number {
  return core.clock() - core.limits.eventDays * DAY_MS;
}

const NUMBER_BITS = 40n;
const RECIPIENT_BITS = 34n;

/**
 * Derives the id of an event from its time, its number and some bits of the recipient's id, in the form of all ids. So the id
 * contains the position among the recipient's events, and needs no column.
 */
export function eventId({
  recipient_id,
  number,
  created_at,
}: Pick<EventRow, "recipient_id" | "number" | "created_at">): string {
  const low = (BigInt(number) << RECIPIENT_BITS) | recipientBits(recipient_id);
  return idOfBits("evt", created_at, low);
}

/** Returns the number in the id of an event. */
export function numberOfEvent(id: string): number {
  return Number((bitsOfId(id) >> RECIPIENT_BITS) % (1n << NUMBER_BITS));
}

/**
 * Returns the number of the event with this id. Throws `invalid_parameter` for an id that no event of the recipient can
 * have.
 */
function eventNumber(recipientId: string, id: string, param: string): number {
  if (isId("evt", id) && bitsOfId(id) % (1n << RECIPIENT_BITS) === recipientBits(recipientId))
    return numberOfEvent(id);
  throw new ParleyError("invalid_parameter", `${param} must be the id of one of your events (evt_…).`, {
    param,
  });
}

function recipientBits(recipientId: string): bigint {
  return hash("sha256", recipientId, "buffer").readBigUInt64BE() >> (64n - RECIPIENT_BITS);
}

function toStoredEvent(row: EventRow): StoredEvent {
  const { number, type, created_at: at, conversation_id: conversationId, payload } = row;
  return { id: eventId(row), number, type, at, conversationId, payload };
}

/**
 * Returns one page of the caller's events, of all types or of these, as far as the token may see them. Throws
 * `insufficient_scope`.
 */
export async function listEvents(
  core: Core,
  caller: Caller,
  request: Page & { types?: readonly string[] | undefined },
  turns: Turns,
): Promise<PageEnvelope> {
  const { userId } = caller;
  const param = request.newer ? "ending_before" : "starting_after";
  const cursor =
    request.cursor === NEWEST ? Number.MAX_SAFE_INTEGER : eventNumber(userId, request.cursor, param);
  if (request.newer) await refuseErased(core, userId, cursor);
  const walk = { cursor, newer: request.newer, limit: request.limit };
  const types = shownTypes(caller.scopes, request.types);
  const rows = types
    ? await findEventsOfTypes(core, userId, walk, types, turns)
    : await findEvents(core, userId, { ...walk, limit: walk.limit + 1 });
  const events = await renderEvents(core, userId, rows.map(toStoredEvent));
  return toPage(request, events, ({ json }) => json);
}

interface Walk {
  cursor: number;
  newer: boolean;
  limit: number;
}

function findEvents(core: DataAccess, recipientId: string, walk: Walk): Promise<EventRow[]> {
  const until = walk.newer ? Number.MAX_SAFE_INTEGER : 0;
  return listEventRows(core.db, { ...walk, recipientId, types: null, since: keptSince(core), until });
}

async function findEventsOfTypes(
  core: DataAccess,
  recipientId: string,
  page: Walk,
  types: readonly string[],
  turns: Turns,
): Promise<EventRow[]> {
  const { cursor, newer } = page;
  const walk = { recipientId, newer, types, since: keptSince(core) };
  const { number: last } = await lastEvent(core.db, recipientId);
  const first = (await firstNumber(core.db, recipientId, walk.since)) ?? last + 1;
  // Start at the kept events: those of the requested types may be rare.
  const start = newer ? Math.max(cursor, first - 1) : Math.min(cursor, last + 1);
  const { rows } = await walkPages(page, start, turns, async (cursor, limit) => {
    const until = cursor + (newer ? ROWS_PER_TURN : -ROWS_PER_TURN);
    const rows = await listEventRows(core.db, { ...walk, cursor, until, limit });
    return { rows, next: (newer ? until >= last : until <= first) ? undefined : until };
  });
  return rows;
}

/** Renders the events of one change for their recipients, in their order. */
export function renderRows(core: Core, change: readonly EventRow[]): Promise<RenderedEvent[]> {
  return renderChange(
    core,
    change.map((row) => ({ recipientId: row.recipient_id, event: toStoredEvent(row) })),
  );
}

/** Events read at a time for one listener. */
const AT_ONCE = 50;

/**
 * Returns the id of the caller's newest event, as a cursor for later events. It is a valid cursor even if the caller has no
 * events.
 */
export async function newestEventId(core: DataAccess<QuickReader>, { userId }: Caller): Promise<string> {
  return eventId({ recipient_id: userId, ...(await lastEvent(core.db, userId)) });
}

/**
 * Returns the number of the event with this id. Throws `invalid_parameter` with `param`, and `events_erased` if events after it
 * are gone.
 */
export async function findStart(
  core: DataAccess,
  { userId }: Caller,
  lastId: string,
  param: string,
): Promise<number> {
  const number = eventNumber(userId, lastId, param);
  return refuseErased(core, userId, number);
}

/**
 * Throws `events_erased` if events after this number are gone. Returns the number, or that of the newest event if it is
 * lower.
 */
async function refuseErased(core: DataAccess, userId: string, number: number): Promise<number> {
  const { number: last } = await lastEvent(core.db, userId);
  if (number >= last) return last;
  const first = await firstNumber(core.db, userId, keptSince(core));
  if (first === undefined || first > number + 1) throw new ParleyError("events_erased");
  return number;
}

/**
 * Returns the next events after a number, skipping other types, the number to continue after, and whether there may be
 * more. Undefined if events were erased before they were read.
 */
export async function nextEvents(
  core: DataAccess,
  userId: string,
  after: number,
  types: readonly string[] | undefined,
): Promise<{ events: StoredEvent[]; after: number; hasMore: boolean } | undefined> {
  const rows = await findEvents(core, userId, { cursor: after, newer: true, limit: AT_ONCE });
  // Numbers have no gaps: a missing one was erased.
  if (rows.length > 0 && rows[0]!.number !== after + 1) return undefined;
  const wanted = rows.filter(({ type }) => !types || types.includes(type));
  const reached = rows.at(-1)?.number ?? after;
  return { events: wanted.map(toStoredEvent), after: reached, hasMore: rows.length === AT_ONCE };
}
