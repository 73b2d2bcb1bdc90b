import { setImmediate } from "node:timers/promises";
import { toReference } from "../../db/queries/events/events.ts";
import { findAttachments, findVisibleAttachment } from "../../db/queries/files/attachments.ts";
import { findOwnSeat, findSeated } from "../../db/queries/groups/group-members.ts";
import { hasRead, listMuted } from "../../db/queries/messages/marks.ts";
import { findAnyMessage, findMessages, type MessageRow } from "../../db/queries/messages/message-read.ts";
import {
  listBlockingReaders,
  listReactionReaders,
  type Reaction,
} from "../../db/queries/messages/reactions.ts";
import { listSeeing } from "../../db/queries/visibility/visibility.ts";
import type { DueDelivery } from "../../db/queries/webhooks/deliveries.ts";
import { toSeconds } from "../../util/clock.ts";
import { linked } from "../files/attachment-resource.ts";
import { renderMember } from "../groups/group-members.ts";
import { renderGroupForAll, renderGroups } from "../groups/groups.ts";
import { renderConversations } from "../messages/conversations.ts";
import { type messageResource, renderMessageForAll, renderMessages } from "../messages/messages.ts";
import type { Core } from "../node/core.ts";
import type { RenderedEvent } from "../node/event-hub.ts";
import type { TypeOf } from "../resource/schema.ts";
import type { eventResource, sharedEventResource } from "./event-fields.ts";

/** An event as it is stored. */
export interface StoredEvent {
  id: string;
  type: string;
  /** Milliseconds. */
  at: number;
  /** Empty if it belongs to none. */
  conversationId: string;
  /** JSON text. */
  payload: string;
}

/** What an event is about, as its recipients see it. */
interface Seen {
  /** JSON text. */
  json: string;
  /** Set for messages. */
  message?: MessageRow | undefined;
}

const NEW = "message.created";
/** An edit mentions the recipient. */
const MENTIONED = "message.mentioned";

/**
 * Whether an event of this type alerts the user: of no system message, not the sender, and a new message of a muted
 * conversation only if it mentions the user.
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
  const reactions = await findSeenReactions(core, recipientId, events);
  return events.map((event) => {
    if (reactions.has(event)) return render(event, recipientId, { json: event.payload }, false);
    // A group that was left or hidden may be visible again, under the same reference.
    const found = event.type.endsWith(".deleted") ? undefined : seen.get(event.payload);
    return render(event, recipientId, found, mutedIds.has(event.conversationId));
  });
}

/** Renders the events of one change that looks the same to everyone who can see it. The result is that of `renderEvents` for each recipient. */
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
    return render(event, recipientId, seen, mutedIds.has(recipientId));
  };
  const rendered: RenderedEvent[] = [];
  for (const { recipientId, event } of change) {
    // Signing the links of a hundred files takes 2 ms, and a group can have a thousand listeners.
    if (message?.has_files === 1 && rendered.length > 0) await setImmediate();
    rendered.push(await renderOne(recipientId, event));
  }
  return rendered;
}

/** Finds which of the users do not see some of the reactions that a message was rendered with. They may be gone by now. */
async function findBlocking(
  core: Core,
  message: MessageRow | undefined,
  show: SeenByAll["show"],
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (message?.has_reactions !== 1 || userIds.length === 0) return new Set();
  const { reactions } = JSON.parse(show(userIds[0]!)) as TypeOf<typeof messageResource>;
  const reacted = new Set(reactions.flatMap(({ user_ids }) => user_ids));
  return new Set(reacted.size === 0 ? [] : await listBlockingReaders(core.db, [...reacted], userIds));
}

/** `seen` is undefined if the recipient does not see what the event is about, or it is gone. */
function render(
  { id, type, at, conversationId, payload }: StoredEvent,
  recipientId: string,
  seen: Seen | undefined,
  isMuted: boolean,
): RenderedEvent {
  const head: Omit<TypeOf<typeof eventResource>, "payload"> = {
    id,
    type,
    timestamp: toSeconds(at),
    user_id: recipientId,
    conversation_id: conversationId || null,
  };
  if (isAlert(type)) {
    head.notify = seen?.message !== undefined && notifies(type, seen.message, recipientId, isMuted);
  }
  return { id, type, json: withPayload(head, seen?.json ?? toUnseen(type, payload)) };
}

/** The payload as it is stored has only ids, except that of a reaction. */
function toUnseen(type: string, payload: string): string {
  if (!isReaction(type)) return payload;
  const { message_id, conversation_id } = JSON.parse(payload) as Reaction;
  return JSON.stringify({ message_id, conversation_id });
}

