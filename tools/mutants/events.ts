// What is told of messages and conversations, and to whom.
import type { Mutant } from "./mutant.ts";

export const events: readonly Mutant[] = [
  {
    name: "events: none of a message that is withdrawn",
    find: 'publish("message.deleted", id),',
    replace: "",
    tests: ["http/sharing-rules"],
  },
  {
    name: "events: a private read is told to the contact",
    find: "...(disclosed === wasDisclosed",
    replace: "...(disclosed === null",
    tests: ["contract/bulk"],
  },
  {
    name: "events: every token that reads events reads messages",
    find: 'scope: "messages:read", resource: messageResource,',
    replace: "resource: messageResource,",
    tests: ["http/events-messages"],
  },
  {
    name: "events: every token that reads events reads groups",
    find: 'scope: "groups:read", resource: groupResource,',
    replace: "resource: groupResource,",
    tests: ["http/webhooks-groups"],
  },
  {
    name: "events: streams that wait are sent what their users do not see",
    find: "seeing.has(recipientId) ? { json: show(recipientId), message } : undefined",
    replace: "{ json: show(recipientId), message }",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a message is read after those who see it",
    find: "return { show, message, userIds, senderId: message.sender_id };",
    replace:
      "const late = await findAnyMessage(core.db, conversationId, id); const lateShow = await renderMessageForAll(core, late!); return { show: lateShow, message, userIds, senderId: message.sender_id };",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a stream is sent events although its token has ended",
    find: "&& !(await this.#isAllowed(listener))",
    replace: "&& false",
    tests: ["http/events-alike"],
  },
  {
    name: "events: webhooks of all users get contents, whatever the operator wants",
    find: "if (core.limits.webhookIdsOnly) return withPayload(head, familyOf(type).toIds?.(event) ?? event.payload);",
    replace: "",
    tests: ["http/webhooks-all-users"],
  },
  {
    name: "events: webhooks of ids get groups that somebody is invited into",
    find: "if (core.limits.webhookIdsOnly) return",
    replace: "if (core.limits.webhookIdsOnly && conversationId) return",
    tests: ["http/webhooks-all-users"],
  },
];
