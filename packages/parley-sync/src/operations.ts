// Pending operations, as entries of the copy.
import type { Message } from "parley-client";
import type { Copy } from "./copy.ts";
import type { Draft } from "./draft.ts";
import { fileKey } from "./entries.ts";
import type { Batch, Store, Value } from "./store.ts";
import type { Operation, PendingFile } from "./types.ts";

/** Larger files continue after a lost connection. */
const LARGE_BYTES = 8 * 1024 * 1024;

export const isLarge = ({ file_size }: PendingFile) => file_size > LARGE_BYTES;

/** Returns what is pending, oldest first. */
export function inOrder(copy: Copy): Operation[] {
  return [...copy.operations.values()].sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** Returns the change that ends an operation and forgets its files. */
export function toRemoval(operation: Operation): Map<string, null> {
  const files = operation.kind === "send" ? operation.files.map((_, at) => fileKey(operation.key, at)) : [];
  return new Map([operation.key, ...files].map((key) => [key, null]));
}

/** Returns the change that queues a failed operation again, last. What it replied to may be gone. */
export async function toRetry(store: Store, failed: Operation, key: string): Promise<Batch> {
  const again: Operation = { ...failed, key, state: "waiting", reason: null };
  const moved = new Map<string, Value | null>([[failed.key, null]]);
  if (again.kind !== "send") return moved.set(key, again);
  moved.set(key, failed.reason?.param === "reply_to_id" ? { ...again, reply_to_id: null } : again);
  for (const at of again.files.keys()) {
    const bytes = (await store.get(fileKey(failed.key, at))) as Value | undefined;
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
      if (isSame && !operation.files.some(isLarge))
        for (const [key] of toRemoval(operation)) draft.set(key, null);
    }
  }
}
