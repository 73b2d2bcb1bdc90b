// Pending operations, as entries of the copy.
import type { Message } from "parley-client";
import type { Copy } from "./copy.ts";
import type { Draft } from "./draft.ts";
import { fileKey } from "./entries.ts";
import { type Platform, randomId } from "./platform.ts";
import type { Batch, Value } from "./store.ts";
import type { Operation, Outgoing, PendingFile, SendOperation } from "./types.ts";

/** Larger files continue after a lost connection. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** The most files that one request may have. */
const MAX_FILES = 10;

interface IndexedFile extends PendingFile {
  at: number;
}

/** Divides the files of a message into those of its first request and those that are added to the message later. */
export function splitFiles(all: readonly PendingFile[]): { first: IndexedFile[]; later: IndexedFile[] } {
  const files = all.map((file, at) => ({ ...file, at }));
  const first = files.filter(({ file_size }) => file_size <= LARGE_BYTES).slice(0, MAX_FILES);
  return { first, later: files.filter((file) => !first.includes(file)) };
}

/** The keys of operations. Those of one device grow, also if its clock is set back. */
export class Keys {
  readonly #platform: Platform;
  /** Ends the keys of this instance. */
  readonly #suffix: string;
  #last = 0;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#suffix = `-${randomId(platform).slice(0, 8)}`;
  }

  next({ operations }: Copy): string {
    const known = [...operations.keys()].map((key) => Number(key.match(/\d+/)?.[0] ?? 0));
    this.#last = Math.max(this.#platform.now(), this.#last + 1, ...known.map((each) => each + 1));
    return `out/${String(this.#last).padStart(16, "0")}${this.#suffix}`;
  }

  /** Whether this instance made the key. */
  isOwn(key: string): boolean {
    return key.endsWith(this.#suffix);
  }
}

/** What an operation is about, without its place. */
export type Content<T = Operation> = T extends Operation
  ? Omit<T, "key" | "state" | "reason" | "created_at">
  : never;

/** Returns a message to send. Its `data` is as it will be sent: the caller may change it, and it may have what no store keeps. */
export function toSend(
  conversation_id: string,
  client_id: string,
  { text, data, mentions = [], replyTo, files = [] }: Outgoing,
): Content<SendOperation> {
  return {
    ...{ kind: "send", conversation_id, client_id, text: text || null },
    data: data === undefined ? null : JSON.parse(JSON.stringify(data)),
    ...{ mentions: [...mentions], reply_to_id: replyTo ?? null },
    files: files.map(({ name, type, size }) => ({ filename: name, file_type: type, file_size: size })),
    ...{ sent_bytes: 0, message_id: null, uploads: {} },
  };
}

/** Returns what is pending, oldest first. */
export function inOrder(copy: Copy): Operation[] {
  return [...copy.operations.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** Finds an operation by its key, or by the `key` of the message that it sends. */
export function findOperation(copy: Copy, key: string): Operation | undefined {
  const isSend = (each: Operation) => each.kind === "send" && each.client_id === key;
  return copy.operations.get(key) ?? [...copy.operations.values()].find(isSend);
}

/** Returns the change that ends an operation and forgets its files. */
export function toRemoval(operation: Operation): Map<string, null> {
  const files = operation.kind === "send" ? operation.files.map((_, at) => fileKey(operation.key, at)) : [];
  return new Map([operation.key, ...files].map((key) => [key, null]));
}

/** Returns the change that queues a failed operation again, last. What it replied to may be gone. */
export async function toRetry(copy: Copy, failed: Operation, key: string): Promise<Batch> {
  const again: Operation = { ...failed, key, state: "waiting", reason: null };
  const moved = new Map<string, Value | null>([[failed.key, null]]);
  if (again.kind !== "send") return moved.set(key, again);
  moved.set(key, failed.reason?.param === "reply_to_id" ? { ...again, reply_to_id: null } : again);
  for (const at of again.files.keys()) {
    const bytes = (await copy.file(fileKey(failed.key, at))) as Value | undefined;
    moved.set(fileKey(failed.key, at), null).set(fileKey(key, at), bytes ?? null);
  }
  return moved;
}

/** Ends the operations whose messages are in the change: an event may come before the answer. */
export function settle(copy: Copy, draft: Draft): void {
  if (copy.operations.size === 0) return;
  for (const [key, value] of [...draft.batch]) {
    const message = value as Message | null;
    if (!key.startsWith("message/") || !message?.client_id || message.sender?.id !== copy.meta?.me.id)
      continue;
    for (const operation of copy.operations.values()) {
      const isSame = operation.kind === "send" && operation.client_id === message.client_id;
      if (isSame && splitFiles(operation.files).later.length === 0)
        for (const [key] of toRemoval(operation)) draft.set(key, null);
    }
  }
}

/** Removes the read positions of a conversation that wait. */
export function withoutReads(copy: Copy, conversationId: string): Batch {
  const waiting = [...copy.operations.values()].filter(
    (each) => each.kind === "read" && each.conversation_id === conversationId && each.state === "waiting",
  );
  return new Map(waiting.map(({ key }) => [key, null]));
}
