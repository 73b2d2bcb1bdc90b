// Shows who is typing, and announces that the user is.
import type { Conversation, Parley, TypingEvent } from "../../../packages/parley-client/src/index.ts";
import type { Sync } from "../../../packages/parley-sync/src/index.ts";
import type { KnownPeople } from "../people/known-people.ts";
import type { Change } from "../session/changes.ts";
import { Watched } from "../ui/watched.ts";

/** Counted from receipt: `expires_at` is by the server's clock, which may differ. */
const SHOWN_MS = 6000;
/** The server forwards one announcement within this time. */
const PAUSE_MS = 3000;
/** An announcement may arrive after the message that was typed. */
const LATE_MS = 1000;

type Timer = ReturnType<typeof setTimeout>;

export class Typists extends Watched {
  #parley: Parley;
  #meId: string;
  #sync: Sync;
  /** By conversation and user. */
  #typing = new Map<string, Map<string, Timer>>();
  #people: KnownPeople;
  /** When the user was last announced, by conversation. */
  #announced = new Map<string, number>();
  /** When the last message arrived, by conversation and sender. */
  #spoken = new Map<string, number>();

  constructor(parley: Parley, meId: string, sync: Sync, people: KnownPeople) {
    super();
    this.#parley = parley;
    this.#meId = meId;
    this.#sync = sync;
    this.#people = people;
  }

  /** Announces that the user is typing. Ignores failures. */
  announce(conversationId: string): void {
    const now = performance.now();
    const last = this.#announced.get(conversationId);
    const isOwn = this.#find(conversationId)?.kind === "self";
    if (isOwn || (last !== undefined && now - last < PAUSE_MS)) return;
    this.#announced.set(conversationId, now);
    this.#parley.conversations.typing(conversationId).catch(() => {});
  }

  hear(change: Change): void {
    if (change.type === "typing") this.#add(change.payload);
    else if (change.type === "message.created") {
      const { type, sender, conversation_id } = change.payload;
      if (type !== "text" || !sender) return;
      this.#spoken.set(`${conversation_id} ${sender.id}`, performance.now());
      this.#remove(conversation_id, sender.id);
    }
  }

  /** Describes who is typing in a conversation; empty if nobody is. `name`: the contact's. */
  toText(conversationId: string, name: string): string {
    const users = [...(this.#typing.get(conversationId)?.keys() ?? [])];
    const isGroup = this.#find(conversationId)?.kind === "group";
    const names = users.map((id) => (isGroup ? this.#toName(id, conversationId) : name));
    if (names.length === 0) return "";
    if (names.length > 2) return `${names.length} people are typing…`;
    return `${names.join(" and ")} ${names.length === 1 ? "is" : "are"} typing…`;
  }

  stop(): void {
    for (const users of this.#typing.values()) for (const timer of users.values()) clearTimeout(timer);
    this.#typing.clear();
  }

  #add({ conversation_id, user_id }: TypingEvent["payload"]): void {
    const spoken = this.#spoken.get(`${conversation_id} ${user_id}`) ?? -Infinity;
    if (user_id === this.#meId || performance.now() - spoken < LATE_MS) return;
    const users = this.#typing.get(conversation_id) ?? new Map<string, Timer>();
    this.#typing.set(conversation_id, users);
    clearTimeout(users.get(user_id));
    users.set(
      user_id,
      setTimeout(() => this.#remove(conversation_id, user_id), SHOWN_MS),
    );
    this.notify();
  }

  #find(conversationId: string): Conversation | undefined {
    return this.#sync.conversation(conversationId).getSnapshot().conversation as Conversation | undefined;
  }

  #remove(conversationId: string, userId: string): void {
    const users = this.#typing.get(conversationId);
    clearTimeout(users?.get(userId));
    if (users?.delete(userId)) this.notify();
  }

  #toName(id: string, conversationId: string): string {
    const user = this.#people.findUser(id, conversationId);
    return user ? this.#people.toPerson(user).name : "Somebody";
  }
}
