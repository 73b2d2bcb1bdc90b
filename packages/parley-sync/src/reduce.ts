// What events and answers of the server change in the copy. Everything here can be applied again: an event that an answer
// already contains changes nothing.
import type {
  Contact,
  Conversation,
  Member,
  Message,
  Reaction,
  ShownUser,
  Snapshot,
  StreamEvent,
} from "parley-client";
import type { Draft } from "./draft.ts";
import {
  CURSOR,
  contactKey,
  META,
  type Meta,
  NOTHING,
  staleKey,
  type Talk,
  talkKey,
  userKey,
} from "./entries.ts";

/** What a snapshot has at most. */
export const SNAPSHOT = { conversations: 20, messages: 20 };
/** More unread messages are not counted. */
const MAX_UNREAD = 100;

type Row = Conversation;

/** Messages of the conversation of the event must be loaded. */
export function applyEvent(draft: Draft, meta: Meta, event: StreamEvent): void {
  switch (event.type) {
    case "message.created":
    case "message.updated":
      if (!("sender" in event.payload))
        removeMessage(draft, event.payload.conversation_id!, event.payload.id);
      else if (event.type === "message.created") addMessage(draft, meta, event.payload);
      else editMessage(draft, meta, event.payload);
      break;
    case "message.deleted":
      removeMessage(draft, event.payload.conversation_id!, event.payload.id);
      break;
    case "reaction.created":
    case "reaction.deleted":
      applyReaction(draft, event.type === "reaction.created", event.payload);
      break;
    case "conversation.updated":
      if ("kind" in event.payload) putRow(draft, meta, event.payload);
      break;
    case "contact.created":
      draft.set(contactKey(event.payload.id), event.payload);
      // It may have messages that were sent before, which have no events.
      draft.markStale(event.payload.conversation_id, "window");
      break;
    case "contact.updated":
      updateContact(draft, event.payload);
      break;
    case "contact.deleted":
      draft.set(contactKey(event.payload.id), null);
      draft.dropTalk(event.payload.conversation_id);
      break;
    case "group.created":
      if (event.conversation_id) draft.markStale(event.conversation_id, "window");
      break;
    case "group.updated":
      if (event.conversation_id && "name" in event.payload)
        updateRow(draft, event.conversation_id, {
          name: event.payload.name,
          avatar_url: event.payload.avatar_url,
        });
      break;
    case "group.deleted":
      if (event.conversation_id) draft.dropTalk(event.conversation_id);
      break;
    case "member.created":
    case "member.updated":
    case "member.deleted":
      if (event.conversation_id) applyMember(draft, event.conversation_id, event.payload);
      break;
    case "user.updated":
      if ("username" in event.payload) applyUser(draft, event.payload);
  }
}

/** Messages keep their senders as they were, and views show the current ones. */
function applyUser(draft: Draft, user: ShownUser): void {
  draft.set(userKey(user.id), user);
  // Whether a contact shows the name and picture depends on blocks.
  for (const contact of draft.contactsNamed(user.username)) draft.markStale(contact.conversation_id, "row");
}

function updateRow(draft: Draft, id: string, change: Partial<Row>): void {
  const talk = draft.talk(id);
  if (talk) draft.change(id, { row: { ...talk.row, ...change } });
}

/** Takes a conversation as the server describes it. */
export function putRow(draft: Draft, { inboxFloor }: Meta, row: Row): void {
  const tail = row.last_message?.id ?? "";
  if (draft.talk(row.id)) draft.change(row.id, { row, tail });
  else if (row.position === null || row.position >= inboxFloor || row.is_pinned)
    draft.set(talkKey(row.id), { row, tail, floor: NOTHING, count: 0, bytes: 0, members: null });
}

/** Takes a message that the server says is new, or that this device has sent. */
export function addMessage(draft: Draft, meta: Meta, message: Message): void {
  const { id, conversation_id, type, sender } = message;
  const talk = draft.talk(conversation_id);
  // It is read as a whole.
  if (!talk) {
    draft.markStale(conversation_id, "window");
    return;
  }
  const isNew = id > talk.tail;
  // All later ones are kept from now on.
  if (isNew && talk.floor === NOTHING) draft.change(conversation_id, { floor: id });
  updateMessage(draft, message);
  if (!isNew) return;
  draft.change(conversation_id, { tail: id });
  // The message says that an erased user has left. Others may still have the name.
  if (sender === null) draft.markStale(conversation_id, "window");
  // Messages of the system are never unread, nor the last one.
  if (type !== "text") return;
  const { row } = draft.talk(conversation_id)!;
  const isOwn = sender?.id === meta.me.id;
  const position = id.slice("msg_".length);
  updateRow(draft, conversation_id, {
    // Somebody who writes has added the user.
    ...(!isOwn && row.contact_joined === false && { contact_joined: true }),
    last_message: message,
    position: row.position !== null && row.position > position ? row.position : position,
    // Sending marks everything before as read.
    last_read_id: isOwn ? id : row.last_read_id,
    ...(isOwn ? NONE : addUnread(row, message, meta.me.id)),
  });
}

