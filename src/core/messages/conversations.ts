import {
  type ConversationRow,
  countUnread,
  countUnreadConversations as countUnreadRows,
  findConversations,
  type InboxPart,
  listInbox,
  type Unread,
} from "../../db/queries/messages/inbox.ts";
import { findLastMessages } from "../../db/queries/messages/messages.ts";
import type { UserRow } from "../../db/queries/people/users.ts";
import type { QuickReader } from "../../db/sql.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { JsonObject } from "../../util/json-object.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { writeActed } from "../record/audit-trail.ts";
import { choice, describedField, optional, type Parsed, reference, trueOrFalse } from "../resource/fields.ts";
import { knownForm } from "../resource/known-form.ts";
import { type Page, type PageEnvelope, toPage, walkPages } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import {
  anyOf,
  bool,
  count,
  described,
  id,
  oneOf,
  orNull,
  resource,
  type TypeOf,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { type Origin, toPeer } from "../resource/senders.ts";
import { secondsOrNull } from "../resource/time-fields.ts";
import type { Turns } from "../resource/turns.ts";
import { messageResource, renderMessages } from "./messages.ts";

/** The members of a conversation. */
export const conversationMembers = {
  id: id("cnv"),
  kind: oneOf("contact", "group", "self"),
  contact_id: textOrNull,
  group_id: textOrNull,
  name: described(textOrNull, "The name of the contact or group; null for notes to self."),
  avatar_url: textOrNull,
  last_message: described(
    anyOf(messageResource, null),
    "The last message that you see; null if there is none.",
  ),
  unread_count: described(count, "0 to 100; 100 means 100 or more."),
  unread_mention_count: described(count, "How many of the messages that `unread_count` counts mention you."),
  last_read_id: described(textOrNull, "The message up to which you have read."),
  contact_read_id: described(
    textOrNull,
    "The message up to which the contact has read, as far as you may know.",
  ),
  is_pinned: bool,
  is_archived: bool,
  muted_until: described(orNull(time), "Unix seconds, UTC; null if it is not muted."),
  position: described(textOrNull, "The place in your inbox, for cursors; null until a message reaches you."),
  created_at: described(time, "When you joined it."),
  contact_joined: described(
    orNull(bool),
    "Whether the contact has ever joined it; null if it is not direct.",
  ),
};
export const conversationResource = resource("Conversation", conversationMembers);
type Conversation = TypeOf<typeof conversationResource>;

/** The maximum number of conversations that one request looks at. */
const MAX_LOOKED_AT = 1000;

interface Shown {
  row: ConversationRow;
  unread: Unread;
}

async function toShown(core: DataAccess<QuickReader>, row: ConversationRow): Promise<Shown> {
  return { row, unread: await countUnread(core.db, row) };
}

/** Renders conversations of one member as JSON texts, in their order, as the member sees them. */
async function render(core: Core<QuickReader>, shown: readonly Shown[]): Promise<string[]> {
  const rows = shown.map(({ row }) => row);
  if (rows.length === 0) return [];
  const messages = await findLastMessages(core.db, rows);
  const texts = await renderMessages(core, messages, rows[0]!.user_id);
  const last = new Map(messages.map((message, i) => [message.conversation_id, texts[i]!]));
  return shown.map(({ row, unread }) => toJson(core, row, unread, last.get(row.conversation_id) ?? "null"));
}

function toJson(core: Origin, row: ConversationRow, unread: Unread, lastMessage: string): string {
  const contact = row.contact === null ? null : JSON.parse(row.contact);
  const peer = toPeer(core, row.profile);
  const { contact_read_id: contactRead, since_id } = row;
  const conversation: Omit<Conversation, "last_message"> = {
    id: row.conversation_id,
    kind: kindOf(row),
    contact_id: row.contact_id,
    group_id: row.group_id,
    name: contact === null ? row.group_name : (contact.display_name ?? peer.name ?? contact.username),
    avatar_url: contact === null ? row.group_avatar_url : (contact.avatar_url ?? peer.avatarUrl),
    unread_count: unread.count,
    unread_mention_count: unread.mentions,
    last_read_id: row.last_read_id || null,
    contact_read_id: contactRead !== null && contactRead > since_id ? contactRead : null,
    is_pinned: row.is_pinned === 1,
    is_archived: row.is_archived === 1,
    muted_until: row.muted_until,
    position: row.position,
    created_at: toSeconds(row.joined_at),
    contact_joined: row.contact_id === null ? null : row.contact_joined === 1,
  };
  return JsonObject.from(conversation).with("last_message", lastMessage).text;
}

function kindOf({ contact_id, group_id }: ConversationRow): Conversation["kind"] {
  if (contact_id !== null) return "contact";
  return group_id === null ? "self" : "group";
}

const filter = describedField(trueOrFalse, "True selects those conversations, false the others.");
/** The filters of an inbox. */
export const inboxFilters = {
  kind: optional(choice("contact", "group", "self")),
  unread: optional(
    describedField(trueOrFalse, "True selects conversations with unread messages, false the others."),
  ),
  archived: optional(filter),
  pinned: optional(filter),
};
type InboxFilters = Parsed<typeof inboxFilters>;

function matches({ row, unread }: Shown, filters: InboxFilters): boolean {
  const { kind, unread: isUnread, archived, pinned } = filters;
  return (
    (kind === undefined || kind === kindOf(row)) &&
    (isUnread === undefined || isUnread === unread.count > 0) &&
    (archived === undefined || archived === (row.is_archived === 1)) &&
    (pinned === undefined || pinned === (row.is_pinned === 1))
  );
}

/**
 * Returns a page of the caller's inbox, most recent activity first. Looks at a limited number of conversations, so a page with
 * fewer items than its limit need not be the last.
 */
export async function listConversations(
  core: Core,
  caller: Caller,
  page: Page & InboxFilters,
  turns: Turns,
): Promise<PageEnvelope> {
  const part = partOf(page);
  const step = async (cursor: string, _missing: number, left: number) => {
    const walk: Page = { cursor, newer: page.newer, limit: Math.min(page.limit + 1, left) };
    const looked = await listInbox(core.db, caller.userId, part, walk);
    const rows: Shown[] = [];
    for (const row of looked) {
      const shown = await toShown(core, row);
      if (matches(shown, page)) rows.push(shown);
    }
    const next = looked.length < walk.limit ? undefined : looked.at(-1)!.position!;
    return { rows, next, looked: looked.length };
  };
  const { rows, end } = await walkPages(page, page.cursor, turns, step, MAX_LOOKED_AT);
  const texts = await render(core, rows.slice(0, page.limit));
  const shown = rows.map(({ row }, i) => ({ json: texts[i]!, position: row.position! }));
  return toPage(page, shown, ({ json }) => json, { end, cursorOf: ({ position }) => position });
}

/** Chooses the index with the fewest conversations. */
function partOf({ pinned, archived, unread }: InboxFilters): InboxPart {
  if (pinned) return "pinned";
  if (unread) return "unread";
  return archived ? "archived" : undefined;
}

/** Throws `conversation_not_found`. */
export async function getConversation(
  core: Core,
  caller: Caller,
  conversationId: string,
): Promise<Versioned> {
  const [row] = await findConversations(core.db, caller.userId, [conversationId]);
  if (!row) throw new ParleyError("conversation_not_found");
  const [json] = await render(core, [await toShown(core, row)]);
  // If-Match compares the settings, If-None-Match everything.
  return versioned(json!, row.version ?? 1);
}

/** Returns the JSON texts of conversations of one member, in their order. */
export async function renderInbox(
  core: Core<QuickReader>,
  rows: readonly ConversationRow[],
): Promise<string[]> {
  return render(core, await Promise.all(rows.map((row) => toShown(core, row))));
}

/** Returns the JSON texts of the conversations that the user is a member of, by id. */
export async function renderConversations(
  core: Core,
  userId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await findConversations(core.db, userId, ids);
  const texts = await renderInbox(core, rows);
  return new Map(rows.map((row, i) => [row.conversation_id, texts[i]!]));
}

/** The caller's own settings of a conversation. */
export const conversationSettings = {
  is_pinned: optional(trueOrFalse),
  is_archived: optional(trueOrFalse),
  muted_until: optional(
    describedField(secondsOrNull, "Unix seconds until which new messages do not notify; null ends it."),
  ),
};

/** Changes the caller's own settings. Throws `conversation_not_found` and `precondition_failed`. */
export async function updateConversation(
  core: Core,
  caller: Caller,
  conversationId: string,
  settings: Parsed<typeof conversationSettings>,
  expected: Expected,
): Promise<Versioned> {
  const recorded = { action: "conversation.updated", objectId: conversationId } as const;
  await writeActed(core, caller, recorded, "updateConversation", {
    userId: caller.userId,
    conversationId,
    isPinned: settings.is_pinned,
    isArchived: settings.is_archived,
    mutedUntil: settings.muted_until,
    expected,
    now: core.clock(),
  });
  return readBack(getConversation(core, caller, conversationId));
}

export const readFields = {
  message_id: describedField(reference("msg"), "You have read up to and including this message."),
  private: optional(describedField(trueOrFalse, "True does not let the contact know. The default is false.")),
};

/**
 * Moves the caller's read position, never backwards. Throws `conversation_not_found`, and `message_not_found` for an id that
 * is malformed or outside of the messages that the caller can see.
 */
export async function markRead(
  core: DataAccess,
  caller: Caller,
  conversationId: string,
  { message_id: messageId, private: isPrivate = false }: Parsed<typeof readFields>,
): Promise<void> {
  const recorded = { action: "conversation.read", objectId: conversationId } as const;
  await writeActed(core, caller, recorded, "markRead", {
    userId: caller.userId,
    conversationId,
    messageId: knownForm(messageId, "msg", "message_not_found", "message_id"),
    isPrivate,
    now: core.clock(),
  });
}

/** Counts the user's conversations with unread messages, without muted ones, up to 100. A bot has no badge. */
export async function countUnreadConversations(
  core: DataAccess<QuickReader>,
  { id, kind }: Pick<UserRow, "id" | "kind">,
): Promise<number> {
  return kind === "bot" ? 0 : countUnreadRows(core.db, id, toSeconds(core.clock()), MAX_LOOKED_AT);
}
