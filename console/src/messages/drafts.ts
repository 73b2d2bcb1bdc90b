// Unsent drafts by conversation. Files last as long as the page; texts survive a reload, only in this tab, like the
// token.
import type { Message } from "../../../packages/parley-client/src/index.ts";
import { tabStore } from "../session/storage.ts";
import { Watched } from "../ui/watched.ts";

export interface Draft {
  text: string;
  files: readonly File[];
  replyTo: Message | undefined;
}

const PREFIX = "parley-draft ";
/** Longer texts cannot be sent, and browsers store only a few megabytes. */
const MAX_KEPT = 100_000;

export class Drafts extends Watched {
  #drafts = new Map<string, Draft>();
  #prefix: string;

  constructor(userId: string) {
    super();
    this.#prefix = `${PREFIX}${userId} `;
    forgetDrafts(this.#prefix);
  }

  get(conversationId: string): Draft {
    const draft = this.#drafts.get(conversationId);
    if (draft) return draft;
    const text = tabStore.get(this.#prefix + conversationId) ?? "";
    return { text, files: [], replyTo: undefined };
  }

  get hasFiles(): boolean {
    return [...this.#drafts.values()].some(({ files }) => files.length > 0);
  }

  change(conversationId: string, change: Partial<Draft>): void {
    const draft = { ...this.get(conversationId), ...change };
    this.#drafts.set(conversationId, draft);
    const key = this.#prefix + conversationId;
    tabStore.remove(key);
    // If the storage of the tab is full, this draft lasts as long as the page.
    if (draft.text !== "" && draft.text.length <= MAX_KEPT) tabStore.set(key, draft.text);
    this.notify();
  }

  /** Restores unsent texts, before text written since. */
  takeBack(unsent: readonly { conversation_id: string; text: string | null }[]): void {
    for (const { conversation_id, text } of unsent.toReversed()) {
      const draft = this.get(conversation_id);
      this.change(conversation_id, { text: [text, draft.text].filter(Boolean).join("\n") });
    }
  }

  clear(conversationId: string): void {
    this.change(conversationId, { text: "", files: [], replyTo: undefined });
  }
}

/** Deletes all stored texts except one user's, so that the next user of this tab cannot find them. */
export function forgetDrafts(but?: string): void {
  for (const key of tabStore.keys()) {
    const isKept = but !== undefined && key.startsWith(but);
    if (key.startsWith(PREFIX) && !isKept) tabStore.remove(key);
  }
}
