import type { Mutant } from "./mutant.ts";

/** Messages: what they may hold, who may change them, how many are sent. */
export const messages: readonly Mutant[] = [
  {
    name: "the files of a retry are stored, beside the quota",
    find: "this.isHashOnly = isHashOnly;",
    replace: "this.isHashOnly = isHashOnly && false;",
    tests: ["attacks/uploads", "http/messages"],
  },
  {
    name: "an edit may mention strangers",
    find: "if (added.length > 0) yield* checkMentions(message.conversation_id, added);",
    replace: "",
    tests: ["http/mentions"],
  },
  {
    name: "whoever sees a message edits it",
    find: 'if (message.sender_id !== userId || message.type !== "text") throw',
    replace: 'if (message.type !== "text") throw',
    tests: ["acceptance/message-sharing"],
  },
  {
    name: "everybody deletes messages as an administrator does",
    find: 'await core.db.write("deleteMessage", { userId: caller.userId, asAdmin: caller.scopes.has("admin"),',
    replace: 'await core.db.write("deleteMessage", { userId: caller.userId, asAdmin: true,',
    tests: ["acceptance/message-sharing"],
  },
  {
    name: "every route of an administrator's does for one without messages:write",
    find: '!(orAdmin && caller.scopes.has("admin"))',
    replace: '!caller.scopes.has("admin")',
    tests: ["http/messages"],
  },
  {
    name: "a withheld message reaches the inbox, the events and the files of who blocked its sender",
    find: "AND (s.user_id = found.sender_id OR ${none(BLOCK)})`;",
    replace: "`;",
    tests: ["contract/bulk"],
  },
  {
    name: "a member who blocked the sender reads the message in the list",
    find: "AND s.user_id <> found.sender_id AND ${some(BLOCK)}`;",
    replace: "AND s.user_id <> found.sender_id AND ${none(BLOCK)} AND ${some(BLOCK)}`;",
    tests: ["contract/bulk"],
  },
];
