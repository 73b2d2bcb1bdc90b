import { findGroups } from "../../db/queries/groups/groups.ts";
import { type ConversationRow, listInbox } from "../../db/queries/messages/inbox.ts";
import { findNewestMessages } from "../../db/queries/messages/messages.ts";
import type { QuickReader } from "../../db/sql.ts";
import { JsonObject } from "../../util/json-object.ts";
import { memberResource, renderMembers } from "../groups/group-members.ts";
import { conversationMembers, renderInbox } from "../messages/conversations.ts";
import { messageAdditions, messageResource, renderMessages } from "../messages/messages.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { contactResource, renderContacts } from "../people/contacts.ts";
import { getMe, meResource } from "../people/me.ts";
import { describedField, optional, type Parsed } from "../resource/fields.ts";
import { limitField, NEWEST } from "../resource/page.ts";
import { type Versioned, versioned } from "../resource/resource.ts";
import { anyOf, bool, described, listOf, object, orNull, resource, textOrNull } from "../resource/schema.ts";
import type { Turns } from "../resource/turns.ts";
import { newestEventId } from "./events.ts";

const entry = object({
  ...conversationMembers,
  messages: described(listOf(anyOf(messageResource)), "The newest that you see, newest first."),
  contact: described(
    anyOf(contactResource, null),
    "The contact of a direct conversation; null for others, and without the scope `contacts:read`.",
  ),
  members: described(
    orNull(listOf(anyOf(memberResource))),
    "All members of a group, for admins also those who are invited; null for others, and without the scope `groups:read`.",
  ),
});

export const snapshotResource = resource("Snapshot", {
  me: anyOf(meResource),
  conversations: described(listOf(entry), "Your inbox, most recent activity first."),
  has_more: described(bool, "Whether your inbox has more conversations after these."),
  last_event_id: described(
    textOrNull,
    "The cursor of the events that change this state; null without the scope `events:read`.",
  ),
});

const CONVERSATIONS = { max: 100, default: 20 };
const MESSAGES = { max: 50, default: 20 };
/** Messages and members that one turn of the event loop reads, unless one group has more. This takes some 10 ms. */
const ROWS_AT_ONCE = 1000;
/** The length of conversations, as JSON, after which a snapshot ends. It bounds memory: a message can have 10,000 characters. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** The query of a snapshot. */
export const snapshotFields = {
  conversations: optional(
    describedField(
      limitField(CONVERSATIONS.max, CONVERSATIONS.default),
      "How many conversations to return. A very large snapshot has fewer; `has_more` is then true.",
    ),
  ),
  messages: optional(
    describedField(
      limitField(MESSAGES.max, MESSAGES.default),
      "How many messages to return of each conversation. Fewer are all that you see of it.",
    ),
  ),
  ...messageAdditions,
};
type SnapshotQuery = Parsed<typeof snapshotFields>;

/**
 * Returns the state that a client begins with: what the lists show, and the cursor of the events that change it. Throws
 * `invalid_token` as `getMe` does, and what `Turns.next` throws.
 *
 * No change can be missing from both the snapshot and the events after its cursor, because all reads see one state of the database. A
 * change that is not in the state is committed later. On SQLite its events get their numbers in that commit, so these are greater than
 * the last number in the state. On PostgreSQL they get them in a still later transaction, which sees every number in the state, because
 * the state is older, and continues after the recipient's last one. A change in the state may get its number later, too: then the
 * client applies an event whose change it has, and whose payload is not older than the state.
 */
export async function getSnapshot(
  core: Core,
  caller: Caller,
  query: SnapshotQuery,
  turns: Turns,
): Promise<Versioned> {
  const read = (db: QuickReader) => readSnapshot({ ...core, db }, caller, query, turns);
  return versioned(await turns.read(() => core.db.snapshot(read)), 1);
}

async function readSnapshot(
  core: Core<QuickReader>,
  caller: Caller,
  query: SnapshotQuery,
  turns: Turns,
): Promise<string> {
  // It may have been queued for longer than its client waits.
  turns.demandClient();
  const { conversations = CONVERSATIONS.default, messages = MESSAGES.default } = query;
  const page = { cursor: NEWEST, newer: false, limit: conversations + 1 };
  const [me, lastEventId, rows] = await Promise.all([
    getMe(core, caller),
    caller.scopes.has("events:read") ? newestEventId(core, caller) : null,
    listInbox(core.db, caller.userId, undefined, page),
  ]);
  const entries: string[] = [];
  let characters = 0;
  for (const part of await divide(core, rows.slice(0, conversations), messages)) {
    if (entries.length > 0) await turns.next();
    for (const each of await renderEntries(core, caller, part, { ...query, messages })) {
      entries.push(each);
      characters += each.length;
    }
    if (characters > MAX_CHARACTERS) break;
  }
  const hasMore = entries.length < rows.length;
  return `{"me":${me.json},"conversations":[${entries.join(",")}],"has_more":${hasMore},"last_event_id":${JSON.stringify(lastEventId)}}`;
}

/** Divides conversations, in their order, into parts that a turn of the event loop can read. */
async function divide(
  core: Core<QuickReader>,
  rows: readonly ConversationRow[],
  messages: number,
): Promise<ConversationRow[][]> {
  const groupIds = rows.flatMap((row) => row.group_id ?? []);
  const groups = groupIds.length === 0 ? [] : await findGroups(core.db, groupIds);
  const sizes = new Map(groups.map(({ id, member_count }) => [id, member_count]));
  const parts: ConversationRow[][] = [];
  let left = 0;
  for (const row of rows) {
    const size = messages + (sizes.get(row.group_id ?? "") ?? 0);
    if (left < size) {
      parts.push([]);
      left = ROWS_AT_ONCE;
    }
    left -= size;
    parts.at(-1)!.push(row);
  }
  return parts;
}

/** Renders conversations of the caller with what a snapshot adds to them, in their order. */
async function renderEntries(
  core: Core<QuickReader>,
  { userId, scopes }: Caller,
  rows: readonly ConversationRow[],
  { messages: limit, include }: SnapshotQuery & { messages: number },
): Promise<string[]> {
  const conversationIds = rows.map((row) => row.conversation_id);
  const contactIds = scopes.has("contacts:read") ? rows.flatMap((row) => row.contact_id ?? []) : [];
  const groupIds = scopes.has("groups:read") ? rows.flatMap((row) => row.group_id ?? []) : [];
  const renderNewest = async () => {
    const newest = await findNewestMessages(core.db, userId, conversationIds, limit);
    const texts = await renderMessages(core, newest, userId, include);
    return Map.groupBy(texts, (_, i) => newest[i]!.conversation_id);
  };
  const [conversations, messages, contacts, members] = await Promise.all([
    renderInbox(core, rows),
    renderNewest(),
    renderContacts(core, userId, contactIds),
    renderMembers(core, userId, groupIds),
  ]);
  return rows.map(({ conversation_id, contact_id, group_id }, i) => {
    const ofGroup = group_id === null ? undefined : members.get(group_id);
    return new JsonObject(conversations[i]!)
      .with("messages", `[${messages.get(conversation_id)?.join(",") ?? ""}]`)
      .with("contact", (contact_id !== null && contacts.get(contact_id)) || "null")
      .with("members", ofGroup ? `[${ofGroup.join(",")}]` : "null").text;
  });
}
