// Events of messages and conversations, and who gets them.
import type { Mutant } from "./mutant.ts";

export const events: readonly Mutant[] = [
  {
    name: "events: a withdrawn message has no event",
    find: 'publish("message.deleted", id),',
    replace: "",
    tests: ["http/sharing-rules"],
  },
  {
    name: "events: the contact gets an event of a private read",
    find: "...(disclosed === wasDisclosed",
    replace: "...(disclosed === null",
    tests: ["contract/bulk"],
  },
  {
    name: "events: events of messages need no messages:read",
    find: 'scopes: ["messages:read"], resource: messageResource,',
    replace: "resource: messageResource,",
    tests: ["http/events-messages"],
  },
  {
    name: "events: events of groups need no groups:read",
    find: 'scopes: ["groups:read"], resource: groupResource,',
    replace: "resource: groupResource,",
    tests: ["http/webhooks-groups"],
  },
  {
    name: "events: waiting streams get messages that their users do not see",
    find: "seeing.has(recipientId) ? { json: show(recipientId), message } : undefined",
    replace: "{ json: show(recipientId), message }",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a message is read after its recipients",
    find: "return { show, message, userIds, senderId: message.sender_id };",
    replace:
      "const late = await findAnyMessage(core.db, conversationId, id); const lateShow = await renderMessageForAll(core, late!); return { show: lateShow, message, userIds, senderId: message.sender_id };",
    tests: ["http/events-alike"],
  },
  {
    name: "events: a stream gets events after its token ended",
    find: "&& !(await this.#isAllowed(listener))",
    replace: "&& false",
    tests: ["http/events-alike"],
  },
  {
    name: "events: the sequence in a webhook counts the events of all users",
    find: "isTest ? null : numberOfEvent(id)",
    replace: "isTest ? null : position",
    tests: ["http/webhooks"],
  },
  {
    name: "events: all-users webhooks get content with PARLEY_WEBHOOK_CONTENT=ids",
    find: "if (core.limits.webhookIdsOnly) return withPayload(head, familyOf(type).toIds?.(event) ?? event.payload);",
    replace: "",
    tests: ["http/webhooks-all-users"],
  },
  {
    name: "events: all-users webhooks get groups of invitations with PARLEY_WEBHOOK_CONTENT=ids",
    find: "if (core.limits.webhookIdsOnly) return",
    replace: "if (core.limits.webhookIdsOnly && conversationId) return",
    tests: ["http/webhooks-all-users"],
  },
];
