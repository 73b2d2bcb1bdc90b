import type { Watched } from "./state-watch.ts";
import type { StreamEvent } from "./types.ts";

/** For so long a user is shown as typing. The clock of the device may differ from that of the server. */
const SHOWN_MS = 6000;

/** The ids of the users who are typing in a conversation. */
export class Typists implements Watched<string[]> {
  readonly types = ["typing", "message.created"] as const;
  readonly #conversationId: string;
  /** Until when to show them, by `performance.now`; the first to end comes first. */
  readonly #until = new Map<string, number>();

  constructor(conversationId: string) {
    this.#conversationId = conversationId;
  }

  read(): string[] {
    const now = performance.now();
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id);
    return [...this.#until.keys()].sort();
  }

  isChangedBy(event: StreamEvent): boolean {
    if (event.conversation_id !== this.#conversationId) return false;
    if (event.type === "message.created")
      return "sender" in event.payload && this.#until.delete(event.payload.sender?.id ?? "");
    if (event.type !== "typing") return false;
    const { user_id } = event.payload;
    const isNew = !this.#until.delete(user_id);
    this.#until.set(user_id, performance.now() + SHOWN_MS);
    return isNew;
  }

  changesInMs(): number | undefined {
    const [first] = this.#until.values();
    return first === undefined ? undefined : Math.max(0, first - performance.now());
  }
}
