import type { Mutant } from "./mutant.ts";

/** The local copy and the outbox of `packages/parley-sync`, with each invariant of its README, and the connection of its client. */
export const sync: readonly Mutant[] = [
  {
    name: "sync: an answer undoes the events since its request",
    find: "for (const later of since) later(draft);",
    replace: "",
    tests: ["sync/races"],
  },
  {
    name: "sync: a retry of a message is a new message",
    find: "const { key, conversation_id, client_id, text, data, mentions, reply_to_id } = operation;",
    replace:
      "const { key, conversation_id, text, data, mentions, reply_to_id } = operation; const client_id = String(Math.random());",
    tests: ["sync/sync"],
  },
  {
    name: "sync: a message is recognized only as long as its Idempotency-Key",
    find: "conversation_id, client_id, ...(text !== null && { text }),",
    replace: "conversation_id, ...(text !== null && { text }),",
    tests: ["sync/erased"],
  },
  {
    name: "sync: the messages of a conversation are sent at once",
    find: 'if (operation.kind === "send") return operation.conversation_id;',
    replace: 'if (operation.kind === "send") return operation.key;',
    tests: ["sync/sync"],
  },
  {
    name: "sync: a conversation that was left stays in the copy",
    find: "draft.dropTalk(event.payload.conversation_id);",
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: a deleted message stays in the store",
    find: "this.set(messageKey(conversationId, id), null);",
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: sign-out keeps the store",
    find: "if (isErased) await this.store.erase();",
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: the messages of another user are sent with the new token",
    find: "if (known && known.me.id !== snapshot.me.id) await this.#hooks.otherUser();",
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: a repeated event counts as unread again",
    find: "if (!isNew) return;",
    replace: "",
    tests: ["sync/reduce"],
  },
  {
    name: "sync: a deleted message stays unread",
    find: 'if (isLast || mayBeUnread) draft.markStale(conversationId, "row");',
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: a stored message is trusted",
    find: 'if (kind === "message") return is({ ...MESSAGE, id: equals(messageId), conversation_id: equals(id) });',
    replace: 'if (kind === "message") return is({});',
    tests: ["sync/damage"],
  },
  {
    name: "sync: a missing message is not noticed",
    find: "if (messages.size !== wanted || messages.size !== entries.length)",
    replace: "if (messages.size !== entries.length)",
    tests: ["sync/damage"],
  },
  {
    name: "sync: a message is sent before it is stored",
    find: "await copy.written;",
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: erased events are passed over",
    find: "await this.#copy.commit(new Map([[CURSOR, null]]));",
    replace: "",
    tests: ["sync/erased"],
  },
  {
    name: "sync: an answer replaces what was read after it",
    find: "if (isWhole) this.#outdate();",
    replace: "",
    tests: ["sync/erased"],
  },
  {
    name: "sync: the upload of a large file begins anew",
    find: "let upload = operation.uploads[at];",
    replace: 'let upload = undefined as SendOperation["uploads"][string] | undefined;',
    tests: ["sync/large-files"],
  },
  {
    name: "sync: wake keeps a connection that other streams share",
    find: "this.#client.events.reconnect();",
    replace: "",
    tests: ["sync/sync"],
  },
  {
    name: "sync: two processes open one SQLite file",
    find: "PRAGMA locking_mode = EXCLUSIVE;",
    replace: "",
    tests: ["sync/stores"],
  },
  {
    name: "sync: a device is live before it has what it missed",
    find: 'else if (state === "ready" && this.#newest === null) this.#hooks.state("live");',
    replace: 'else if (state === "ready") this.#hooks.state("live");',
    tests: ["sync/sync"],
  },
  {
    name: "client: each connection waits for a WebSocket that a proxy loses",
    find: "this.#socketFrom = performance.now() + this.#socketPauseMs;",
    replace: "",
    tests: ["client/live"],
  },
];
