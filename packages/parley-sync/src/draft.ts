// A change of the copy while it is made: reads what it has changed already.
import type { Contact, Message } from "parley-client";
import type { Copy } from "./copy.ts";
import { contactKey, messageKey, NOTHING, type Stale, staleKey, type Talk, talkKey } from "./entries.ts";
import type { Value } from "./store.ts";

export class Draft {
  readonly batch = new Map<string, Value | null>();
  readonly #copy: Copy;

  constructor(copy: Copy) {
    this.#copy = copy;
  }

  set(key: string, value: Value | null): void {
    this.batch.set(key, value);
  }

  talk(id: string): Talk | undefined {
    return this.#read(talkKey(id), this.#copy.talks.get(id));
  }

  contact(id: string): Contact | undefined {
    return this.#read(contactKey(id), this.#copy.contacts.get(id));
  }

  contactsNamed(username: string): Contact[] {
    const isSame = ({ username: other }: Contact) => other.toLowerCase() === username.toLowerCase();
    return [...this.#copy.contacts.values()].filter(isSame);
  }

  change(id: string, change: Partial<Talk>): void {
    this.set(talkKey(id), { ...this.talk(id)!, ...change });
  }

  /** Marks what must be read again. Messages include the row. */
  markStale(id: string, what: Stale["what"]): void {
    const known: Stale | undefined = this.#read(staleKey(id), this.#copy.stale.get(id));
    if (known?.what !== "window") this.set(staleKey(id), { what });
  }

  message(conversationId: string, id: string): Message | undefined {
    return this.#read(messageKey(conversationId, id), this.#copy.messages.get(conversationId)?.get(id));
  }

  /** Returns the kept messages of a conversation, oldest first. They must be loaded. */
  messages(conversationId: string): Message[] {
    const kept = new Map(this.#copy.messages.get(conversationId));
    const prefix = messageKey(conversationId, "");
    for (const [key, value] of this.batch) {
      if (!key.startsWith(prefix)) continue;
      if (value === null) kept.delete(key.slice(prefix.length));
      else kept.set(key.slice(prefix.length), value as Message);
    }
    return [...kept.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** Adds or replaces a message of a known conversation. */
  putMessage(message: Message): void {
    const { id, conversation_id } = message;
    const talk = this.talk(conversation_id)!;
    const before = this.message(conversation_id, id);
    const kept = before ? withFileDetails(message, before) : message;
    const isSame = before !== undefined && JSON.stringify(kept) === JSON.stringify(before);
    // Views compare objects.
    if (isSame) return;
    // The sender was erased, for which there is no event: other messages may have the name, too.
    if (before?.sender && !message.sender) this.markStale(conversation_id, "window");
    this.change(conversation_id, {
      count: talk.count + (before ? 0 : 1),
      bytes: talk.bytes + sizeOf(kept) - (before ? sizeOf(before) : 0),
    });
    this.set(messageKey(conversation_id, id), kept);
  }

  removeMessage(conversationId: string, id: string): void {
    const before = this.message(conversationId, id);
    const talk = this.talk(conversationId);
    if (!before || !talk) return;
    this.change(conversationId, { count: talk.count - 1, bytes: talk.bytes - sizeOf(before) });
    this.set(messageKey(conversationId, id), null);
  }

  /** Keeps a conversation, but none of its messages. They must be loaded. */
  dropMessages(id: string): void {
    for (const message of this.messages(id)) this.set(messageKey(id, message.id), null);
    if (this.talk(id)) this.change(id, { floor: NOTHING, count: 0, bytes: 0 });
  }

  /** Removes all that is kept of a conversation. Its messages must be loaded. */
  dropTalk(id: string): void {
    this.dropMessages(id);
    this.set(talkKey(id), null);
    this.set(staleKey(id), null);
  }

  #read<T>(key: string, kept: T | undefined): T | undefined {
    if (!this.batch.has(key)) return kept;
    return (this.batch.get(key) ?? undefined) as T | undefined;
  }
}

function sizeOf(message: Message): number {
  return JSON.stringify(message).length;
}

/** Keeps the details of files that were read with `include`, which events lack. */
function withFileDetails(message: Message, { attachments }: Message): Message {
  if (message.attachments.length === 0) return message;
  const known = new Map(attachments.map((file) => [file.id, file]));
  return { ...message, attachments: message.attachments.map((file) => ({ ...known.get(file.id), ...file })) };
}
