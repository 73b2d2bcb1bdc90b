// The differences between the families of events. A family is the part of a type before the dot.
import { isShared, toReference } from "../../db/queries/events/events.ts";
import { findAttachments, findVisibleAttachment } from "../../db/queries/files/attachments.ts";
import { findOwnSeat, findSeated } from "../../db/queries/groups/group-members.ts";
import { findAnyMessage, findMessages, type MessageRow } from "../../db/queries/messages/messages.ts";
import { listReactionReaders, type Reaction } from "../../db/queries/messages/reactions.ts";
import { findPeerProfiles } from "../../db/queries/people/contact-rows.ts";
import { findProfilesFor } from "../../db/queries/people/profile-readers.ts";
import { listSeeing } from "../../db/queries/visibility/visibility.ts";
import { attachmentResource, linked } from "../files/attachment-resource.ts";
import { memberResource, renderMember } from "../groups/group-members.ts";
import { groupResource, renderGroupForAll, renderGroups } from "../groups/groups.ts";
import { conversationResource, renderConversations } from "../messages/conversations.ts";
import { messageResource, renderMessageForAll, renderMessages } from "../messages/messages.ts";
import { reactionResource } from "../messages/reactions.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { contactResource, showProfile } from "../people/contacts.ts";
import type { Scope } from "../people/tokens.ts";
import type { Resource } from "../resource/schema.ts";
import { shownUserResource, toShownUser } from "../resource/senders.ts";
import { webhookResource } from "./webhook-fields.ts";

/** An event as it is stored. */
export interface StoredEvent {
  id: string;
  /** The number among the recipient's events; null for the test event of a webhook, which has no number. */
  number: number | null;
  type: string;
  /** Milliseconds. */
  at: number;
  /** Empty if the event belongs to no conversation. */
  conversationId: string;
  /** JSON text. */
  payload: string;
}

/** The subject of an event, as its recipient sees it. */
export interface Seen {
  /** JSON text. */
  json: string;
  /** Set for messages. */
  message?: MessageRow | undefined;
}

/** The subject of an event, as everybody who has blocked nobody sees it. */
export interface SeenByAll {
  /** Returns its JSON text with the links of this user. */
  show: (userId: string) => string;
  /** Set for messages. */
  message?: MessageRow;
  /** The recipients who see it. */
  userIds: readonly string[];
  /** The sender of a message or file. */
  senderId?: string;
}

type Find = (
  core: Core,
  userId: string,
  events: readonly StoredEvent[],
) => Promise<readonly (Seen | undefined)[]>;

interface Family {
  /** The scopes each of which shows its events; without them, `events:read` does. */
  scopes?: readonly Scope[];
  resource: Resource;
  /** Finds what each event refers to, as far as this user sees it. Without it, the payload is stored whole. */
  find?: Find;
  /** Finds the subject for all recipients of a shared event. */
  findForAll?: (core: Core, event: StoredEvent, userIds: readonly string[]) => Promise<SeenByAll>;
  /** Returns the payload without content. Without it, only ids are stored. */
  toIds?: (event: StoredEvent) => string;
  /** Returns the payload for a recipient who does not see the subject. Without it, that is the stored payload. */
  toUnseen?: (event: StoredEvent, core: DataAccess) => string;
}

const NOBODY: SeenByAll = { show: () => "", userIds: [] };

