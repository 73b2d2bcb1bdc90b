import { setImmediate } from "node:timers/promises";
import { hasRead, listMuted } from "../../db/queries/messages/conversation-state.ts";
import { findMessages, type MessageRow } from "../../db/queries/messages/messages.ts";
import { listBlockingReaders } from "../../db/queries/messages/reactions.ts";
import type { DueDelivery } from "../../db/queries/webhooks/deliveries.ts";
import { toSeconds } from "../../util/clock.ts";
import { JsonObject } from "../../util/json-object.ts";
import type { messageResource } from "../messages/messages.ts";
import type { Core, DataAccess } from "../node/core.ts";
import type { RenderedEvent } from "../node/event-hub.ts";
import type { TypeOf } from "../resource/schema.ts";
import {
  familyOf,
  findSeen,
  findSeenByAll,
  type Seen,
  type SeenByAll,
  type StoredEvent,
  toUnseen,
} from "./event-families.ts";
import type { eventResource, sharedEventResource } from "./event-fields.ts";

type EventBody = TypeOf<typeof eventResource>;
/** An event without its payload. The test of a webhook has no `sequence`. */
type EventHead = Omit<EventBody, "payload" | "sequence"> & Partial<Pick<EventBody, "sequence">>;

const NEW = "message.created";
/** An edit mentions the recipient. */
const MENTIONED = "message.mentioned";

/**
 * Reports whether an event alerts the user. System messages alert nobody, a message does not alert its sender, and a new message
 * in a muted conversation alerts only users whom it mentions.
 */
function notifies(
  eventType: string,
  { type, sender_id, mentions }: MessageRow,
  userId: string,
  isMuted: boolean,
): boolean {
  if (type !== "text" || sender_id === userId) return false;
  if (eventType === NEW && !isMuted) return true;
  return isAlert(eventType) && (mentions?.split(" ").includes(userId) ?? false);
}

function isAlert(eventType: string): boolean {
  return eventType === NEW || eventType === MENTIONED;
}

/**
 * Renders events for their recipient. Those of messages, attachments and conversations refer to them: the payload is what a
 * retrieve at this time returns, or only the ids if the recipient does not see it. File links are signed now.
 */
export async function renderEvents(
  core: Core,
  recipientId: string,
  events: readonly StoredEvent[],
): Promise<RenderedEvent[]> {
  const seen = await findSeen(core, recipientId, events);
  const created = events.filter(({ type }) => type === NEW);
  const muted = await findMuted(
    core,
    [recipientId],
    created.map(({ conversationId }) => conversationId),
  );
  const mutedIds = new Set(muted.map(({ conversation_id }) => conversation_id));
  return events.map((event) =>
    render(core, event, recipientId, seen.get(event), mutedIds.has(event.conversationId)),
  );
}

/** Renders the events of one change that looks the same to everybody who sees it. The results are those of `renderEvents`. */
export async function renderChange(
  core: Core,
  change: readonly { recipientId: string; event: StoredEvent }[],
): Promise<RenderedEvent[]> {
  const recipientIds = change.map(({ recipientId }) => recipientId);
  const { event } = change[0]!;
  const { userIds, show, message } = await findSeenByAll(core, event, recipientIds);
  const isNew = event.type === NEW;
  const muted = await findMuted(core, userIds, isNew ? [event.conversationId] : []);
  const seeing = new Set(userIds);
  const mutedIds = new Set(muted.map(({ user_id }) => user_id));
  const blocking = await findBlocking(core, message, show, userIds);
  const renderOne = async (recipientId: string, event: StoredEvent) => {
    if (blocking.has(recipientId)) return (await renderEvents(core, recipientId, [event]))[0]!;
    const seen = seeing.has(recipientId) ? { json: show(recipientId), message } : undefined;
    return render(core, event, recipientId, seen, mutedIds.has(recipientId));
  };
  const rendered: RenderedEvent[] = [];
  for (const { recipientId, event } of change) {
    // Yield to other requests: signing the links of a hundred files takes 2 ms, and a group can have a thousand listeners.
    if (message?.has_files === 1 && rendered.length > 0) await setImmediate();
    rendered.push(await renderOne(recipientId, event));
  }
  return rendered;
}

