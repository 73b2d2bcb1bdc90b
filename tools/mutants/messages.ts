import type { Mutant } from "./mutant.ts";

const FIELDS = "src/core/resource/fields.ts";
const JSON_VALUES = "src/util/json.ts";
const UPLOADS = "src/http/protocol/uploads.ts";
const SENDING = "src/core/messages/message-send.ts";
const QUERIES = "src/db/queries/messages/message-read.ts";
const NEW_MESSAGES = "src/db/queries/messages/message-bulk.ts";

/** Messages: what they may hold, who may change them, how many are sent. */
export const messages: readonly Mutant[] = [
  {
    name: "a message may have control characters",
    file: FIELDS,
    find: "within(text, 0, maxLength) && isCleanLines(text)",
    replace: "within(text, 0, maxLength)",
    tests: ["acceptance/messages/messages"],
  },
  {
    name: "a message may be invisible",
    file: FIELDS,
    find: "!isVisible(text) ? null : text",
    replace: 'text === "" ? null : text',
    tests: ["http/real-clients.all"],
  },
  {
    name: "an edit may mention strangers",
    file: QUERIES,
    find: "  if (added.length > 0) yield* checkMentions(message.conversation_id, added);\n",
    replace: "",
    tests: ["http/messages/mentions"],
  },
  {
    name: "edits may mention without a limit",
    file: "src/core/messages/messages.ts",
    find: "  if (mentions && mentions.length > 0) await countMessage(core, caller);\n",
    replace: "",
    tests: ["http/messages/mentions"],
  },
  {
    name: "an edit alerts whom it mentions once more",
    file: QUERIES,
    find: "publishMention(input.now, message.conversation_id, id, added)",
    replace: "publishMention(input.now, message.conversation_id, id, mentions)",
    tests: ["http/messages/mentions"],
  },
  {
    name: "an edit alerts also who does not see the message",
    file: "src/db/queries/events/events.ts",
    find: "${audience(conversationId, sql`${messageId}`)} AND s.user_id IN (${list(padded(userIds))})",
    replace:
      "FROM members s WHERE s.conversation_id = ${conversationId} AND s.user_id IN (${list(padded(userIds))})",
    tests: ["http/messages/mentions"],
  },
  {
    name: "data may be as deep as it likes",
    file: JSON_VALUES,
    find: "  if (depth === 0) return false;\n",
    replace: "",
    tests: ["acceptance/messages/messages"],
  },
  {
    name: "data may have the name __proto__",
    file: JSON_VALUES,
    find: 'name !== "__proto__" && ',
    replace: "",
    tests: ["acceptance/messages/messages"],
  },
  {
    name: "a name of data in a form may come twice",
    file: JSON_VALUES,
    find: "return findRepeatedName(json) ? undefined : value;",
    replace: "return value;",
    tests: ["acceptance/messages/messages"],
  },
  {
    name: "only the outermost object of JSON is searched for names that come twice",
    file: JSON_VALUES,
    find: "      if (names.has(name)) return",
    replace: "      if (names.has(name) && open.length === 1) return",
    tests: ["acceptance/messages/messages"],
  },
  {
    name: "whoever sees a message edits it",
    file: QUERIES,
    find: 'if (message.sender_id !== userId || message.type !== "text") throw',
    replace: 'if (message.type !== "text") throw',
    tests: ["acceptance/visibility/message-sharing"],
  },
  {
    name: "everybody deletes messages as an administrator does",
    file: "src/core/messages/messages.ts",
    find: 'asAdmin: caller.scopes.has("admin"),',
    replace: "asAdmin: true,",
    tests: ["acceptance/visibility/message-sharing"],
  },
  {
    name: "a message of another user is deleted without an entry in the audit trail",
    file: QUERIES,
    find: '      yield* run(recordEntry(entry, "message.deleted", message.id));\n',
    replace: "",
    tests: ["http/messages/messages"],
  },
  {
    name: "every route of an administrator's does for one without messages:write",
    file: "src/http/server.ts",
    find: '!(orAdmin && caller.scopes.has("admin"))',
    replace: '!caller.scopes.has("admin")',
    tests: ["http/messages/messages"],
  },
  {
    name: "a file in a message asks for no scope",
    file: UPLOADS,
    find: '    requireScope(request.caller, "attachments:write");\n',
    replace: "",
    tests: ["http/messages/messages"],
  },
  {
    name: "a message has any number of files",
    file: UPLOADS,
    find: "if (files.length === MAX_MESSAGE_FILES) {",
    replace: "if (files.length < 0) {",
    tests: ["acceptance/files/message-files"],
  },
  {
    name: "the files of a retry are stored, beside the quota",
    file: SENDING,
    find: "    if (isRetry) upload.hashOnly();\n",
    replace: "",
    tests: ["http/messages/messages"],
  },
  {
    name: "an Idempotency-Key does not stand for the files",
    file: SENDING,
    find: "fields, files.map(compared)]",
    replace: "fields]",
    tests: ["acceptance/files/message-files"],
  },
  {
    name: "any number of messages a minute",
    file: "src/core/messages/message-rate.ts",
    find: "if (rate.isTooMuch(used)) {",
    replace: "if (used < 0) {",
    tests: ["http/messages/messages"],
  },
  {
    name: "messages of one statement move a conversation to the oldest of them",
    file: NEW_MESSAGES,
    find: "in_order(s.user_id, found.conversation_id, found.id DESC)",
    replace: "in_order(s.user_id, found.conversation_id, found.id)",
    tests: ["contract/lane"],
  },
  {
    name: "of the messages of one statement only the last sender has read",
    file: NEW_MESSAGES,
    find: "SELECT first_of(found.sender_id, found.conversation_id) found.sender_id",
    replace: "SELECT first_of(found.conversation_id) found.sender_id",
    tests: ["contract/lane"],
  },
  {
    name: "a withheld message reaches the inbox, the events and the files of who blocked its sender",
    file: NEW_MESSAGES,
    find: "AND (s.user_id = found.sender_id OR ${none(BLOCK)})`;",
    replace: "`;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a member who blocked the sender reads the message in the list",
    file: NEW_MESSAGES,
    find: "AND s.user_id <> found.sender_id AND ${some(BLOCK)}`;",
    replace: "AND s.user_id <> found.sender_id AND ${none(BLOCK)} AND ${some(BLOCK)}`;",
    tests: ["acceptance/people/blocks"],
  },
  {
    name: "messages of one statement are withheld as one run with those between that are seen",
    file: NEW_MESSAGES,
    find: "GROUP BY r.user_id, r.conversation_id, r.seen",
    replace: "GROUP BY r.user_id, r.conversation_id",
    tests: ["contract/lane"],
  },
  {
    name: "a message of a blocked sender leaves the lane",
    file: NEW_MESSAGES,
    find: "const IS_USUAL = sql`u.id = input.sender_id\n",
    replace:
      "const IS_USUAL = sql`u.id = input.sender_id\n  AND ${none(sql`SELECT b.owner_id FROM members s JOIN blocks b ON b.owner_id = s.user_id\n    WHERE s.conversation_id = ${TARGET} AND b.username_key = u.username_key AND s.user_id <> u.id`)}\n",
    tests: ["contract/lane", "http/visibility/sending-alike"],
  },
  {
    name: "a change of a message costs more for who is blocked",
    file: QUERIES,
    find: "  return [...withdraw(message, files, userIds, now), ...publishUpdate(message, now)];",
    replace:
      "  const update = publishUpdate(message, now);\n  return userIds.length === 0 ? update : [...withdraw(message, files, userIds, now), ...update];",
    tests: ["http/visibility/sending-alike"],
  },
  {
    name: "a deleted file costs a statement for each member",
    file: QUERIES,
    find: '    sql`DELETE FROM grants WHERE user_id IN (${list(padded(["", ...members.map(({ user_id }) => user_id)]))})\n      AND attachment_id = ${file.id}`,\n',
    replace:
      "    ...members.map(\n      ({ user_id }) => sql`DELETE FROM grants WHERE user_id IN (${list(padded([user_id]))}) AND attachment_id = ${file.id}`,\n    ),\n",
    tests: ["http/visibility/sending-alike"],
  },
];
