// The conversations as the server last described them. Each change makes the console read the conversation again, so
// nothing is counted here.
import type {
  Conversation,
  ConversationSettings,
  Parley,
} from "../../../packages/parley-client/src/index.ts";
import { isPassing } from "../failures.ts";
import type { Change, ChangeFeed } from "../session/live.ts";

/** Changes within this time share one request. */
const GATHER_MS = 100;

/** Changes that may alter the number of unread conversations. */
const UNREAD: ReadonlySet<Change["type"]> = new Set([
  ...(["missed", "message.deleted", "conversation.updated", "conversation.read"] as const),
  ...(["contact.created", "contact.deleted", "group.created", "group.deleted"] as const),
]);

interface Hooks {
  /** Called with each conversation that the server describes. */
  shown: (conversation: Conversation) => void;
  /** Called when the number of unread conversations may have changed. */
  unreadChanged: () => void;
  failed: (error: unknown) => void;
}

interface Known {
  conversation: Conversation;
  /** The number of the request that returned it. */
  number: number;
}

export class Conversations {
  #known = new Map<string, Known>();
  /** How many requests were sent. An answer to an earlier request than the known one is outdated. */
  #requests = 0;
  /**
   * Ignore answers to requests up to these numbers: since then events were missed, or the user left the conversation.
   */
  #outdated = 0;
  #left = new Map<string, number>();
  #due = new Set<string>();
  #busy = new Set<string>();
  /** Conversations in which others wrote since the user's last message. Writing there implies reading them. */
  #answerable = new Set<string>();
  #parley: Parley;
  #meId: string;
  #events: ChangeFeed;
  #hooks: Hooks;

  constructor(parley: Parley, meId: string, events: ChangeFeed, hooks: Hooks) {
    this.#parley = parley;
    this.#meId = meId;
    this.#events = events;
    this.#hooks = hooks;
  }

  find(id: string): Conversation | undefined {
    return this.#known.get(id)?.conversation;
  }

  /** Returns the known conversations, most recent activity first. */
  listRecent(): Conversation[] {
    const toPosition = ({ position }: Conversation) => position ?? "";
    const all = [...this.#known.values()].map(({ conversation }) => conversation);
    return all.sort((a, b) => (toPosition(a) < toPosition(b) ? 1 : -1));
  }

  /** Returns the number of the next request. */
  countRequest(): number {
    return ++this.#requests;
  }

  /** Stores an answer. Returns false if it is older than the known one. */
  keep(conversation: Conversation, number: number): boolean {
    const { id } = conversation;
    const before = this.#known.get(id);
    const outdated = Math.max(this.#outdated, this.#left.get(id) ?? 0);
    if (number <= outdated || (before && number < before.number)) return false;
    this.#known.set(id, { conversation, number });
    this.#hooks.shown(conversation);
    return true;
  }

  async load(id: string): Promise<void> {
    const number = this.countRequest();
    this.#show(await this.#parley.conversations.retrieve(id), number);
  }

  /** Pins, archives or mutes a conversation. */
  async change(id: string, settings: ConversationSettings): Promise<void> {
    const number = this.countRequest();
    const changed = await this.#parley.conversations.update(id, settings);
    if (!this.#show(changed, number)) this.refresh(id);
  }

  #show(conversation: Conversation, number: number): boolean {
    const isNewest = this.keep(conversation, number);
    if (isNewest) this.#events.publish({ type: "conversation.current", payload: conversation });
    return isNewest;
  }

  hear(change: Change): void {
    if (this.#isAboutUnread(change)) this.#hooks.unreadChanged();
    if (change.type === "missed") {
      this.#known.clear();
      this.#outdated = this.#requests;
    }
    // A new contact makes earlier messages of theirs visible. The conversation has the name of its contact or group.
    else if (
      change.type === "contact.created" ||
      change.type === "contact.updated" ||
      change.type === "group.created" ||
      change.type === "group.updated"
    )
      this.refresh(change.payload.conversation_id);
    else if (change.type === "contact.deleted" || change.type === "group.deleted")
      this.#leave(change.payload.conversation_id);
    else if (change.type === "conversation.updated" || change.type === "conversation.read")
      this.refresh(change.payload.id);
    else if (
      change.type === "message.created" ||
      change.type === "message.updated" ||
      change.type === "message.deleted"
    )
      this.refresh(change.payload.conversation_id);
  }

  /**
   * Reports whether a change may alter the number of unread conversations. Of the user's own messages only the first
   * reply does.
   */
  #isAboutUnread(change: Change): boolean {
    if (change.type !== "message.created") return UNREAD.has(change.type);
    const { conversation_id: id, sender } = change.payload;
    if (sender?.id !== this.#meId) {
      this.#answerable.add(id);
      return true;
    }
    return this.#answerable.delete(id) || (this.find(id)?.unread_count ?? 1) > 0;
  }

  #leave(id: string | null): void {
    if (id === null) return;
    this.#left.set(id, this.#requests);
    this.#known.delete(id);
  }

  /** Reads a conversation again, now and when the server is back. An invitation has no conversation yet. */
  refresh(id: string | null): void {
    if (id === null) return;
    this.#due.add(id);
    if (!this.#busy.has(id)) void this.#work(id);
  }

  /** A change during a request causes another request. */
  async #work(id: string): Promise<void> {
    this.#busy.add(id);
    for (let failures = 0; this.#due.has(id); ) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      this.#due.delete(id);
      try {
        await this.load(id);
        failures = 0;
      } catch (error) {
        if (isPassing(error)) {
          this.#due.add(id);
          await this.#events.pause(++failures);
        } else this.#hooks.failed(error);
      }
    }
    this.#busy.delete(id);
  }
}

export function isMuted({ muted_until }: Conversation): boolean {
  return muted_until !== null && muted_until > Date.now() / 1000;
}
