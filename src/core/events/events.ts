import { hash } from "node:crypto";
import { NEWEST } from "../../db/page.ts";
import { type ShownAttachment, seenAttachments } from "../../db/queries/attachments.ts";
import {
  type EventRow,
  firstNumber,
  lastNumber,
  listEvents as listEventRows,
  RESOURCE_EVENTS,
} from "../../db/queries/events.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { bitsOfId, idOfBits } from "../../util/ids.ts";
import type { Caller } from "../access/caller.ts";
import { contactResource } from "../contacts.ts";
import type { Core } from "../core.ts";
import { attachmentResource, linked, unlinked } from "../files/attachments.ts";
import { type PageEnvelope, type PageRequest, pageQuery, toPage } from "../page.ts";
import { anyOf, described, id, object, oneOf, resource, type TypeOf, textOrNull, time } from "../schema.ts";
import { nextTurn, ROWS_PER_TURN } from "../turns.ts";
import { webhookResource } from "./webhook-fields.ts";

const eventMembers = {
  id: id("evt"),
  type: oneOf<string>(...RESOURCE_EVENTS),
  timestamp: time,
  user_id: described(id("usr"), "The recipient."),
  conversation_id: described(textOrNull, "`cnv_…`; null if the event belongs to no conversation."),
};
export const eventResource = resource(
  "Event",
  {
    ...eventMembers,
    payload: described(
      anyOf(contactResource, attachmentResource, webhookResource),
      "The contact, attachment or webhook, as the recipient would have retrieved it.",
    ),
  },
  "A change of something that the recipient can see.",
);
/** All but the payload, which is stored as JSON text. */
type EventHead = Omit<TypeOf<typeof eventResource>, "payload">;
export const testEventResource = resource(
  "TestEvent",
  {
    ...eventMembers,
    type: { type: "string", const: "webhook.test" },
    conversation_id: { type: "null" },
    payload: object({ id: id("whk") }),
  },
  "The event that a test of a webhook sends.",
);

const DAY_MS = 24 * 3600 * 1000;

/** Events from before this time (milliseconds) are erased, or will be soon. */
export function keptSince(core: Core): number {
  return core.clock() - core.limits.eventDays * DAY_MS;
}

const NUMBER_BITS = 40n;
const RECIPIENT_BITS = 34n;

/**
 * Derives the id of an event from its time, its number and some bits of the recipient's id, in the form of all ids. So
 * the id is also the position among the recipient's events, and needs no column.
 */
export function eventId({ recipient_id, number, created_at }: EventRow): string {
  const low = (BigInt(number) << RECIPIENT_BITS) | recipientBits(recipient_id);
  return idOfBits("evt", created_at, low);
}

/**
 * Returns the number of the event with this id. Throws `invalid_parameter` for an id that no event of the recipient can
 * have.
 */
function eventNumber(recipientId: string, id: string, param: string): number {
  const low = bitsOfId(id);
  if (low % (1n << RECIPIENT_BITS) === recipientBits(recipientId)) {
    return Number((low >> RECIPIENT_BITS) % (1n << NUMBER_BITS));
  }
  throw new ParleyError("invalid_parameter", `${param} must be the id of one of your events (evt_…).`, {
    param,
  });
}

function recipientBits(recipientId: string): bigint {
  return hash("sha256", recipientId, "buffer").readBigUInt64BE() >> (64n - RECIPIENT_BITS);
}

/** An event as it is stored. */
interface StoredEvent {
  id: string;
  type: string;
  /** Milliseconds. */
  at: number;
  conversationId: string;
  /** JSON text. */
  payload: string;
}

/** An event as it is sent. */
interface RenderedEvent {
  id: string;
  type: string;
  /** `{id, type, timestamp, user_id, conversation_id, payload}`. */
  json: string;
}

/**
 * Renders events for their recipient: the payload is the resource as a retrieve at that time would have returned it.
 * File links are signed now, if the recipient still sees the file.
 */
export async function renderEvents(
  core: Core,
  recipientId: string,
  events: readonly StoredEvent[],
): Promise<RenderedEvent[]> {
  const attachments = new Map<StoredEvent, ShownAttachment>();
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
    const head: EventHead = {
      id,
      type,
      timestamp: toSeconds(at),
      user_id: recipientId,
      conversation_id: conversationId || null,
    };
    return { id, type, json: `${JSON.stringify(head).slice(0, -1)},"payload":${payload}}` };
  });
}

function toStoredEvent(row: EventRow): StoredEvent {
  const { type, created_at: at, conversation_id: conversationId, payload } = row;
  return { id: eventId(row), type, at, conversationId, payload };
}

/** Returns one page of the caller's events, of all types or of these. */
export async function listEvents(
  core: Core,
  caller: Caller,
  request: PageRequest & { types?: readonly string[] | undefined },
): Promise<PageEnvelope> {
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
  const told = await renderEvents(core, userId, rows.map(toStoredEvent));
  return toPage(page, told, ({ json }) => json);
}

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
    return listEventRows(core.db, { ...walk, cursor, limit, until: newer ? Number.MAX_SAFE_INTEGER : 0 });
  const last = await lastNumber(core.db, recipientId);
  const first = (await firstNumber(core.db, recipientId, walk.since)) ?? last + 1;
  const found: EventRow[] = [];
  // Events of these types may be rare.
  const step = newer ? ROWS_PER_TURN : -ROWS_PER_TURN;
  for (let at = newer ? Math.max(cursor, first - 1) : Math.min(cursor, last + 1); ; at += step) {
    const until = at + step;
    found.push(
      ...(await listEventRows(core.db, { ...walk, cursor: at, until, limit: limit - found.length })),
    );
    if (found.length === limit || (newer ? until >= last : until <= first)) return found;
    await nextTurn();
  }
}

/** Events read at a time for one listener. */
const AT_ONCE = 50;

/**
 * Returns the number to continue after: that of the event with this id, or without an id that of the newest. Throws
 * `events_erased` if events in between are gone.
 */
export async function findStart(core: Core, caller: Caller, lastId: string | undefined): Promise<number> {
  const { userId } = caller;
  if (lastId === undefined) return lastNumber(core.db, userId);
  const number = eventNumber(userId, lastId, "Last-Event-ID");
  return refuseErased(core, userId, number);
}

/**
 * Throws `events_erased` if events after this number are gone. Returns the number, or that of the newest event if it is
 * lower.
 */
async function refuseErased(core: Core, userId: string, number: number): Promise<number> {
  const last = await lastNumber(core.db, userId);
  if (number >= last) return last;
  const first = await firstNumber(core.db, userId, keptSince(core));
  if (first === undefined || first > number + 1) throw new ParleyError("events_erased");
  return number;
}

/**
 * Returns the next events after a number, skipping other types, and the number to continue after. Undefined if events
 * were erased before they were read.
 */
export async function nextEvents(
  core: Core,
  userId: string,
  after: number,
  types: readonly string[] | undefined,
): Promise<{ events: RenderedEvent[]; after: number } | undefined> {
  const rows = await findEvents(core, userId, { cursor: after, newer: true, limit: AT_ONCE }, null);
  // Numbers have no gaps: a missing one was erased.
  if (rows.length > 0 && rows[0]!.number !== after + 1) return undefined;
  const wanted = rows.filter(({ type }) => !types || types.includes(type));
  return {
    events: await renderEvents(core, userId, wanted.map(toStoredEvent)),
    after: rows.at(-1)?.number ?? after,
  };
}
