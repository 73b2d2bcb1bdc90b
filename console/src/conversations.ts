// What the server last said of each conversation. What happens in one makes it ask again, so nothing is counted here.
import type { Conversation, ConversationSettings, Parley } from "../../client/src/index.ts";
import type { Change, ChangeFeed } from "./live.ts";

/** Changes within this time share one request. */
const GATHER_MS = 100;

interface Hooks {
  /** Called when the number of conversations with unread messages may have changed. */
  unreadChanged: () => void;
  failed: (error: unknown) => void;
}

export class Conversations {
  #known = new Map<string, Conversation>();
  #due = new Set<string>();
  /** Conversations that the user has left since they were requested. The answer must not bring one back. */
  #left = new Set<string>();
  #isBusy = false;
  #parley: Parley;
  #events: ChangeFeed;
  #hooks: Hooks;

  constructor(parley: Parley, events: ChangeFeed, hooks: Hooks) {
    this.#parley = parley;
    this.#events = events;
    this.#hooks = hooks;
  }

  find(id: string): Conversation | undefined {
    return this.#known.get(id);
  }

  /** Returns those that are known, most recent activity first. */
  listRecent(): Conversation[] {
    const toPosition = ({ position }: Conversation) => position ?? "";
    return [...this.#known.values()].sort((a, b) => (toPosition(a) < toPosition(b) ? 1 : -1));
  }

  keep(conversation: Conversation): void {
    this.#known.set(conversation.id, conversation);
  }

  async load(id: string): Promise<void> {
    // The user may have come back.
    this.#left.delete(id);
    const loaded = await this.#parley.conversations.retrieve(id);
    if (!this.#left.has(id)) this.#show(loaded);
  }

  /** Pins, archives or mutes a conversation. */
  async change(id: string, settings: ConversationSettings): Promise<void> {
    this.#show(await this.#parley.conversations.update(id, settings));
  }

  #show(conversation: Conversation): void {
    const before = this.#known.get(conversation.id);
    this.keep(conversation);
    this.#events.publish({ type: "conversation.current", payload: conversation });
    if (!before || isCounted(before) !== isCounted(conversation)) this.#hooks.unreadChanged();
  }

  hear(change: Change): void {
    if (change.type === "missed") this.#known.clear();
    // What a new contact has sent before is there from now on.
    else if (change.type === "contact.created" || change.type === "group.created")
      void this.#refresh(change.payload.conversation_id);
    else if (change.type === "contact.deleted" || change.type === "group.deleted")
      this.#leave(change.payload.conversation_id);
    // The conversation has the name of its group.
    else if (change.type === "group.updated") void this.#refresh(change.payload.conversation_id);
    else if (change.type === "conversation.updated" || change.type === "conversation.read")
      void this.#refresh(change.payload.id);
    else if (change.type.startsWith("message.") && "conversation_id" in change.payload)
      void this.#refresh(change.payload.conversation_id);
  }

  #leave(id: string | null): void {
    if (id !== null) {
      this.#left.add(id);
      this.#known.delete(id);
    }
    this.#hooks.unreadChanged();
  }

  /** A change during a request is followed by another one, so answers arrive in order. */
  async #refresh(id: string | null): Promise<void> {
    // An invitation comes without the conversation of its group.
    if (id === null) return;
    this.#due.add(id);
    if (this.#isBusy) return;
    this.#isBusy = true;
    while (this.#due.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const ids = [...this.#due];
      this.#due.clear();
      await Promise.all(ids.map((each) => this.load(each).catch(this.#hooks.failed)));
    }
    this.#isBusy = false;
  }
}

export function isMuted({ muted_until }: Conversation): boolean {
  return muted_until !== null && muted_until > Date.now() / 1000;
}

/** Whether `unread_conversations` counts it. */
function isCounted(conversation: Conversation): boolean {
  return conversation.unread_count > 0 && !isMuted(conversation);
}