type Unread = Pick<Row, "unread_count" | "unread_mention_count">;
const NONE: Unread = { unread_count: 0, unread_mention_count: 0 };

/** Counts a new message of somebody else. */
function addUnread(
  { unread_count, unread_mention_count, last_read_id }: Row,
  message: Message,
  myId: string,
): Unread {
  if (message.id <= (last_read_id ?? "") || unread_count === MAX_UNREAD)
    return { unread_count, unread_mention_count };
  const isMention = message.mentions.includes(myId);
  return { unread_count: unread_count + 1, unread_mention_count: unread_mention_count + (isMention ? 1 : 0) };
}

/** Takes an edit of anybody. */
function editMessage(draft: Draft, { me }: Meta, message: Message): void {
  const { conversation_id, id, mentions } = message;
  const row = draft.talk(conversation_id)?.row;
  const before = draft.message(conversation_id, id)?.mentions.includes(me.id);
  // Only the server knows whether it counts.
  if (row && row.unread_count > 0 && id > (row.last_read_id ?? "") && before !== mentions.includes(me.id))
    draft.markStale(conversation_id, "row");
  updateMessage(draft, message);
}

/** Older messages than those that are kept come when they are scrolled to. */
export function updateMessage(draft: Draft, message: Message): void {
  const talk = draft.talk(message.conversation_id);
  if (!talk) return;
  if (message.id >= talk.floor) draft.putMessage(message);
  if (talk.row.last_message?.id === message.id)
    updateRow(draft, message.conversation_id, { last_message: message });
}

export function removeMessage(draft: Draft, conversationId: string, id: string): void {
  draft.removeMessage(conversationId, id);
  const talk = draft.talk(conversationId);
  if (!talk) return;
  const { row, tail } = talk;
  const isLast = row.last_message?.id === id;
  const last = draft.messages(conversationId).findLast(({ type }) => type === "text");
  if (isLast) updateRow(draft, conversationId, { last_message: last ?? null });
  // Only the server knows whether it was unread, and what is before it.
  const mayBeUnread = row.unread_count > 0 && id > (row.last_read_id ?? "") && id <= tail;
  if (isLast || mayBeUnread) draft.markStale(conversationId, "row");
}

export function applyReaction(draft: Draft, isThere: boolean, reaction: Reaction): void {
  const { message_id, conversation_id, emoji, user_id } = reaction;
  const message = draft.message(conversation_id, message_id);
  const last = draft.talk(conversation_id)?.row.last_message;
  // Without its user it can't be found: the message is gone, or the user is blocked.
  if (emoji === undefined || user_id === undefined) {
    if (message && !isThere) draft.markStale(conversation_id, "window");
    return;
  }
  if (message) draft.putMessage(withReaction(message, emoji, user_id, isThere));
  if (last?.id === message_id)
    updateRow(draft, conversation_id, { last_message: withReaction(last, emoji, user_id, isThere) });
}

/** Returns the message with or without the reaction of this user. */
export function withReaction(message: Message, emoji: string, userId: string, isThere: boolean): Message {
  const known = message.reactions.find((each) => each.emoji === emoji);
  const others = known?.user_ids.filter((id) => id !== userId) ?? [];
  if (isThere === (known?.user_ids.includes(userId) ?? false)) return message;
  const user_ids = isThere ? [...others, userId] : others;
  const changed = { emoji, count: user_ids.length, user_ids };
  const all = known
    ? message.reactions.map((each) => (each === known ? changed : each))
    : [...message.reactions, changed];
  return { ...message, reactions: all.filter(({ count }) => count > 0) };
}

/** Moves the read position of this user, never back. */
export function applyRead(draft: Draft, { me }: Meta, conversationId: string, messageId: string): void {
  const talk = draft.talk(conversationId);
  if (!talk || messageId <= (talk.row.last_read_id ?? "")) return;
  const unread = countUnread(talk, draft.messages(conversationId), messageId, me.id);
  updateRow(draft, conversationId, { last_read_id: messageId, ...unread });
}

