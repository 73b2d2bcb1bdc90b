import type { Copy } from "./copy.ts";
import { Draft } from "./draft.ts";
import { NOTHING } from "./entries.ts";

export interface Limits {
  /** The most messages kept of a conversation; 5,000 by default. */
  maxMessages: number;
  /** The approximate size of all kept messages; 200 MB by default. */
  maxBytes: number;
}

/**
 * Evicts the oldest messages of a conversation with too many, and all messages of the conversations with the oldest activity
 * while the copy is too large. Not of `isHeld` ones. Returns undefined if nothing is to be done.
 */
export function trim(copy: Copy, limits: Limits, isHeld: (id: string) => boolean): Draft | undefined {
  const draft = new Draft(copy);
  const talks = [...copy.talks.values()].filter(({ row, floor }) => floor !== NOTHING && !isHeld(row.id));
  for (const { row, count } of talks) {
    const excess = count - limits.maxMessages;
    if (excess <= 0 || !copy.messages.has(row.id)) continue;
    const messages = draft.messages(row.id);
    for (const { id } of messages.slice(0, excess)) draft.removeMessage(row.id, id);
    draft.change(row.id, { floor: messages[excess]?.id ?? NOTHING });
  }
  let bytes = [...copy.talks.keys()].reduce((sum, id) => sum + draft.talk(id)!.bytes, 0);
  if (bytes > limits.maxBytes) {
    talks.sort((one, other) => ((one.row.position ?? "") < (other.row.position ?? "") ? -1 : 1));
    for (const { row } of talks) {
      if (bytes <= limits.maxBytes) break;
      if (!copy.messages.has(row.id)) {
        void copy.load(row.id);
        continue;
      }
      bytes -= draft.talk(row.id)!.bytes;
      draft.dropMessages(row.id);
    }
  }
  return draft.batch.size > 0 ? draft : undefined;
}
