// Who is typing in each conversation, and showing the others that the user is. Nothing is stored.
import type { Parley, StreamEvent } from "parley-client";
import type { Copy } from "./copy.ts";
import type { Platform } from "./platform.ts";
import type { View } from "./types.ts";
import { Computed } from "./views.ts";

/** For so long a user is shown as typing. Counted from receipt: `expires_at` is by the server's clock, which may differ. */
const SHOWN_MS = 6_000;
/** The server passes on one notice in this time. */
const PAUSE_MS = 3_000;
/** A notice may arrive after the message that was typed. */
const LATE_MS = 1_000;

/** The ids of the users who are typing in a conversation, without the caller. */
export interface TypingView extends View<readonly string[]> {
  /** Shows the others that the caller is typing. Call it at each input: it sends at most one request in three seconds. */
  readonly notify: () => void;
}

interface Parts {
  client: Parley;
  platform: Platform;
  copy: Copy;
}

export class Typing {
  readonly #parts: Parts;
  readonly #conversations = new Map<string, Typists>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  in(conversationId: string): Typists {
    let typists = this.#conversations.get(conversationId);
    if (!typists) {
      typists = new Typists(conversationId, this.#parts);
      this.#conversations.set(conversationId, typists);
    }
    return typists;
  }

  apply(event: StreamEvent): void {
    if (event.type === "typing") this.in(event.conversation_id).add(event.payload.user_id);
    else if (event.type === "message.created" && "sender" in event.payload) {
      const { type, sender, conversation_id } = event.payload;
      if (type === "text" && sender) this.in(conversation_id).end(sender.id);
    }
  }

  stop(): void {
    for (const typists of this.#conversations.values()) typists.stop();
  }
}

class Typists implements TypingView {
  readonly #conversationId: string;
  readonly #parts: Parts;
  /** By user: what cancels the end. */
  readonly #ends = new Map<string, () => void>();
  /** When a user's last message arrived. */
  readonly #spokenAt = new Map<string, number>();
  #notifiedAt = Number.NEGATIVE_INFINITY;
  readonly #view = new Computed<readonly string[]>(() => [...this.#ends.keys()]);
  readonly subscribe = this.#view.subscribe;
  readonly getSnapshot = this.#view.getSnapshot;

  constructor(conversationId: string, parts: Parts) {
    this.#conversationId = conversationId;
    this.#parts = parts;
  }

  readonly notify = (): void => {
    const { client, platform, copy } = this.#parts;
    const now = platform.now();
    // Nobody else is in one's own notes.
    const isAlone = copy.talks.get(this.#conversationId)?.row.kind === "self";
    if (isAlone || now - this.#notifiedAt < PAUSE_MS) return;
    this.#notifiedAt = now;
    client.conversations.typing(this.#conversationId).catch(() => {});
  };

  add(userId: string): void {
    const { platform } = this.#parts;
    if (platform.now() - (this.#spokenAt.get(userId) ?? Number.NEGATIVE_INFINITY) < LATE_MS) return;
    const cancel = this.#ends.get(userId);
    cancel?.();
    this.#ends.set(
      userId,
      platform.after(SHOWN_MS, () => this.#remove(userId)),
    );
    if (!cancel) this.#change();
  }

  /** Ends the typing of a user whose message has arrived. */
  end(userId: string): void {
    this.#spokenAt.set(userId, this.#parts.platform.now());
    this.#ends.get(userId)?.();
    this.#remove(userId);
  }

  stop(): void {
    for (const cancel of this.#ends.values()) cancel();
    this.#ends.clear();
  }

  #remove(userId: string): void {
    if (this.#ends.delete(userId)) this.#change();
  }

  #change(): void {
    this.#view.renew();
    this.#view.notify();
  }
}