function isReaction(type: string): boolean {
  return type.startsWith("reaction.");
}

/** Returns those of the users who see the reaction, or saw the one that was removed. */
function findReactionReaders(
  core: Core,
  { type, payload }: StoredEvent,
  userIds: readonly string[],
): Promise<string[]> {
  return listReactionReaders(core.db, JSON.parse(payload), type === "reaction.created", userIds);
}

/** Returns those of the events that are about reactions which the recipient sees. */
async function findSeenReactions(
  core: Core,
  recipientId: string,
  events: readonly StoredEvent[],
): Promise<ReadonlySet<StoredEvent>> {
  const seen = new Set<StoredEvent>();
  for (const event of events) {
    if (!isReaction(event.type)) continue;
    if ((await findReactionReaders(core, event, [recipientId])).length > 0) seen.add(event);
  }
  return seen;
}

/** Finds which of the users have muted which of the conversations. */
async function findMuted(core: Core, userIds: readonly string[], conversationIds: readonly string[]) {
  if (userIds.length === 0 || conversationIds.length === 0) return [];
  return listMuted(core.db, userIds, conversationIds, toSeconds(core.clock()));
}

function withPayload(head: object, payload: string): string {
  return `${JSON.stringify(head).slice(0, -1)},"payload":${payload}}`;
}

