// What is told of messages and conversations, and to whom.
import type { Mutant } from "./mutant.ts";

const EVENTS = "src/db/queries/events/events.ts";
const MARKS = "src/db/queries/messages/marks.ts";
const MESSAGES = "src/db/queries/messages/message-read.ts";
const HUB = "src/core/node/event-hub.ts";
const FAMILIES = "src/core/events/event-families.ts";
const RENDER = "src/core/events/event-render.ts";
const STREAM = "src/http/protocol/event-stream.ts";

export const events: readonly Mutant[] = [
  {
    name: "events: none of an edit",
    file: MESSAGES,
    find: '    publishReference("message.updated", now, conversation_id, id, id),\n',
    replace: "",
    tests: ["contract/messages/messages"],
  },
  {
    name: "events: none of a deleted message",
    file: MESSAGES,
    find: 'const statements = [publishReference("message.deleted", now, conversation_id, id, id)];',
    replace: "const statements: Statement[] = [];",
    tests: ["contract/messages/messages"],
  },
  {
    name: "events: none of a message that is withdrawn",
    file: "src/db/queries/messages/message-withhold.ts",
    find: '    publish("message.deleted", id),\n',
    replace: "",
    tests: ["contract/messages/messages"],
  },
  {
    name: "events: none to the contact of a public read",
    file: MARKS,
    find: "WHERE r.id IS NOT NULL",
    replace: "WHERE r.id IS NULL",
    tests: ["contract/messages/marks"],
  },
  {
    name: "events: a private read is told to the contact",
    file: MARKS,
    find: "...(disclosed === wasDisclosed\n",
    replace: "...(disclosed === null\n",
    tests: ["contract/messages/marks"],
  },
  {
    name: "events: settings that stay as they are are told",
    file: MARKS,
    find: "    if (isSame) return;\n",
    replace: "",
    tests: ["contract/messages/marks"],
  },
  {
    name: "events: a new message alerts its sender",
    file: RENDER,
    find: 'type !== "text" || sender_id === userId',
    replace: 'type !== "text"',
    tests: ["http/events/events-messages"],
  },
  {
    name: "events: a message of the system alerts",
    file: RENDER,
    find: 'type !== "text" || sender_id === userId',
    replace: "sender_id === userId",
    tests: ["http/groups/groups"],
  },
  {
    name: "events: a muted conversation alerts",
    file: RENDER,
    find: "eventType === NEW && !isMuted",
    replace: "eventType === NEW",
    tests: ["http/events/events-messages"],
  },
  {
    name: "events: a mention does not alert in a muted conversation",
    file: RENDER,
    find: '(mentions?.split(" ").includes(userId) ?? false)',
    replace: "(mentions === userId && false)",
    tests: ["http/events/events-messages"],
  },
  {
    name: "events: a mute has no end",
    file: MARKS,
    find: "AND muted_until > ${now}`",
    replace: "AND muted_until > 0 AND 0 < ${now}`",
    tests: ["contract/messages/marks"],
  },
  {
    name: "events: every token that reads events reads messages",
    file: FAMILIES,
    find: '    scope: "messages:read",\n    resource: messageResource,',
    replace: "    resource: messageResource,",
    tests: ["http/events/events-messages"],
  },
  {
    name: "events: every token that reads events reads groups",
    file: FAMILIES,
    find: '    scope: "groups:read",\n    resource: groupResource,',
    replace: "    resource: groupResource,",
    tests: ["http/webhooks/webhooks-groups"],
  },
  {
    name: "events: every token that reads events reads members",
    file: FAMILIES,
    find: '    scope: "groups:read",\n    resource: memberResource,',
    replace: "    resource: memberResource,",
    tests: ["http/webhooks/webhooks-groups"],
  },
  {
    name: "events: erased users are recipients of deletions",
    file: EVENTS,
    find: "      AND recipient_id NOT IN (SELECT user_id FROM erasing) ORDER BY position`",
    replace: "      ORDER BY position`",
    tests: ["contract/upkeep/erasing"],
  },
  {
    name: "events: a delivery that nobody may see is sent",
    file: RENDER,
    find: "  if (userIds.length === 0) return undefined;\n",
    replace: "",
    tests: ["http/webhooks/webhooks-all-users"],
  },
  {
    name: "events: streams that wait are sent what their users do not see",
    file: RENDER,
    find: "seeing.has(recipientId) ? { json: show(recipientId), message } : undefined",
    replace: "{ json: show(recipientId), message }",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a message is read after those who see it",
    file: FAMILIES,
    find: "      return { show, message, userIds, senderId: message.sender_id };\n",
    replace: `      const late = await findAnyMessage(core.db, conversationId, id);
      const lateShow = await renderMessageForAll(core, late!);
      return { show: lateShow, message, userIds, senderId: message.sender_id };\n`,
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: an edit alerts those whom the message mentions",
    file: RENDER,
    find: "return isAlert(eventType) && (mentions",
    replace: "return (mentions",
    tests: ["http/webhooks/webhooks-all-users"],
  },
  {
    name: "events: streams that wait alert also where it is muted",
    file: RENDER,
    find: "render(event, recipientId, seen, mutedIds.has(recipientId));",
    replace: "render(event, recipientId, seen, false);",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: streams that wait are sent all types",
    file: STREAM,
    find: "events.filter(({ type }) => !types || types.includes(type))",
    replace: "events",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream sends no heartbeats",
    file: STREAM,
    find: '      return this.#write(":\\n\\n");\n',
    replace: "      return;\n",
    tests: ["http/events/events-listeners"],
  },
  {
    name: "events: a client that reads nothing is not cut",
    file: STREAM,
    find: "setTimeout(() => this.#response.destroy(), this",
    replace: "setTimeout(() => {}, this",
    tests: ["http/events/events-listeners"],
  },
  {
    name: "events: a stream is sent what was rendered, whether the rest was or not",
    file: HUB,
    find: " && events.length === next.length",
    replace: "",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream is sent what does not come next",
    file: HUB,
    find: "next[0]!.number - 1 === after && ",
    replace: "",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream that has moved on meanwhile is sent what it has read",
    file: HUB,
    find: " && listener.waitsAfter() === after",
    replace: "",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream is told to read only the first of several events",
    file: HUB,
    find: "listener.wake(upTo)",
    replace: "listener.wake(next[0]!.number)",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream that is ahead reads again",
    file: HUB,
    find: "rows.filter(({ number }) => number > after)",
    replace: "rows",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream is sent any number of events at once",
    file: HUB,
    find: " && areFew(row.recipient_id)",
    replace: "",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: a stream is sent events although its token has ended",
    file: HUB,
    find: " && !(await this.#isAllowed(listener))",
    replace: " && false",
    tests: ["http/events/events-alike"],
  },
  {
    name: "events: webhooks of all users get contents, whatever the operator wants",
    file: RENDER,
    find: "  if (core.limits.webhookIdsOnly) return withPayload(head, familyOf(type).toIds?.(event) ?? event.payload);\n",
    replace: "",
    tests: ["http/webhooks/webhooks-all-users"],
  },
  {
    name: "events: webhooks of ids get groups that somebody is invited into",
    file: RENDER,
    find: "if (core.limits.webhookIdsOnly) return",
    replace: "if (core.limits.webhookIdsOnly && conversationId) return",
    tests: ["http/webhooks/webhooks-all-users"],
  },
];