/** Finds the users who do not see some of the reactions with which a message was rendered. These may be gone by now. */
async function findBlocking(
  core: DataAccess,
  message: MessageRow | undefined,
  show: SeenByAll["show"],
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (message?.has_reactions !== 1 || userIds.length === 0) return new Set();
  const { reactions } = JSON.parse(show(userIds[0]!)) as TypeOf<typeof messageResource>;
  const reacted = new Set(reactions.flatMap(({ user_ids }) => user_ids));
  return new Set(reacted.size === 0 ? [] : await listBlockingReaders(core.db, [...reacted], userIds));
}

/** Renders an event. `seen` is undefined if the recipient does not see the subject of the event, or it is gone. */
function render(
  core: DataAccess,
  event: StoredEvent,
  recipientId: string,
  seen: Seen | undefined,
  isMuted: boolean,
): RenderedEvent {
  const { id, number, type, at, conversationId } = event;
  const head: EventHead = {
    id,
    ...(number !== null && { sequence: number }),
    type,
    timestamp: toSeconds(at),
    user_id: recipientId,
    conversation_id: conversationId || null,
  };
  if (isAlert(type)) {
    head.notify = seen?.message !== undefined && notifies(type, seen.message, recipientId, isMuted);
  }
  return {
    id,
    type,
    json: withPayload(head, seen?.json ?? toUnseen(core, event)),
  };
}

/** Finds which of the users have muted which of the conversations. */
async function findMuted(core: DataAccess, userIds: readonly string[], conversationIds: readonly string[]) {
  if (userIds.length === 0 || conversationIds.length === 0) return [];
  return listMuted(core.db, userIds, conversationIds, toSeconds(core.clock()));
}

function withPayload(head: object, payload: string): string {
  return JsonObject.from(head).with("payload", payload).text;
}

/**
 * Renders an event for a webhook of all users, without the parts that depend on the recipient. Returns undefined if none of these
 * recipients sees its subject.
 */
export async function renderForAll(
  core: Core,
  event: StoredEvent,
  recipientIds: readonly string[],
): Promise<string | undefined> {
  const { id, type, at, conversationId } = event;
  const { show, message, userIds, senderId } = await findSeenByAll(core, event, recipientIds);
  if (userIds.length === 0) return undefined;
  const muted = await findMuted(core, userIds, type === NEW ? [conversationId] : []);
  const mutedIds = new Set(muted.map(({ user_id }) => user_id));
  const head: Omit<TypeOf<typeof sharedEventResource>, "payload"> = {
    id,
    type,
    timestamp: toSeconds(at),
    conversation_id: conversationId || null,
    recipients: userIds.map((userId) => ({
      user_id: userId,
      notify: message !== undefined && notifies(type, message, userId, mutedIds.has(userId)),
    })),
  };
  if (core.limits.webhookIdsOnly) return withPayload(head, familyOf(type).toIds?.(event) ?? event.payload);
  // Links of the sender reveal nothing about other recipients to the sender.
  const json = show(senderId !== undefined && userIds.includes(senderId) ? senderId : userIds[0]!);
  return withPayload(head, message ? withoutReactions(json) : json);
}

/**
 * Renders an alerting event for a push, with ids only. Returns undefined if it no longer alerts the recipient, or is about a new
 * message that they have meanwhile read. A recipient who read a message before an edit has not read the edit.
 */
export async function renderPush(core: DataAccess, delivery: DueDelivery): Promise<string | undefined> {
  const { event_id: id, type, told_at: at, recipient_id: userId, conversation_id, payload } = delivery;
  const [message] = await findMessages(core.db, userId, [JSON.parse(payload).id]);
  if (!message || (type === NEW && (await hasRead(core.db, userId, message)))) return undefined;
  const muted = await findMuted(core, [userId], [conversation_id]);
  if (!notifies(type, message, userId, muted.length > 0)) return undefined;
  const head = { id, type, timestamp: toSeconds(at), user_id: userId, conversation_id, notify: true };
  return withPayload(head, payload);
}

/** Removes the reactions, which depend on whom the recipient blocks. */
function withoutReactions(json: string): string {
  const { reactions: _, ...shown } = JSON.parse(json) as TypeOf<typeof messageResource>;
  return JSON.stringify(shown);
}
