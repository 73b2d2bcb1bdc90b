import {
  type Message,
  type MessageChange,
  type Parley,
  ParleyApiError,
} from "../../../packages/parley-client/src/index.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { type Access, asPerson, explain, REFUSED } from "./access.ts";
import { openWindow, type Window } from "./chat-window.ts";
import { senderName, summary, systemText } from "./messages.ts";
import { getConversationId } from "./partners.ts";

/** Prints the messages of a conversation as they arrive, and sends each line of standard input. */
export function chat(io: Io, who: string, options: { limit?: number; json?: boolean }): Promise<number> {
  return asPerson(io, async (parley, access) => {
    const conversation = await getConversationId(io, parley, who);
    const ended = new AbortController();
    const signal = AbortSignal.any([io.stop, io.unread, ended.signal]);
    const window = openWindow(io, signal);
    const sending = sendLines(io, { parley, access, conversation, window }).finally(() => ended.abort());
    // Awaited below, unless the watch fails first.
    sending.catch(() => {});
    let last: string | undefined;
    try {
      const limit = options.limit === undefined ? undefined : Math.min(options.limit, 100);
      for await (const change of parley.messages.watch(conversation, { limit, signal })) {
        if (change.type === "message.created") last = change.message.id;
        window.show(options.json ? [jsonLine(change)] : toLines(change));
      }
    } finally {
      window.close();
    }
    const failed = await sending;
    if (last !== undefined) await parley.conversations.markRead(conversation, { message_id: last });
    return failed > 0 ? REFUSED : 0;
  });
}

interface Sending {
  parley: Parley;
  access: Access;
  conversation: string;
  window: Window;
}

/** Sends lines one after another until the input ends. Returns how many the server refused. */
async function sendLines(io: Io, { parley, access, conversation, window }: Sending): Promise<number> {
  let failed = 0;
  for await (const line of window.lines) {
    if (line.trim() === "") continue;
    try {
      await parley.messages.create({ conversation_id: conversation, text: line }, { signal: io.stop });
    } catch (error) {
      if (!(error instanceof ParleyApiError)) throw error;
      failed++;
      window.warn(`parley: Not sent: ${harmless(line)}: ${explain(error, access)}`);
    }
  }
  return failed;
}

/** Formats a change. Only the first line of a message begins at the margin, so no text passes for another message. */
function toLines(change: MessageChange): string[] {
  if (change.type === "message.deleted") return ["(a message was deleted)"];
  const { message } = change;
  if (change.type === "reaction.created" || change.type === "reaction.deleted") {
    const what = change.type === "reaction.created" ? "reacted to" : "no longer reacted to";
    return [harmless(`(${change.emoji} ${what}: ${summary(message)})`)];
  }
  const event = systemText(message);
  if (event !== undefined) return [harmless(`${isoTime(message.created_at)} * ${event}`)];
  const [first = "", ...rest] = toText(message).replaceAll("\t", "    ").split("\n");
  const edited = change.type === "message.updated" ? " (edited)" : "";
  const head = `${isoTime(message.created_at)} ${senderName(message)}${edited}: ${first}`.trimEnd();
  return [head, ...rest.map((line) => `  ${line}`), ...toFileLines(message)].map(harmless);
}

function toText({ text, data }: Message): string {
  return text ?? (data === null ? "" : JSON.stringify(data));
}

function toFileLines({ attachments }: Message): string[] {
  return attachments.map(({ id, filename, file_size }) => `  [${filename}] ${roundedSize(file_size)} ${id}`);
}
