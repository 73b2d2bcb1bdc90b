import type { Mutant } from "./mutant.ts";

/** Messages: what they may contain, who may change them, and how many may be sent. */
export const messages: readonly Mutant[] = [
  {
    name: "a message has any number of files",
    find: "LIMIT 1 OFFSET ${MAX_FILES - 1} + 0",
    replace: "LIMIT 0",
    tests: ["contract/messages"],
  },
  {
    name: "a retry stores its files again, outside the quota",
    find: "this.isHashOnly = isHashOnly;",
    replace: "this.isHashOnly = isHashOnly && false;",
    tests: ["attacks/uploads", "http/messages"],
  },
  {
    name: "an edit can mention users who do not see the message",
    find: "if (added.length > 0) yield* checkMentions(message.conversation_id, added);",
    replace: "",
    tests: ["http/mentions"],
  },
  {
    name: "everybody who sees a message can edit it",
    find: 'if (message.sender_id !== userId || message.type !== "text") throw',
    replace: 'if (message.type !== "text") throw',
    tests: ["acceptance/message-sharing"],
  },
  {
    name: "everybody can delete messages of others",
    find: 'await core.db.write("deleteMessage", { userId: caller.userId, asAdmin: caller.scopes.has("admin"),',
    replace: 'await core.db.write("deleteMessage", { userId: caller.userId, asAdmin: true,',
    tests: ["acceptance/message-sharing"],
  },
  {
    name: "an admin token needs no scope on any route",
    find: '!(orAdmin && caller.scopes.has("admin"))',
    replace: '!caller.scopes.has("admin")',
    tests: ["http/messages"],
  },
  {
    name: "a withheld message reaches the inbox, events and files of the user who blocked its sender",
    find: "AND (s.user_id = found.sender_id OR ${none(BLOCK)})`;",
    replace: "`;",
    tests: ["contract/bulk"],
  },
  {
    name: "a list shows a message to the member who blocked its sender",
    find: "AND s.user_id <> found.sender_id AND ${some(BLOCK)}`;",
    replace: "AND s.user_id <> found.sender_id AND ${none(BLOCK)} AND ${some(BLOCK)}`;",
    tests: ["contract/bulk"],
  },
  {
    name: "deleting a message of another user adds no audit entry",
    find: 'yield* run(recordEntry(entry, "message.deleted", message.id));',
    replace: "",
    tests: ["http/messages"],
  },
];
