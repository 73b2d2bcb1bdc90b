import { announceTyping } from "../../../core/events/typing.ts";
import {
  conversationResource,
  conversationSettings,
  getConversation,
  inboxFilters,
  listConversations,
  markRead,
  readFields,
  updateConversation,
} from "../../../core/messages/conversations.ts";
import { inboxPageFields } from "../../../core/resource/page.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "conversation_id", kind: "cnv", unknown: "conversation_not_found" } as const;

export const conversationOperations: readonly Operation[] = [
  operation({
    name: "listConversations",
    method: "GET",
    path: "/v1/conversations",
    scope: "messages:read",
    summary: "List conversations, most recent activity first",
    query: { ...inboxPageFields, ...inboxFilters },
    answer: { status: 200, page: conversationResource },
    handle: (call) => sendPage(call, (page, turns) => listConversations(call.core, call.caller, page, turns)),
  }),
  operation({
    name: "retrieveConversation",
    method: "GET",
    path: "/v1/conversations/:id",
    id,
    scope: "messages:read",
    summary: "Retrieve a conversation",
    answer: { status: 200, resource: conversationResource, versioned: true },
    errors: ["conversation_not_found", "precondition_failed"],
    handle: ({ core, caller, id }) => getConversation(core, caller, id),
  }),
  operation({
    name: "updateConversation",
    method: "PUT",
    path: "/v1/conversations/:id",
    id,
    scope: "messages:write",
    readScope: "messages:read",
    showsOthers: true,
    summary: "Change your settings of a conversation",
    body: conversationSettings,
    answer: { status: 200, resource: conversationResource, versioned: true },
    errors: ["conversation_not_found", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateConversation(core, caller, id, body, expectedVersions(request)),
  }),
  operation({
    name: "markConversationRead",
    method: "PUT",
    path: "/v1/conversations/:id/read",
    id,
    scope: "messages:write",
    summary: "Mark a conversation as read up to a message",
    body: readFields,
    answer: { status: 204 },
    errors: ["missing_parameter", "conversation_not_found", "message_not_found"],
    handle: ({ core, caller, id, body }) => markRead(core, caller, id, body),
  }),
  operation({
    name: "announceTyping",
    method: "POST",
    path: "/v1/conversations/:id/typing",
    id,
    scope: "messages:write",
    summary: "Show the other members that you are typing",
    storesNothing: true,
    answer: { status: 204 },
    errors: ["conversation_not_found"],
    handle: ({ core, caller, id }) => announceTyping(core, caller, id),
  }),
];