/** Counts what is unread after this message, as far as the copy can tell. The server's event follows. */
export function countUnread(
  { row, tail, floor }: Talk,
  messages: readonly Message[],
  readId: string,
  myId: string,
): Unread {
  if (readId >= tail) return NONE;
  const { unread_count, unread_mention_count } = row;
  if (readId < floor) return { unread_count, unread_mention_count };
  const isUnread = ({ id, type, sender }: Message) => id > readId && type === "text" && sender?.id !== myId;
  const unread = messages.filter(isUnread).slice(0, MAX_UNREAD);
  const mentions = unread.filter(({ mentions }) => mentions.includes(myId));
  return { unread_count: unread.length, unread_mention_count: mentions.length };
}

function updateContact(draft: Draft, contact: Contact): void {
  if (draft.contact(contact.id)) draft.set(contactKey(contact.id), contact);
  const name = contact.display_name ?? contact.profile_name ?? contact.username;
  updateRow(draft, contact.conversation_id, { name, avatar_url: contact.avatar_url });
}

function applyMember(draft: Draft, conversationId: string, member: { id: string } | Member): void {
  const known = draft.talk(conversationId)?.members;
  if (!known) return;
  const isThere = "role" in member;
  const others = known.filter(({ id }) => id !== member.id);
  const at = known.findIndex(({ id }) => id === member.id);
  const members = isThere ? others.toSpliced(at < 0 ? others.length : at, 0, member) : others;
  draft.change(conversationId, { members });
}

interface PageOfMessages {
  data: readonly Message[];
  has_more: boolean;
}

/**
 * Takes the newest messages of a conversation, newest first. Older ones stay if they follow without a gap, which `isWhole`
 * denies. Messages must be loaded.
 */
export function putNewest(
  draft: Draft,
  id: string,
  { data, has_more }: PageOfMessages,
  isWhole: boolean,
): void {
  const from = has_more && data.length > 0 ? data.at(-1)!.id : "";
  const listed = new Set(data.map((message) => message.id));
  for (const message of draft.messages(id))
    if (message.id >= from ? !listed.has(message.id) : isWhole) draft.removeMessage(id, message.id);
  for (const message of data) draft.putMessage(message);
  const { floor } = draft.talk(id)!;
  draft.change(id, { floor: isWhole || floor > from ? from : floor });
}

/** Takes the page that comes before the kept messages. */
export function putOlder(draft: Draft, id: string, { data, has_more }: PageOfMessages): void {
  for (const message of data) draft.putMessage(message);
  draft.change(id, { floor: has_more && data.length > 0 ? data.at(-1)!.id : "" });
}

interface Known {
  meta: Meta | undefined;
  talks: ReadonlyMap<string, unknown>;
  contacts: ReadonlyMap<string, unknown>;
  users: ReadonlyMap<string, unknown>;
}

/**
 * Takes a snapshot. `isWhole`: the events since the copy are unknown, so what the snapshot does not have is dropped, and read
 * again when it is shown. Messages must be loaded.
 */
export function putSnapshot(draft: Draft, snapshot: Snapshot, known: Known, isWhole: boolean): void {
  const { conversations, me } = snapshot;
  const floor = snapshot.has_more ? (conversations.at(-1)?.position ?? "") : "";
  const before = isWhole ? undefined : known.meta;
  const meta: Meta = {
    me,
    inboxFloor: before && before.inboxFloor < floor ? before.inboxFloor : floor,
    contactsFloor: before?.contactsFloor ?? NOTHING,
  };
  draft.set(META, meta);
  const ids = new Set(conversations.map(({ id }) => id));
  if (isWhole) {
    for (const id of known.talks.keys()) if (!ids.has(id)) draft.dropTalk(id);
    for (const id of known.contacts.keys()) draft.set(contactKey(id), null);
    for (const id of known.users.keys()) draft.set(userKey(id), null);
    // Null if the token lacks `events:read`.
    const { last_event_id: id } = snapshot;
    draft.set(CURSOR, id === null ? null : { id, sequence: null });
  }
  for (const { messages, members, contact, ...row } of conversations) {
    putRow(draft, meta, row);
    draft.change(row.id, { members });
    if (contact) draft.set(contactKey(contact.id), contact);
    const page = { data: messages, has_more: messages.length >= SNAPSHOT.messages };
    putNewest(draft, row.id, page, isWhole);
    if (isWhole) draft.set(staleKey(row.id), null);
  }
}
