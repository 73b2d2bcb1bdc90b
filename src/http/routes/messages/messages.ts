import { RequestUploads } from "../../../core/files/upload-once.ts";
import { createMessage, messageFields } from "../../../core/messages/message-send.ts";
import {
  deleteMessage,
  getMessage,
  hideMessage,
  listMessages,
  messageAdditions,
  messageChanges,
  messageResource,
  updateMessage,
} from "../../../core/messages/messages.ts";
import { addReaction, removeReaction } from "../../../core/messages/reactions.ts";
import { listReaders } from "../../../core/messages/readers.ts";
import {
  choice,
  describedField,
  emoji,
  optional,
  reference,
  searchWord,
} from "../../../core/resource/fields.ts";
import { knownForm } from "../../../core/resource/known-form.ts";
import { cursor, pageFields } from "../../../core/resource/page.ts";
import { anyOf } from "../../../core/resource/schema.ts";
import { shownUserResource } from "../../../core/resource/senders.ts";
import { searchMessages } from "../../../core/search/search.ts";
import { ParleyError } from "../../../errors.ts";
import { requireScope } from "../../protocol/authentication.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { isForm, receiveMessage } from "../../protocol/forms.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "message_id", kind: "msg", unknown: "message_not_found" } as const;
const emojiInPath = { name: "emoji", field: emoji };

export const messageOperations: readonly Operation[] = [
  operation({
    name: "listMessages",
    method: "GET",
    path: "/v1/messages",
    scope: "messages:read",
    summary: "List the messages of a conversation, or search",
    query: {
      conversation_id: optional(
        describedField(
          reference("cnv"),
          "The conversation to list or search. Without it, q searches all of your conversations.",
        ),
      ),
      q: optional(
        describedField(
          searchWord,
          "Returns messages whose text has all of these words, in any order. The last word can be the beginning of one. At most 20 words.",
        ),
      ),
      ...pageFields("msg"),
      around: optional(
        describedField(
          cursor("msg"),
          "Returns this message between half a page of older and half a page of newer ones (msg_…).",
        ),
      ),
      ...messageAdditions,
    },
    answer: { status: 200, page: messageResource },
    errors: ["missing_parameter", "conversation_not_found"],
    handle: (call) =>
      sendPage(call, async (page, turns) => {
        const { core, caller, query } = call;
        const { conversation_id, q, around } = page;
        if (around !== undefined && (query.starting_after ?? query.ending_before) !== undefined) {
          throw new ParleyError("invalid_parameter", "Send around or another cursor, not both.", {
            param: "around",
          });
        }
        if (conversation_id !== undefined)
          knownForm(conversation_id, "cnv", "conversation_not_found", "conversation_id");
        if (q !== undefined) {
          if (around !== undefined) {
            throw new ParleyError("invalid_parameter", "Send around or q, not both.", { param: "around" });
          }
          return searchMessages(core, caller, { ...page, q }, turns);
        }
        if (conversation_id === undefined) {
          const detail = "Send conversation_id, or q to search all of your conversations.";
          throw new ParleyError("missing_parameter", detail, { param: "conversation_id" });
        }
        return listMessages(core, caller, { ...page, conversation_id });
      }),
  }),
  operation({
    name: "createMessage",
    method: "POST",
    path: "/v1/messages",
    scope: "messages:write",
    summary: "Send a message",
    body: messageFields,
    withFiles: true,
    isLong: true,
    answer: {
      status: 201,
      resource: messageResource,
      versioned: true,
      others: {
        200: {
          description: "The message that the caller has sent before with this `client_id`, as it is now.",
          content: { "application/json": anyOf(messageResource) },
          headers: ["ETag", "Idempotent-Replayed", "Location"],
        },
      },
    },
    errors: [
      "conversation_not_found",
      "message_not_found",
      "client_id_conflict",
      "metadata_not_removable",
      "file_too_large",
      "file_type_refused",
      "file_infected",
      "daily_limit_reached",
      "quota_exceeded",
      "disk_full",
    ],
    async handle({ core, caller, body, key, request, reply, limits }) {
      await using uploads = isForm(request) ? await RequestUploads.begin(core, caller, key) : undefined;
      const fields = uploads ? await receiveMessage(request, messageFields, uploads, limits) : body;
      const sent = await createMessage(core, caller, key, fields, uploads);
      if (sent.isSentBefore) reply.code(200);
      return sent;
    },
  }),
  operation({
    name: "retrieveMessage",
    method: "GET",
    path: "/v1/messages/:id",
    id,
    scope: "messages:read",
    summary: "Retrieve a message",
    query: messageAdditions,
    answer: { status: 200, resource: messageResource, versioned: true },
    errors: ["message_not_found", "precondition_failed"],
    handle: ({ core, caller, id, query }) => getMessage(core, caller, id, query),
  }),
  operation({
    name: "updateMessage",
    method: "PUT",
    path: "/v1/messages/:id",
    id,
    scope: "messages:write",
    readScope: "messages:read",
    summary: "Edit a message",
    body: messageChanges,
    isLong: true,
    answer: { status: 200, resource: messageResource, versioned: true },
    errors: ["message_not_found", "not_sender", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateMessage(core, caller, id, body, expectedVersions(request)),
  }),
  operation({
    name: "deleteMessage",
    method: "DELETE",
    path: "/v1/messages/:id",
    id,
    scope: "messages:write",
    orAdmin: true,
    summary: "Delete a message and its files",
    query: {
      for: optional(
        describedField(choice("me"), "`me` deletes a message of any sender, for the caller alone."),
      ),
    },
    answer: { status: 204 },
    errors: ["message_not_found", "not_sender", "precondition_failed"],
    async handle({ core, caller, id, query, request }) {
      const expected = expectedVersions(request);
      if (query.for === undefined) return deleteMessage(core, caller, id, expected);
      requireScope(caller, "messages:write");
      return hideMessage(core, caller, id, expected);
    },
  }),
  operation({
    name: "listReaders",
    method: "GET",
    path: "/v1/messages/:id/readers",
    id,
    scope: "messages:read",
    summary: "List the users who have read a message",
    query: pageFields("usr"),
    answer: { status: 200, page: shownUserResource },
    errors: ["message_not_found"],
    handle: (call) => sendPage(call, (page) => listReaders(call.core, call.caller, call.id, page)),
  }),
  operation({
    name: "addReaction",
    method: "PUT",
    path: "/v1/messages/:id/reactions/:emoji",
    id,
    pathField: emojiInPath,
    scope: "messages:write",
    summary: "React to a message with an emoji",
    answer: { status: 204 },
    errors: ["invalid_parameter", "message_not_found", "count_limit_reached"],
    handle: ({ core, caller, id, pathValue }) => addReaction(core, caller, id, pathValue),
  }),
  operation({
    name: "removeReaction",
    method: "DELETE",
    path: "/v1/messages/:id/reactions/:emoji",
    id,
    pathField: emojiInPath,
    scope: "messages:write",
    summary: "Remove your reaction with an emoji",
    answer: { status: 204 },
    errors: ["invalid_parameter", "message_not_found"],
    handle: ({ core, caller, id, pathValue }) => removeReaction(core, caller, id, pathValue),
  }),
];
