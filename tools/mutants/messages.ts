import type { Mutant } from "./mutant.ts";

const FIELDS = "src/core/fields.ts";
const JSON_VALUES = "src/util/json.ts";
const UPLOADS = "src/http/protocol/uploads.ts";
const SENDING = "src/core/sending.ts";
const QUERIES = "src/db/queries/messages.ts";

/** Messages: what they may hold, who may change them, how many are sent. */
export const messages: readonly Mutant[] = [
  {
    name: "a message may have control characters",
    file: FIELDS,
    find: "within(text, 0, maxLength) && isCleanLines(text)",
    replace: "within(text, 0, maxLength)",
    tests: ["acceptance/messages"],
  },
  {
    name: "data may be as deep as it likes",
    file: JSON_VALUES,
    find: "  if (depth === 0) return false;\n",
    replace: "",
    tests: ["acceptance/messages"],
  },
  {
    name: "data may have the name __proto__",
    file: JSON_VALUES,
    find: 'name !== "__proto__" && ',
    replace: "",
    tests: ["acceptance/messages"],
  },
  {
    name: "a name of data in a form may come twice",
    file: JSON_VALUES,
    find: "return findRepeatedName(json) ? undefined : value;",
    replace: "return value;",
    tests: ["acceptance/messages"],
  },
  {
    name: "only the outermost object of JSON is searched for names that come twice",
    file: JSON_VALUES,
    find: "      if (names.has(name)) return",
    replace: "      if (names.has(name) && open.length === 1) return",
    tests: ["acceptance/messages"],
  },
  {
    name: "whoever sees a message edits it",
    file: QUERIES,
    find: 'if (message.sender_id !== userId || message.type !== "text") throw',
    replace: 'if (message.type !== "text") throw',
    tests: ["acceptance/message-sharing"],
  },
  {
    name: "everybody deletes messages as an administrator does",
    file: "src/core/messages.ts",
    find: 'asAdmin: caller.scopes.has("admin"),',
    replace: "asAdmin: true,",
    tests: ["acceptance/message-sharing"],
  },
  {
    name: "a message of another user is deleted without an entry in the audit trail",
    file: QUERIES,
    find: '      yield* run(recordEntry(entry, "message.deleted", message.id));\n',
    replace: "",
    tests: ["http/messages"],
  },
  {
    name: "every route of an administrator's does for one without messages:write",
    file: "src/http/server.ts",
    find: '!(orAdmin && caller.scopes.has("admin"))',
    replace: '!caller.scopes.has("admin")',
    tests: ["http/messages"],
  },
  {
    name: "a file in a message asks for no scope",
    file: UPLOADS,
    find: '    requireScope(request.caller, "attachments:write");\n',
    replace: "",
    tests: ["http/messages"],
  },
  {
    name: "a message has any number of files",
    file: UPLOADS,
    find: "if (files.length === MAX_MESSAGE_FILES) {",
    replace: "if (files.length < 0) {",
    tests: ["acceptance/message-files"],
  },
  {
    name: "the files of a retry are stored, beside the quota",
    file: SENDING,
    find: "    if (isRetry) upload.hashOnly();\n",
    replace: "",
    tests: ["http/messages"],
  },
  {
    name: "an Idempotency-Key does not stand for the files",
    file: SENDING,
    find: "fields, files.map(compared)]",
    replace: "fields]",
    tests: ["acceptance/message-files"],
  },
  {
    name: "any number of messages a minute",
    file: SENDING,
    find: "if (rate.isTooMuch(used)) {",
    replace: "if (used < 0) {",
    tests: ["http/messages"],
  },
  {
    name: "messages of one statement move a conversation to the oldest of them",
    file: "src/db/engines/postgres/bulk.ts",
    find: 'id COLLATE "C" DESC',
    replace: 'id COLLATE "C" ASC',
    tests: ["contract/lane"],
  },
  {
    name: "of the messages of one statement only the last sender has read",
    file: "src/db/queries/new-messages.ts",
    find: "FROM newest_found(sender_id, conversation_id)",
    replace: "FROM newest_found(conversation_id)",
    tests: ["contract/lane"],
  },
];