/** In the order of the OpenAPI document. */
export const FAMILIES = {
  contact: {
    scopes: ["contacts:read"],
    resource: contactResource,
    // The contact is stored as it was, without anything of its user, who may be erased.
    async find(core, userId, events) {
      const ids = events.map(({ payload }) => JSON.parse(payload).id as string);
      const profiles = await findPeerProfiles(core.db, userId, ids);
      return events.map(({ payload }, i) => ({
        json: showProfile(core, payload, profiles.get(ids[i]!) ?? null),
      }));
    },
    toIds: ({ payload, conversationId }) => toReference(JSON.parse(payload).id, conversationId),
    toUnseen: ({ payload }, core) => showProfile(core, payload, null),
  },
  conversation: {
    scopes: ["messages:read"],
    resource: conversationResource,
    find: byId(async (core, userId, ids) => toSeen(await renderConversations(core, userId, ids))),
  },
  message: {
    scopes: ["messages:read"],
    resource: messageResource,
    find: byId(async (core, userId, ids) => {
      const rows = await findMessages(core.db, userId, ids);
      const texts = await renderMessages(core, rows, userId);
      return rows.map((message, i) => [message.id, { json: texts[i]!, message }]);
    }),
    async findForAll(core, { payload, conversationId }, recipientIds) {
      const { id } = JSON.parse(payload);
      const message = await findAnyMessage(core.db, conversationId, id);
      if (!message) return NOBODY;
      const show = await renderMessageForAll(core, message);
      // Read this last: an edit may meanwhile have withheld the message from users, who must not get the new text.
      const userIds = await listSeeing(core.db, conversationId, id, recipientIds);
      return { show, message, userIds, senderId: message.sender_id };
    },
  },
  reaction: {
    scopes: ["messages:read"],
    resource: reactionResource,
    find: oneByOne(async (core, userId, event) => {
      const [reader] = await findReactionReaders(core, event, [userId]);
      return reader === undefined ? undefined : event.payload;
    }),
    findForAll: async (core, event, recipientIds) => ({
      show: () => event.payload,
      userIds: await findReactionReaders(core, event, recipientIds),
    }),
    toIds({ payload }) {
      const { emoji: _, ...ids } = JSON.parse(payload) as Reaction;
      return JSON.stringify(ids);
    },
    toUnseen({ payload }) {
      const { message_id, conversation_id } = JSON.parse(payload) as Reaction;
      return JSON.stringify({ message_id, conversation_id });
    },
  },
  group: {
    scopes: ["groups:read"],
    resource: groupResource,
    find: byId(async (core, userId, ids) => toSeen(await renderGroups(core, userId, ids))),
    async findForAll(core, { payload }, recipientIds) {
      const json = await renderGroupForAll(core, JSON.parse(payload).id);
      // Invited users also get changes of the group.
      return json === undefined ? NOBODY : { show: () => json, userIds: recipientIds };
    },
  },
  member: {
    scopes: ["groups:read"],
    resource: memberResource,
    find: oneByOne(async (core, userId, { payload }) => {
      const { id, group_id: groupId } = JSON.parse(payload);
      const seat = await findOwnSeat(core.db, groupId, userId);
      return seat && renderMember(core, groupId, id);
    }),
    async findForAll(core, { payload }, recipientIds) {
      const { id, group_id: groupId } = JSON.parse(payload);
      const json = await renderMember(core, groupId, id);
      if (json === undefined) return NOBODY;
      return { show: () => json, userIds: await findSeated(core.db, groupId, recipientIds) };
    },
  },
  attachment: {
    scopes: ["attachments:read"],
    resource: attachmentResource,
    find: byId(async (core, userId, ids) => {
      const rows = await findAttachments(core.db, userId, ids);
      return rows.map((row) => [row.id, { json: linked(core, row, userId) }]);
    }),
    async findForAll(core, { payload, conversationId }, recipientIds) {
      const row = await findVisibleAttachment(core.db, JSON.parse(payload).id);
      if (!row) return NOBODY;
      const userIds = await listSeeing(core.db, conversationId, row.message_id, recipientIds);
      return { show: (userId) => linked(core, row, userId), userIds, senderId: row.uploader_id };
    },
  },
  user: {
    // Any of them shows users: in contacts, as senders, or as members.
    scopes: ["contacts:read", "messages:read", "groups:read", "attachments:read"],
    resource: shownUserResource,
    find: byId(async (core, userId, ids) => {
      const users = await findProfilesFor(core.db, ids, [userId]);
      return users.map((user) => [user.id, { json: JSON.stringify(toShownUser(core, user)) }]);
    }),
    async findForAll(core, { payload }, recipientIds) {
      const users = await findProfilesFor(core.db, [JSON.parse(payload).id], recipientIds);
      if (users.length === 0) return NOBODY;
      const json = JSON.stringify(toShownUser(core, users[0]!));
      return { show: () => json, userIds: users.map(({ reader_id }) => reader_id) };
    },
  },
  webhook: { resource: webhookResource },
} satisfies Record<string, Family>;