/** Finds what the events refer to, as far as the recipient sees it, by their references. */
async function findSeen(
  core: Core,
  recipientId: string,
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<string, Seen>> {
  const attachments = new Map<string, string>();
  const messages = new Map<string, string>();
  const conversations = new Map<string, string>();
  const groups = new Set<string>();
  const members = new Set<string>();
  for (const { type, payload } of events) {
    if (type.endsWith(".deleted")) continue;
    if (type.startsWith("attachment.")) attachments.set(JSON.parse(payload).id, payload);
    else if (type.startsWith("message.")) messages.set(JSON.parse(payload).id, payload);
    else if (type.startsWith("conversation.")) conversations.set(JSON.parse(payload).id, payload);
    else if (type.startsWith("group.")) groups.add(payload);
    else if (type.startsWith("member.")) members.add(payload);
  }
  const seen = new Map<string, Seen>();
  if (attachments.size > 0) {
    for (const row of await findAttachments(core.db, recipientId, [...attachments.keys()]))
      seen.set(attachments.get(row.id)!, { json: linked(core, row, recipientId) });
  }
  if (messages.size > 0) {
    const rows = await findMessages(core.db, recipientId, [...messages.keys()]);
    const texts = await renderMessages(core, rows, recipientId);
    for (const [i, message] of rows.entries())
      seen.set(messages.get(message.id)!, { json: texts[i]!, message });
  }
  if (conversations.size > 0) {
    for (const [id, json] of await renderConversations(core, recipientId, [...conversations.keys()]))
      seen.set(conversations.get(id)!, { json });
  }
  for (const [payload, json] of await findSeenGroups(core, recipientId, [...groups]))
    seen.set(payload, { json });
  for (const payload of members) {
    const json = await findSeenMember(core, recipientId, payload);
    if (json !== undefined) seen.set(payload, { json });
  }
  return seen;
}

/** Finds the groups that events refer to, by their references, of which a group may have two. */
async function findSeenGroups(
  core: Core,
  recipientId: string,
  payloads: readonly string[],
): Promise<[payload: string, json: string][]> {
  if (payloads.length === 0) return [];
  const ids = payloads.map((payload) => JSON.parse(payload).id as string);
  const texts = await renderGroups(core, recipientId, [...new Set(ids)]);
  return payloads.flatMap((payload, i) => {
    const json = texts.get(ids[i]!);
    return json === undefined ? [] : [[payload, json]];
  });
}

/** A member is seen by members. */
async function findSeenMember(core: Core, recipientId: string, payload: string): Promise<string | undefined> {
  const { id, group_id: groupId } = JSON.parse(payload) as { id: string; group_id: string };
  const seat = await findOwnSeat(core.db, groupId, recipientId);
  return seat && renderMember(core, groupId, id);
}

/** What an event is about, as everybody sees it who has blocked nobody. */
interface SeenByAll {
  /** Returns its JSON text with the links of this user. */
  show: (userId: string) => string;
  /** Set for messages. */
  message?: MessageRow;
  /** The recipients who see it. */
  userIds: readonly string[];
  /** Who has sent a message or file. */
  senderId?: string;
}

/**
 * Renders an event for a webhook of all users, without what depends on the recipient. Returns undefined if none of these
 * recipients sees what it is about.
 */
export async function renderForAll(
  core: Core,
  event: StoredEvent,
  recipientIds: readonly string[],
): Promise<string | undefined> {
  const { id, type, at, conversationId } = event;
  const { show, message, userIds, senderId } = await findSeenByAll(core, event, recipientIds);
  if (userIds.length === 0) return undefined;
  // A sender learns nothing of the others from a link of their own.
  const json = show(senderId !== undefined && userIds.includes(senderId) ? senderId : userIds[0]!);
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
  if (core.limits.webhookIdsOnly) return withPayload(head, onlyIds(event));
  return withPayload(head, message ? withoutReactions(json) : json);
}

/**
 * Renders an event that alerts for a push: ids only. Returns undefined if it does not alert the recipient any more, or is of
 * a new message that they have read meanwhile. A recipient who read a message before an edit has not read the edit.
 */
export async function renderPush(core: Core, delivery: DueDelivery): Promise<string | undefined> {
  const { event_id: id, type, told_at: at, recipient_id: userId, conversation_id, payload } = delivery;
  const [message] = await findMessages(core.db, userId, [JSON.parse(payload).id]);
  if (!message || (type === NEW && (await hasRead(core.db, userId, message)))) return undefined;
  const muted = await findMuted(core, [userId], [conversation_id]);
  if (!notifies(type, message, userId, muted.length > 0)) return undefined;
  const head = { id, type, timestamp: toSeconds(at), user_id: userId, conversation_id, notify: true };
  return withPayload(head, payload);
}

/** Reactions depend on whom the recipient blocks. */
function withoutReactions(json: string): string {
  const { reactions: _, ...shown } = JSON.parse(json) as TypeOf<typeof messageResource>;
  return JSON.stringify(shown);
}

/** The payload without content: a contact is stored as it was then, a reaction with its emoji, everything else as ids. */
function onlyIds({ type, conversationId, payload }: StoredEvent): string {
  if (isReaction(type)) {
    const { emoji: _, ...ids } = JSON.parse(payload) as Reaction;
    return JSON.stringify(ids);
  }
  return type.startsWith("contact.") ? toReference(JSON.parse(payload).id, conversationId) : payload;
}

const NOBODY: SeenByAll = { show: () => "", userIds: [] };

async function findSeenByAll(
  core: Core,
  event: StoredEvent,
  recipientIds: readonly string[],
): Promise<SeenByAll> {
  const { type, payload, conversationId } = event;
  const [family, change] = type.split(".");
  if (isReaction(type))
    return { show: () => payload, userIds: await findReactionReaders(core, event, recipientIds) };
  if (change === "deleted") return { show: () => payload, userIds: recipientIds };
  if (family === "message")
    return findMessageForAll(core, JSON.parse(payload).id, conversationId, recipientIds);
  if (family === "attachment") {
    const row = await findVisibleAttachment(core.db, JSON.parse(payload).id);
    if (!row) return NOBODY;
    const userIds = await listSeeing(core.db, conversationId, row.message_id, recipientIds);
    return { show: (userId) => linked(core, row, userId), userIds, senderId: row.uploader_id };
  }
  if (type === "group.updated" || family === "member") {
    const { id, group_id: groupId } = JSON.parse(payload) as { id: string; group_id?: string };
    const json = groupId ? await renderMember(core, groupId, id) : await renderGroupForAll(core, id);
    if (json === undefined) return NOBODY;
    // Also somebody who is invited gets a change of the group.
    const userIds = groupId ? await findSeated(core.db, groupId, recipientIds) : recipientIds;
    return { show: () => json, userIds };
  }
  if (family !== "conversation" && family !== "group") return { show: () => payload, userIds: recipientIds };
  // It has one recipient.
  const seen = (await findSeen(core, recipientIds[0]!, [event])).get(payload);
  return seen ? { show: () => seen.json, userIds: recipientIds } : NOBODY;
}

async function findMessageForAll(
  core: Core,
  messageId: string,
  conversationId: string,
  recipientIds: readonly string[],
): Promise<SeenByAll> {
  const message = await findAnyMessage(core.db, conversationId, messageId);
  if (!message) return NOBODY;
  const show = await renderMessageForAll(core, message);
  // Last: an edit meanwhile may have withdrawn the message from some, who must not get the new text.
  const userIds = await listSeeing(core.db, conversationId, messageId, recipientIds);
  return { show, message, userIds, senderId: message.sender_id };
}
