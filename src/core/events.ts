import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type ShownAttachment, seenAttachments } from "../db/attachments.ts";
import { type EventRow, firstNumber, lastNumber, listEvents } from "../db/events.ts";
import { NEWEST } from "../db/page.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { bitsOfId, idOfBits } from "../util/ids.ts";
import { linked, unlinked } from "./attachments.ts";
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

/** An event of somebody, as it is kept. */
interface Happened {
  id: string;
  type: string;
  /** Milliseconds. */
  at: number;
  conversationId: string;
  /** JSON text. */
  payload: string;
}

/** An event as it is told. */
interface ToldEvent {
  id: string;
  type: string;
  /** `{id, type, timestamp, user_id, conversation_id, payload}`. */
  json: string;
}

/**
 * Events as their recipient is told them: the payload is the resource as it would have been retrieved then. The links of
 * files are signed now, where the recipient still sees them.
 */
export async function toldEvents(
  core: Core,
  recipientId: string,
  events: readonly Happened[],
): Promise<ToldEvent[]> {
  const attachments = new Map<Happened, ShownAttachment>();
  for (const event of events)
    if (event.type.startsWith("attachment.")) attachments.set(event, JSON.parse(event.payload));
  const ids = [...attachments.values()].map(({ id }) => id);
  const seen = ids.length === 0 ? new Set() : await seenAttachments(core.db, recipientId, ids);
  return events.map((event) => {
    const { id, type, at, conversationId } = event;
    const attachment = attachments.get(event);
    const payload = attachment
      ? (seen.has(attachment.id) ? linked : unlinked)(core, attachment)
      : event.payload;
    const conversation = conversationId === "" ? null : `"${conversationId}"`;
    const json = `{"id":"${id}","type":"${type}","timestamp":${toSeconds(at)},"user_id":"${recipientId}","conversation_id":${conversation},"payload":${payload}}`;
    return { id, type, json };
  });
}

function happened(row: EventRow): Happened {
  const { type, created_at: at, conversation_id: conversationId, payload } = row;
  return { id: eventId(row), type, at, conversationId, payload };
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
  if (page.newer) await refuseErased(core, userId, cursor);
  const rows = await findEvents(
    core,
    userId,
    { ...page, cursor, limit: page.limit + 1 },
    request.types ?? null,
  );
  const told = await toldEvents(core, userId, rows.map(happened));
  return pageOf(page, told, ({ json }) => json);
}

/** Events that are looked through at a time where those of some types may be few: others have their turn in between. */
const LOOKED_THROUGH = 5000;

interface Walk {
  cursor: number;
  newer: boolean;
  limit: number;
}

async function findEvents(
  core: Core,
  recipientId: string,
  { cursor, newer, limit }: Walk,
  types: readonly string[] | null,
): Promise<EventRow[]> {
  const walk = { recipientId, newer, types, since: keptSince(core) };
  if (types === null)
    return listEvents(core.db, { ...walk, cursor, limit, until: newer ? Number.MAX_SAFE_INTEGER : 0 });
  const last = await lastNumber(core.db, recipientId);
  const first = (await firstNumber(core.db, recipientId, walk.since)) ?? last + 1;
  const found: EventRow[] = [];
  const step = newer ? LOOKED_THROUGH : -LOOKED_THROUGH;
  for (let at = newer ? Math.max(cursor, first - 1) : Math.min(cursor, last + 1); ; at += step) {
    const until = at + step;
    found.push(...(await listEvents(core.db, { ...walk, cursor: at, until, limit: limit - found.length })));
    if (found.length === limit || (newer ? until >= last : until <= first)) return found;
    await setImmediate();
  }
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
  return refuseErased(core, userId, number);
}

/** Throws `events_erased` where some that came behind this number are gone. Returns it, or the last that there is. */
async function refuseErased(core: Core, userId: string, number: number): Promise<number> {
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
  const rows = await findEvents(core, userId, { cursor: after, newer: true, limit: AT_ONCE }, null);
  // The count has no gaps: what is missing was erased.
  if (rows.length > 0 && rows[0]!.number !== after + 1) return undefined;
  const wanted = rows.filter(({ type }) => !types || types.includes(type));
  return {
    events: await toldEvents(core, userId, wanted.map(happened)),
    after: rows.at(-1)?.number ?? after,
  };
}