export function familyOf(type: string): Family {
  return FAMILIES[type.split(".", 1)[0] as keyof typeof FAMILIES];
}

/** Returns the payload for a recipient who does not see the subject of the event. */
export function toUnseen(core: DataAccess, event: StoredEvent): string {
  return familyOf(event.type).toUnseen?.(event, core) ?? event.payload;
}

/** Finds what the events refer to, as far as the recipient sees it. */
export async function findSeen(
  core: Core,
  recipientId: string,
  events: readonly StoredEvent[],
): Promise<ReadonlyMap<StoredEvent, Seen>> {
  const seen = new Map<StoredEvent, Seen>();
  const families = Map.groupBy(events.filter(isFindable), ({ type }) => familyOf(type));
  for (const [{ find }, own] of families) {
    const found = (await find?.(core, recipientId, own)) ?? [];
    for (const [i, each] of found.entries()) if (each) seen.set(own[i]!, each);
  }
  return seen;
}

/** Finds the subject of an event with one or more recipients, as all of them see it. */
export async function findSeenByAll(
  core: Core,
  event: StoredEvent,
  recipientIds: readonly string[],
): Promise<SeenByAll> {
  const { find, findForAll } = familyOf(event.type);
  if (!find || !isFindable(event)) return { show: () => toUnseen(core, event), userIds: recipientIds };
  if (findForAll && isShared(event.type)) return findForAll(core, event, recipientIds);
  // The event has only one recipient.
  const [seen] = await find(core, recipientIds[0]!, [event]);
  return seen ? { show: () => seen.json, userIds: recipientIds } : NOBODY;
}

/**
 * Reports whether to look the subject up. A deleted one is not looked up: a group that was left may be visible again with the
 * same id. A removed reaction is, because it is stored whole.
 */
function isFindable({ type }: StoredEvent): boolean {
  return !type.endsWith(".deleted") || type === "reaction.deleted";
}

/** Makes a `find` from a function that gets the ids of the subjects, each once. */
function byId(
  findByIds: (core: Core, userId: string, ids: readonly string[]) => Promise<readonly [string, Seen][]>,
): Find {
  return async (core, userId, events) => {
    const ids = events.map(({ payload }) => JSON.parse(payload).id as string);
    const seen = new Map(await findByIds(core, userId, [...new Set(ids)]));
    return ids.map((id) => seen.get(id));
  };
}

function toSeen(texts: ReadonlyMap<string, string>): [string, Seen][] {
  return [...texts].map(([id, json]) => [id, { json }]);
}

/** Makes a `find` from a function that returns the JSON text of the subject of one event. */
function oneByOne(
  findOne: (core: Core, userId: string, event: StoredEvent) => Promise<string | undefined>,
): Find {
  return async (core, userId, events) => {
    const found: (Seen | undefined)[] = [];
    for (const event of events) {
      const json = await findOne(core, userId, event);
      found.push(json === undefined ? undefined : { json });
    }
    return found;
  };
}

/** Returns the users who see the reaction, or who saw the removed one. */
function findReactionReaders(
  core: DataAccess,
  { type, payload }: StoredEvent,
  userIds: readonly string[],
): Promise<string[]> {
  return listReactionReaders(core.db, JSON.parse(payload), type === "reaction.created", userIds);
}
