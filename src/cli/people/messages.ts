import { basename } from "node:path";
import { text as readText } from "node:stream/consumers";
import type {
  Attachment,
  Conversation,
  Message,
  ShownUser,
} from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { counted, harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import { type Column, type ListOptions, pageSize, printList } from "./listing.ts";
import { getConversationId } from "./partners.ts";
import { getSize, STDIN } from "./upload.ts";

const CONVERSATION_COLUMNS: readonly Column<Conversation>[] = [
  ["ID", ({ id }) => id],
  ["NAME", conversationName],
  ["UNREAD", ({ unread_count }) => (unread_count >= 100 ? "100+" : String(unread_count))],
  ["LAST", ({ last_message }) => (last_message ? isoTime(last_message.created_at) : "")],
  ["MESSAGE", ({ last_message }) => (last_message ? summary(last_message) : "")],
];

const MESSAGE_COLUMNS: readonly Column<Message>[] = [
  ["ID", ({ id }) => id],
  ["FROM", (message) => (systemText(message) === undefined ? senderName(message) : "")],
  ["SENT", ({ created_at }) => isoTime(created_at)],
  ["MESSAGE", (message) => [summary(message), ...message.reactions.map(reactionText)].join("  ")],
];

const READER_COLUMNS: readonly Column<ShownUser>[] = [
  ["ID", ({ id }) => id],
  ["USERNAME", ({ username }) => username],
  ["NAME", ({ display_name }) => display_name ?? ""],
];

/** Lists conversations, those with the most recent activity first. */
export function listConversations(io: Io, options: ListOptions & { unread?: boolean }): Promise<number> {
  const query = { limit: pageSize(options), unread: options.unread };
  const empty = options.unread ? "You have read everything." : "No conversations yet.";
  return asPerson(io, async (parley) => {
    const list = parley.conversations.list(query, { signal: io.stop });
    await printList(io, list, CONVERSATION_COLUMNS, options, empty);
    return 0;
  });
}

/** Lists the messages of a conversation, newest first. */
export function listMessages(io: Io, who: string, options: ListOptions): Promise<number> {
  return asPerson(io, async (parley) => {
    const conversation_id = await getConversationId(io, parley, who);
    const list = parley.messages.list({ conversation_id, limit: pageSize(options) }, { signal: io.stop });
    const empty = `No messages yet. Send one: parley send ${harmless(who)} TEXT`;
    await printList(io, list, MESSAGE_COLUMNS, options, empty);
    return 0;
  });
}

/** Lists the users who have read a message. */
export function listReaders(io: Io, id: string, options: ListOptions): Promise<number> {
  return asPerson(io, async ({ messages }) => {
    const list = messages.listReaders(id, { limit: pageSize(options) }, { signal: io.stop });
    await printList(io, list, READER_COLUMNS, options, "Nobody has read this message yet.");
    return 0;
  });
}

/** Sends one message with a text, which can come from standard input, and files. */
export async function sendMessage(
  io: Io,
  who: string,
  given: string | undefined,
  { file: files = [], json }: { file?: string[]; json?: boolean },
): Promise<number> {
  if (given === undefined && files.length === 0)
    throw new OperatorError("There is nothing to send. Add a text, - for standard input, or --file FILE.");
  return asPerson(io, async (parley) => {
    const conversation_id = await getConversationId(io, parley, who);
    let size = 0;
    for (const file of files) size += await getSizeToSend(file);
    const text = given === STDIN ? (await readText(io.input())).replace(/\r?\n$/, "") : given;
    const label = files.length === 1 ? basename(files[0]!) : counted(files.length, "file");
    const progress = files.length === 0 ? undefined : startProgress(io, label, size, roundedSize);
    try {
      const message = await parley.messages.create(
        { conversation_id, text },
        { files, signal: io.stop, onProgress: ({ sent }) => progress?.at(sent) },
      );
      io.print(json ? jsonLine(message) : message.id);
    } finally {
      progress?.end();
    }
    return 0;
  });
}

/** Changes the text of a message. */
export function editMessage(io: Io, id: string, text: string, { json }: { json?: boolean }): Promise<number> {
  return asPerson(io, async ({ messages }) => {
    const message = await messages.update(id, { text }, { signal: io.stop });
    if (json) io.print(jsonLine(message));
    else io.warn(harmless(`Changed ${id}.`));
    return 0;
  });
}

/** Marks all messages of a conversation as read. */
export function markRead(io: Io, who: string, { json }: { json?: boolean }): Promise<number> {
  return asPerson(io, async (parley) => {
    const id = await getConversationId(io, parley, who);
    const [newest] = (await parley.messages.list({ conversation_id: id, limit: 1 }, { signal: io.stop }))
      .data;
    if (newest) await parley.conversations.markRead(id, { message_id: newest.id }, { signal: io.stop });
    if (json) io.print(jsonLine({ conversation_id: id, message_id: newest?.id ?? null }));
    else io.warn(newest ? `Read up to ${newest.id}.` : "No messages yet.");
    return 0;
  });
}

/** Seconds: the latest time that the API accepts. */
const FOREVER = 99_999_999_999;

/** Mutes a conversation, or unmutes it. `until` is in seconds. */
export function mute(
  io: Io,
  who: string,
  { until = FOREVER, off = false, json }: { until?: number; off?: boolean; json?: boolean },
): Promise<number> {
  return asPerson(io, async (parley) => {
    const id = await getConversationId(io, parley, who);
    const settings = { muted_until: off ? null : until };
    const conversation = await parley.conversations.update(id, settings, { signal: io.stop });
    const time = until === FOREVER ? "" : ` until ${isoTime(until)}`;
    if (json) io.print(jsonLine(conversation));
    else io.warn(harmless(off ? `Unmuted ${who}.` : `Muted ${who}${time}.`));
    return 0;
  });
}

async function getSizeToSend(file: string): Promise<number> {
  try {
    return await getSize(file);
  } catch (error) {
    throw error instanceof OperatorError ? new OperatorError(`Cannot send ${file}: ${error.message}`) : error;
  }
}

export function conversationName({ kind, name }: Conversation): string {
  return kind === "self" ? "(notes to self)" : (name ?? "");
}

export function senderName({ sender }: Pick<Message | Attachment, "sender">): string {
  return toName(sender);
}

function toName(user: Attachment["sender"]): string {
  return user?.username ?? "(deleted user)";
}

/** Returns the sentence for an event in a group; undefined for a message that a user wrote. */
export function systemText({ type, sender, data }: Message): string | undefined {
  const who = toName(sender);
  const user = (data?.user ?? null) as Message["sender"];
  const users = data?.users as Message["sender"][] | undefined;
  switch (type) {
    case "joined":
      return users ? `${who} added ${users.map(toName).join(", ") || "(deleted users)"}` : `${who} joined`;
    case "left":
      return `${who} ${type}`;
    case "removed":
      return `${who} removed ${toName(user)}`;
    case "renamed":
      return `${who} renamed the group to ${JSON.stringify(data?.name)}`;
    case "role":
      if (data?.role === "admin") return `${who} made ${toName(user)} an admin`;
      return user !== null && user.id === sender?.id
        ? `${who} is no longer an admin`
        : `${who} made ${toName(user)} an ordinary member`;
    default:
      return undefined;
  }
}

/** Returns a message in one line: its text and file names, or the event in the group. */
export function summary(message: Message): string {
  const { text, data, attachments } = message;
  const event = systemText(message);
  if (event !== undefined) return event;
  const files = attachments.map(({ filename }) => `[${filename}]`);
  const words = [...(text === null ? [] : [text.replace(/\s+/g, " ")]), ...files];
  return words.join(" ") || (data === null ? "" : JSON.stringify(data));
}

function reactionText({ emoji, count }: Message["reactions"][number]): string {
  return count === 1 ? `[${emoji}]` : `[${emoji} ${count}]`;
}

/** Deletes a message for everybody, or only for the user. */
export function deleteMessage(
  io: Io,
  id: string,
  { forMe, json }: { forMe?: boolean; json?: boolean },
): Promise<number> {
  return asPerson(io, async ({ messages }) => {
    await messages.delete(id, { for: forMe ? "me" : undefined, signal: io.stop });
    if (json) io.print(jsonLine({ id }));
    else io.warn(harmless(forMe ? `Deleted ${id} for you.` : `Deleted ${id} for everybody.`));
    return 0;
  });
}

/** Adds a reaction to a message, or removes it. */
export function react(
  io: Io,
  message_id: string,
  emoji: string,
  { remove, json }: { remove?: boolean; json?: boolean },
): Promise<number> {
  return asPerson(io, async ({ messages }) => {
    const options = { signal: io.stop };
    if (remove) await messages.removeReaction(message_id, emoji, options);
    else await messages.addReaction(message_id, emoji, options);
    if (json) io.print(jsonLine({ message_id, emoji }));
    else
      io.warn(harmless(remove ? `Removed ${emoji} from ${message_id}.` : `Added ${emoji} to ${message_id}.`));
    return 0;
  });
}
