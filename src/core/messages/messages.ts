import { attachmentsOfMessages } from "../../db/queries/files/attachments.ts";
import type { SendMessage, SentMessage } from "../../db/queries/messages/message-send.ts";
import { findMessage, listMessageRows, type MessageRow } from "../../db/queries/messages/messages.ts";
import { findSeat } from "../../db/queries/visibility/seats.ts";
import type { Seat } from "../../db/queries/visibility/visibility.ts";
import type { QuickReader } from "../../db/sql.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { timeOfId } from "../../util/ids.ts";
import { JsonObject } from "../../util/json-object.ts";
import { type Additions, attachmentResource, chooseShape, linked } from "../files/attachment-resource.ts";
import { toNewAttachment } from "../files/attachments.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { newEntry, writeActed } from "../record/audit-trail.ts";
import { choices } from "../resource/choices.ts";
import { describedField, jsonObject, longText, nullable, optional, type Parsed } from "../resource/fields.ts";
import { mentions } from "../resource/list-fields.ts";
import { NEWEST, type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned } from "../resource/resource.ts";
import {
  anyObject,
  described,
  id,
  listOf,
  oneOf,
  orNull,
  resource,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { findShownUsers, shownUser, toShownUser } from "../resource/senders.ts";
import { countMessage } from "./message-rate.ts";
import { reactionsByMessage, reactionsSchema } from "./reactions.ts";

export const messageResource = resource("Message", {
  id: id("msg"),
  conversation_id: id("cnv"),
  type: described(
    oneOf("text", "joined", "left", "removed", "renamed", "role"),
    "`text`, or what the sender did: a message of the system.",
  ),
  sender: described(orNull(shownUser), "Null after the user was erased."),
  text: textOrNull,
  data: described(
    orNull(anyObject),
    "A JSON object for your app. In a message of the system `user` (whom it was done to), `role` or `name`.",
  ),
  attachments: listOf(attachmentResource.schema),
  mentions: described(listOf(id("usr")), "Members that the sender mentioned."),
  reply_to_id: described(textOrNull, "The message that this one replies to. It may be deleted."),
  client_id: described(
    textOrNull,
    "The id that the sender's client gave it, if any. Other senders may use the same.",
  ),
  reactions: described(reactionsSchema, "Those that you see, in the order in which their emoji came."),
  created_at: time,
  edited_at: described(orNull(time), "When text, data or mentions were last edited."),
});

/** Renders messages that the reader sees as JSON texts, in their order. `include` selects additions to their files. */
export async function renderMessages(
  core: Core<QuickReader>,
  rows: readonly MessageRow[],
  readerId: string,
  include: Additions["include"] = undefined,
): Promise<string[]> {
  return (await prepareMessages(core, rows, readerId, include)).map((show) => show(readerId));
}

/** Renders a message for anybody who sees it and has blocked nobody. Only reactions and links depend on the reader. */
export async function renderMessageForAll(
  core: Core,
  row: MessageRow,
): Promise<(readerId: string) => string> {
  return (await prepareMessages(core, [row], null, undefined))[0]!;
}

/** Returns a function per message that shows it to a user, with that user's links. Null is a reader who has blocked nobody. */
async function prepareMessages(
  core: Core<QuickReader>,
  rows: readonly MessageRow[],
  readerId: string | null,
  include: Additions["include"],
): Promise<((userId: string) => string)[]> {
  if (rows.length === 0) return [];
  const userIds = new Set<string>();
  for (const { sender_id, mentions } of rows) {
    userIds.add(sender_id);
    if (mentions !== null) for (const id of mentions.split(" ")) userIds.add(id);
  }
  const senders = await findShownUsers(core, userIds);
  const withFiles = rows.filter(({ has_files }) => has_files === 1);
  const { files, show } = await filesByMessage(core, withFiles, readerId, include);
  const reacted = rows.filter(({ has_reactions }) => has_reactions === 1).map(({ id }) => id);
  const byMessage = await reactionsByMessage(core, reacted, readerId);
  return rows.map((row) => {
    const reactions = byMessage.get(row.id);
    if (row.type !== "text") {
      const text = toSystemMessage(row, senders, reactions);
      return () => text;
    }
    const mentioned = row.mentions?.split(" ").filter((id) => senders.has(id)) ?? [];
    const sender = senders.get(row.sender_id) ?? "null";
    const own = files.get(row.id) ?? [];
    const toText = (userId: string) =>
      toMessage(
        row,
        sender,
        mentioned,
        own.map((file) => show(file, userId)),
        reactions,
      );
    return toText;
  });
}

function toSystemMessage(
  row: MessageRow,
  users: ReadonlyMap<string, string>,
  reactions: string | undefined,
): string {
  const { type, mentions, data: facts } = row;
  const ids = mentions?.split(" ") ?? [];
  let data = facts;
  if (type === "joined" && ids.length > 0)
    data = `{"users":[${ids.flatMap((id) => users.get(id) ?? []).join(",")}]}`;
  else if (ids.length > 0)
    data = new JsonObject(facts ?? "{}").with("user", users.get(ids[0]!) ?? "null").text;
  return toMessage({ ...row, data }, users.get(row.sender_id) ?? "null", [], [], reactions);
}

type ShownMessage = Omit<MessageRow, "sender_id" | "has_files" | "has_reactions" | "mentions" | "version">;

/**
 * Returns the message as JSON. Uses a template, because `JSON.stringify` of a page takes longer than its query. `sender`, `files`
 * and `reactions` are JSON texts.
 */
function toMessage(
  { id, conversation_id, type, text, data, reply_to_id, client_id, created_at, edited_at }: ShownMessage,
  sender: string,
  mentioned: readonly string[],
  files: readonly string[],
  reactions = "[]",
): string {
  const quoted = text === null ? null : JSON.stringify(text);
  const mentions = mentioned.length === 0 ? "" : `"${mentioned.join('","')}"`;
  const reply = reply_to_id === null ? null : `"${reply_to_id}"`;
  const clientId = client_id === null ? null : JSON.stringify(client_id);
  const edited = edited_at === null ? null : toSeconds(edited_at);
  return `{"id":"${id}","conversation_id":"${conversation_id}","type":"${type}","sender":${sender},"text":${quoted},"data":${data},"attachments":[${files.join(",")}],"mentions":[${mentions}],"reply_to_id":${reply},"client_id":${clientId},"reactions":${reactions},"created_at":${toSeconds(created_at)},"edited_at":${edited}}`;
}

/** Returns the files of each message, and a function that shows them. */
async function filesByMessage(
  core: Core<QuickReader>,
  rows: readonly MessageRow[],
  readerId: string | null,
  include: Additions["include"],
) {
  const conversations = [...new Set(rows.map((row) => row.conversation_id))];
  const ids = rows.map(({ id }) => id);
  const found = ids.length === 0 ? [] : await attachmentsOfMessages(core.db, readerId, conversations, ids);
  const files = Map.groupBy(found, ({ message_id }) => message_id);
  return { files, show: await chooseShape(core, found, include) };
}

/** Throws `message_not_found`, also for a message that the caller may not see. */
export async function getMessage(
  core: Core,
  caller: Caller,
  messageId: string,
  { include }: MessageAdditions = {},
): Promise<Versioned> {
  const row = await findMessage(core.db, caller.userId, messageId);
  if (!row) throw new ParleyError("message_not_found");
  const [json] = await renderMessages(core, [row], caller.userId, include);
  return versioned(json!, row.version);
}

/** Renders a message that has just been sent, without reading it again. */
export function renderSent(core: Core, sent: SentMessage, input: SendMessage): Versioned {
  const { text, data, replyToId: reply_to_id, clientId } = input;
  const row = {
    ...sent,
    type: "text",
    text,
    data,
    reply_to_id,
    client_id: clientId?.id ?? null,
    created_at: timeOfId(sent.id),
    edited_at: null,
  };
  const files = input.files.map((file) => linked(core, toNewAttachment(file, sent.id), input.senderId));
  return versioned(toMessage(row, JSON.stringify(toShownUser(core, sent.sender)), input.mentions, files), 1);
}

/** Additions to the files of a message that a read can select. */
export const messageAdditions = {
  include: optional(
    describedField(
      choices("unscanned", "image"),
      "Adds these members to each file, as reads of attachments do.",
    ),
  ),
};
export type MessageAdditions = Parsed<typeof messageAdditions>;

/** The query of a list of messages: a page from a cursor, or around a message. */
interface MessagesRequest extends Page, MessageAdditions {
  conversation_id: string;
  around?: string | undefined;
}

/** Throws `conversation_not_found`. */
export async function listMessages(
  core: Core,
  caller: Caller,
  request: MessagesRequest,
): Promise<PageEnvelope> {
  const seat = await findSeat(core.db, request.conversation_id, caller.userId);
  if (!seat) throw new ParleyError("conversation_not_found", undefined, { param: "conversation_id" });
  if (request.around !== undefined) return listAround(core, seat, request.around, request);
  const rows = await listMessageRows(core.db, seat, request);
  return toPage(request, await renderMessages(core, rows, caller.userId, request.include), (json) => json);
}

/** Lists half of a page of older messages, the message of this id, and half a page of newer ones. */
async function listAround(
  core: Core,
  seat: Seat,
  id: string,
  { limit, include }: MessagesRequest,
): Promise<PageEnvelope> {
  const newerLimit = Math.floor((limit - 1) / 2);
  const olderLimit = limit - newerLimit;
  const [newer, older] = await Promise.all([
    listMessageRows(core.db, seat, { cursor: id, newer: true, limit: newerLimit }),
    listMessageRows(core.db, seat, { cursor: `${id}${NEWEST}`, newer: false, limit: olderLimit }),
  ]);
  const rows = [...newer.slice(0, newerLimit).reverse(), ...older.slice(0, olderLimit)];
  const page = { cursor: id, newer: false, limit };
  return {
    ...toPage(page, await renderMessages(core, rows, seat.user_id, include), (json) => json),
    has_more: older.length > olderLimit,
    has_newer: newer.length > newerLimit,
  };
}

/** The fields of a message that its sender can edit. */
export const messageChanges = {
  text: optional(longText),
  data: optional(jsonObject),
  mentions: optional(nullable(mentions)),
};

/**
 * Edits the message; without a change nothing happens. Throws `message_not_found`, `not_sender`, and
 * `rate_limited` for mentions.
 */
export async function updateMessage(
  core: Core,
  caller: Caller,
  id: string,
  changes: Parsed<typeof messageChanges>,
  expected: Expected,
): Promise<Versioned> {
  const { text, data } = changes;
  const mentions = changes.mentions === null ? [] : changes.mentions;
  // Otherwise repeated edits that mention somebody would alert without a limit.
  if (mentions && mentions.length > 0) await countMessage(core, caller);
  const input = { userId: caller.userId, id, expected, text, data, mentions, now: core.clock() };
  const recorded = { action: "message.updated", objectId: id } as const;
  await writeActed(core, caller, recorded, "updateMessage", input);
  return readBack(getMessage(core, caller, id));
}

/**
 * Deletes the message for everybody in its conversation. With the scope `admin` it may be another user's. The eraser removes the
 * bytes of its files right after.
 */
export async function deleteMessage(
  core: DataAccess,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("deleteMessage", {
    userId: caller.userId,
    asAdmin: caller.scopes.has("admin"),
    id,
    expected,
    now: entry.at,
    entry,
  });
  core.wakeEraser();
}

/** Deletes the message only for the caller, or permanently if nobody else sees it. Throws `message_not_found`. */
export async function hideMessage(
  core: DataAccess,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  const input = { userId: caller.userId, id, expected, now: entry.at, entry };
  const recorded = { action: "message.hidden", objectId: id } as const;
  await writeActed(core, caller, recorded, "hideMessage", input);
  core.wakeEraser();
}
