// The rows of the server with the pending operations on top: the content of all views.
import type { Contact, Message } from "parley-client";
import type { Copy } from "./copy.ts";
import { NOTHING } from "./entries.ts";
import { inOrder } from "./operations.ts";
import { countUnread, withReaction } from "./reduce.ts";
import type {
  ContactsState,
  ConversationState,
  Inbox,
  InboxEntry,
  Operation,
  SendOperation,
  SyncMessage,
} from "./types.ts";

export class Fold {
  readonly #copy: Copy;
  /** Keeps a message the same object as long as nothing about it changes. */
  #shown = new WeakMap<Message, SyncMessage>();

  constructor(copy: Copy) {
    this.#copy = copy;
  }

  get #myId(): string {
    return this.#copy.meta?.me.id ?? "";
  }

  /** Forgets what shows users as they were. */
  renew(): void {
    this.#shown = new WeakMap();
  }

  inbox(): Inbox {
    const { meta, talks } = this.#copy;
    const floor = meta?.inboxFloor ?? NOTHING;
    const operations = inOrder(this.#copy);
    const listed = [...talks.values()].filter(
      ({ row }) => row.position !== null && (row.position >= floor || row.is_pinned),
    );
    const waiting = new Set(operations.filter(isComing).map(({ conversation_id }) => conversation_id));
    const others = [...talks.values()].filter((talk) => waiting.has(talk.row.id) && !listed.includes(talk));
    const items = [...listed, ...others].map(({ row }) => ({
      entry: this.#entry(row.id, operations)!,
      // A message that is still to be sent will be the newest.
      place: `${waiting.has(row.id) ? NOTHING : ""}${row.position ?? ""}`,
    }));
    items.sort((one, other) => (one.place > other.place ? -1 : 1));
    return { items: items.map(({ entry }) => entry), hasOlder: floor !== "" };
  }

  #entry(id: string, all: readonly Operation[]): InboxEntry | undefined {
    const talk = this.#copy.talks.get(id);
    if (!talk) return undefined;
    const operations = all.filter(({ conversation_id }) => conversation_id === id);
    const row = { ...talk.row };
    for (const operation of operations) {
      if (operation.kind !== "read" || operation.message_id <= (row.last_read_id ?? "")) continue;
      const messages = this.#copy.messages.get(id);
      if (messages || operation.message_id >= talk.tail)
        Object.assign(
          row,
          countUnread(talk, [...(messages?.values() ?? [])], operation.message_id, this.#myId),
        );
      row.last_read_id = operation.message_id;
    }
    const last = row.last_message && this.#withOperations(row.last_message, operations);
    const pending = operations.findLast(isComing);
    return { ...row, last_message: pending ? this.toPending(pending) : (last ?? null) };
  }

  conversation(id: string): ConversationState {
    const { talks, contacts, messages } = this.#copy;
    const all = inOrder(this.#copy);
    const operations = all.filter(({ conversation_id }) => conversation_id === id);
    const talk = talks.get(id);
    const rows = [...(messages.get(id)?.values() ?? [])].sort((one, other) => (one.id < other.id ? -1 : 1));
    const known = new Set(rows.map((row) => row.id));
    const sent = rows.flatMap((row) => this.#withOperations(row, operations) ?? []);
    const pending = operations
      .filter(isSend)
      .filter(({ message_id }) => message_id === null || !known.has(message_id))
      .map((operation) => this.toPending(operation));
    const contact: Contact | undefined = contacts.get(talk?.row.contact_id ?? "");
    return {
      conversation: this.#entry(id, all),
      contact,
      members: talk?.members ?? null,
      messages: [...sent, ...pending],
      hasOlder: talk?.floor !== "",
      isLoaded: messages.has(id),
    };
  }

  /** Returns a message of the server as it will be; undefined if it will be deleted. */
  message(message: Message): SyncMessage | undefined {
    return this.#withOperations(message, inOrder(this.#copy));
  }

  contacts(): ContactsState {
    const floor = this.#copy.meta?.contactsFloor ?? NOTHING;
    const items = [...this.#copy.contacts.values()].filter(({ id }) => id >= floor);
    items.sort((one, other) => (one.id > other.id ? -1 : 1));
    return { items, hasOlder: floor !== "" };
  }

  outbox(): readonly Operation[] {
    return inOrder(this.#copy);
  }

  /** Returns the message as it will be; undefined if it will be deleted. */
  #withOperations(message: Message, operations: readonly Operation[]): SyncMessage | undefined {
    let shown: SyncMessage | undefined = this.#toSent(message);
    const { meta } = this.#copy;
    for (const operation of operations) {
      if (operation.message_id !== message.id || !shown || !meta) continue;
      if (operation.kind === "delete") shown = undefined;
      else if (operation.kind === "react")
        shown = { ...shown, ...withReaction(shown, operation.emoji, meta.me.id, operation.is_there) };
      else if (operation.kind === "edit" && operation.state !== "failed") {
        const { text, state, mentions } = operation;
        shown = { ...shown, text, state, mentions: [...(mentions ?? shown.mentions)] };
      } else if (operation.kind === "send") {
        const { state, reason, files, sent_bytes } = operation;
        shown = { ...shown, state, reason, files, sent_bytes, key: operation.client_id };
      }
    }
    return shown;
  }

  #toSent(message: Message): SyncMessage {
    const known = this.#shown.get(message);
    if (known) return known;
    const { users, meta } = this.#copy;
    const sender = message.sender && (users.get(message.sender.id) ?? message.sender);
    const isOwn = sender?.id === meta?.me.id;
    const shown: SyncMessage = {
      ...message,
      sender,
      key: (isOwn && message.client_id) || message.id,
      state: "sent",
      reason: null,
      files: [],
      sent_bytes: 0,
    };
    this.#shown.set(message, shown);
    return shown;
  }

  /** Returns a message that is still to be sent, as it is shown. */
  toPending(operation: SendOperation): SyncMessage {
    const { client_id, conversation_id, text, data, mentions, reply_to_id, created_at } = operation;
    const { state, reason, files, sent_bytes } = operation;
    const me = this.#copy.meta?.me;
    const sender = me && {
      ...{ id: me.id, username: me.username, display_name: me.display_name },
      ...{ avatar_url: me.avatar_url, kind: me.kind },
    };
    return {
      ...{
        id: client_id,
        key: client_id,
        client_id,
        conversation_id,
        type: "text",
        sender: sender ?? null,
        text,
        data,
      },
      ...{
        attachments: [],
        mentions: [...mentions],
        reply_to_id,
        reactions: [],
        created_at,
        edited_at: null,
      },
      ...{ state, reason, files, sent_bytes },
    };
  }
}

function isSend(operation: Operation): operation is SendOperation {
  return operation.kind === "send";
}

/** Whether it will be the newest message of its conversation. */
function isComing(operation: Operation): operation is SendOperation {
  return operation.kind === "send" && operation.state !== "failed";
}
