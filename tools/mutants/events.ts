// What is told of messages and conversations, and to whom.
import type { Mutant } from "./mutant.ts";

const EVENTS = "src/db/queries/events.ts";
const MARKS = "src/db/queries/marks.ts";
const MESSAGES = "src/db/queries/messages.ts";
const HUB = "src/core/events/event-hub.ts";
const RENDER = "src/core/events/render.ts";

export const events: readonly Mutant[] = [
  {
    name: "events: none of an edit",
    file: MESSAGES,
    find: '    publishReference("message.updated", now, conversation_id, id, id),\n',
    replace: "",
    tests: ["contract/messages"],
  },
  {
    name: "events: none of a deleted message",
    file: MESSAGES,
    find: 'const statements = [publishReference("message.deleted", now, conversation_id, id, id)];',
    replace: "const statements: Statement[] = [];",
    tests: ["contract/messages"],
  },
  {
    name: "events: none of a message that is withdrawn",
    file: MESSAGES,
    find: '    ...publish("message.deleted", id),\n',
    replace: "",
    tests: ["contract/messages"],
  },
  {
    name: "events: none to the contact of a public read",
    file: MARKS,
    find: "[publish(mark.reader_id)]),",
    replace: "[]),",
    tests: ["contract/marks"],
  },
  {
    name: "events: a private read is told to the contact",
    file: MARKS,
    find: "disclosed === wasDisclosed || mark.reader_id === null ?",
    replace: "mark.reader_id === null ?",
    tests: ["contract/marks"],
  },
  {
    name: "events: settings that stay as they are are told",
    file: MARKS,
    find: "    if (isSame) return;\n",
    replace: "",
    tests: ["contract/marks"],
  },
  {
    name: "events: a new message alerts its sender",
    file: RENDER,
    find: "return sender_id !== userId && (!isMuted",
    replace: "return (!isMuted",
    tests: ["http/events-messages"],
  },
  {
    name: "events: a message of the system alerts",
    file: RENDER,
    find: 'if (type !== "text") return false;',
    replace: "",
    tests: ["http/groups"],
  },
  {
    name: "events: a muted conversation alerts",
    file: RENDER,
    find: "(!isMuted || (mentions",
    replace: "(isMuted || !isMuted || (mentions",
    tests: ["http/events-messages"],
  },
  {
    name: "events: a mention does not alert in a muted conversation",
    file: RENDER,
    find: '(mentions?.split(" ").includes(userId) ?? false)',
    replace: "(mentions === userId && false)",
    tests: ["http/events-messages"],
  },
  {
    name: "events: a mute has no end",
    file: MARKS,
    find: "AND muted_until > ${now}`",
    replace: "AND muted_until > 0 AND 0 < ${now}`",
    tests: ["contract/marks"],
  },
  {
    name: "events: every token that reads events reads messages",
    file: "src/core/events/shown-types.ts",
    find: '  message: "messages:read",\n',
    replace: "",
    tests: ["http/events-messages"],
  },
  {
    name: "events: every token that reads events reads groups",
    file: "src/core/events/shown-types.ts",
    find: '  group: "groups:read",\n',
    replace: "",
    tests: ["http/webhooks-groups"],
  },
  {
    name: "events: every token that reads events reads members",
    file: "src/core/events/shown-types.ts",
    find: '  member: "groups:read",\n',
    replace: "",
    tests: ["http/webhooks-groups"],
  },
  {
    name: "events: erased users are recipients of deletions",
    file: EVENTS,
    find: "      AND recipient_id NOT IN (SELECT user_id FROM erasing) ORDER BY position`",
    replace: "      ORDER BY position`",
    tests: ["contract/erasing"],
  },
  {
    name: "events: a delivery that nobody may see is sent",
    file: RENDER,
    find: "  if (userIds.length === 0) return undefined;\n",
    replace: "",
    tests: ["http/webhooks-all-users"],
  },
  {
    name: "events: streams that wait are sent what their users do not see",
    file: RENDER,
    find: "seeing.has(recipientId) ? found : undefined",
    replace: "found",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a message is read after those who see it",
    file: RENDER,
    find: "  return { json: json!, message, userIds };\n",
    replace: `  const late = await findAnyMessage(core.db, conversationId, messageId);
  const [lateJson] = await renderMessages(core, [late!]);
  return { json: lateJson ?? json!, message, userIds };\n`,
    tests: ["http/events-alike"],
  },
  {
    name: "events: streams that wait alert also where it is muted",
    file: RENDER,
    find: "mutedIds.has(recipientId)),\n  );",
    replace: "false),\n  );",
    tests: ["http/events-alike"],
  },
  {
    name: "events: streams that wait are sent all types",
    file: "src/http/routes/events.ts",
    find: "events.filter(({ type }) => !types || types.includes(type))",
    replace: "events",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a stream sends no heartbeats",
    file: "src/http/routes/events.ts",
    find: '        yield Buffer.from(":\\n\\n");\n',
    replace: "",
    tests: ["http/events-listeners"],
  },
  {
    name: "events: a stream is sent what was rendered, whether the rest was or not",
    file: HUB,
    find: " && events.length === rows.length",
    replace: "",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a stream is sent what does not come next",
    file: HUB,
    find: "rows[0]!.number - 1 === after && ",
    replace: "",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a stream is sent any number of events at once",
    file: HUB,
    find: " && areFew(row.recipient_id)",
    replace: "",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a stream is sent events although its token has ended",
    file: HUB,
    find: " && !(await this.#isAllowed(listener))",
    replace: " && false",
    tests: ["http/events-alike"],
  },
  {
    name: "events: webhooks of all users get contents, whatever the operator wants",
    file: RENDER,
    find: "  if (core.limits.webhookIdsOnly) return withPayload(head, onlyIds(event));\n",
    replace: "",
    tests: ["http/webhooks-all-users"],
  },
  {
    name: "events: webhooks of ids get groups that somebody is invited into",
    file: RENDER,
    find: "if (core.limits.webhookIdsOnly) return",
    replace: "if (core.limits.webhookIdsOnly && conversationId) return",
    tests: ["http/webhooks-all-users"],
  },
];
