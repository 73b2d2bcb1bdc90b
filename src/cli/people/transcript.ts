// What a chat prints of a conversation: its changes, in their order.
import type { Message, MessageChange } from "../../../packages/parley-client/src/index.ts";
import type { ConversationState, SyncMessage } from "../../../packages/parley-sync/src/index.ts";
import { roundedSize } from "../../util/sizes.ts";
import { harmless, isoTime } from "../text.ts";
import { senderName, summary, systemText } from "./messages.ts";

/** Changes of older messages than these are not noticed. */
const MOST_KNOWN = 1000;

/** Compares the states of a conversation. */
export class Transcript {
  readonly #limit: number;
  /** The printed messages by their ids, oldest first, as they were then. */
  readonly #known = new Map<string, SyncMessage>();
  /** Messages with smaller ids are older than the printed ones; undefined before the first state. */
  #first: string | undefined;

  /** `limit`: how many messages to begin with. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get isBegun(): boolean {
    return this.#first !== undefined;
  }

  /** The id of the newest printed message. */
  get last(): string | undefined {
    return [...this.#known.keys()].at(-1);
  }

  /** Whether a state has what the transcript begins with. */
  canBegin({ conversation, messages, hasOlder }: ConversationState): boolean {
    return conversation !== undefined && (!hasOlder || messages.filter(isSent).length >= this.#limit);
  }

  /** Whether messages were missed that are not in this state. */
  hasGap({ messages, hasOlder }: ConversationState): boolean {
    const { last } = this;
    return hasOlder && last !== undefined && messages.length > 0 && messages[0]!.id > last;
  }

  /** Returns what has changed since the state before. */
  next({ messages, hasOlder }: ConversationState): MessageChange[] {
    const sent = messages.filter(isSent);
    this.#first ??= (sent.at(-this.#limit) ?? sent[0])?.id ?? "";
    const first = this.#first;
    const ids = new Set(sent.map(({ id }) => id));
    // Messages before a gap are only no longer in the copy.
    const floor = hasOlder ? (sent[0]?.id ?? "~") : "";
    const gone = [...this.#known.keys()].filter((id) => id >= floor && !ids.has(id));
    for (const id of gone) this.#known.delete(id);
    return [
      ...gone.map((id) => ({ type: "message.deleted" as const, id })),
      ...sent.filter(({ id }) => id >= first).flatMap((message) => this.#toChanges(message)),
    ];
  }

  #toChanges(shown: SyncMessage): MessageChange[] {
    const before = this.#known.get(shown.id);
    if (before === shown) return [];
    this.#known.set(shown.id, shown);
    const message = toMessage(shown);
    if (before) {
      const isSame = toLook(before) === toLook(shown);
      return [
        ...(isSame ? [] : [{ type: "message.updated" as const, message }]),
        ...toReactions(before, message),
      ];
    }
    if (this.#known.size > MOST_KNOWN) {
      const [oldest, next] = this.#known.keys();
      this.#known.delete(oldest!);
      this.#first = next;
    }
    return [{ type: "message.created", message }];
  }
}

function isSent({ state }: SyncMessage): boolean {
  return state === "sent";
}

/** Removes what the copy has added. */
function toMessage({ key, state, reason, files, sent_bytes, ...message }: SyncMessage): Message {
  return message;
}

/** Returns what an update changes. Links to files are signed again and again. */
function toLook({ text, data, attachments, edited_at }: Message): string {
  return JSON.stringify([text, data, attachments.map(({ id, filename }) => [id, filename]), edited_at]);
}

function toReactions(before: Message, message: Message): MessageChange[] {
  const missingIn = (other: Message, { reactions }: Message) =>
    reactions.flatMap(({ emoji, user_ids }) => {
      const others = other.reactions.find((each) => each.emoji === emoji)?.user_ids ?? [];
      return user_ids.filter((id) => !others.includes(id)).map((user_id) => ({ message, emoji, user_id }));
    });
  return [
    ...missingIn(before, message).map((each) => ({ type: "reaction.created" as const, ...each })),
    ...missingIn(message, before).map((each) => ({ type: "reaction.deleted" as const, ...each })),
  ];
}

/** Formats a change. Only the first line of a message begins at the margin, so no text passes for another message. */
export function toLines(change: MessageChange): string[] {
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

export function toText({ text, data }: Pick<Message, "text" | "data">): string {
  return text ?? (data === null ? "" : JSON.stringify(data));
}

function toFileLines({ attachments }: Message): string[] {
  return attachments.map(({ id, filename, file_size }) => `  [${filename}] ${roundedSize(file_size)} ${id}`);
}
