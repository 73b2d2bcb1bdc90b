import {
  blockContact,
  contactFields,
  contactFilters,
  contactResource,
  createContact,
  deleteContact,
  getContact,
  listContacts,
  updateContact,
} from "../../../core/people/contacts.ts";
import { displayName, optional, pageFields, toPageRequest } from "../../../core/resource/fields.ts";
import { idOf } from "../../../core/resource/resource.ts";
import { expectedVersions, sendVersioned } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";
import { inTurns } from "../../protocol/turns.ts";

const id = { name: "contact_id", kind: "con", unknown: "contact_not_found" } as const;

/** Source, section 4.1. */
export const contactOperations: readonly Operation[] = [
  operation({
    name: "listContacts",
    method: "GET",
    path: "/v1/contacts",
    scope: "contacts:read",
    summary: "List contacts",
    query: { ...pageFields("con"), ...contactFilters },
    body: {},
    answer: { status: 200, page: contactResource },
    errors: [],
    async handle(call) {
      const { core, caller, query, request, reply } = call;
      const page = toPageRequest(query);
      const found = await inTurns(call, (turns) => listContacts(core, caller, page, turns));
      return sendPage(core, request, reply, page, found);
    },
  }),
  operation({
    name: "createContact",
    method: "POST",
    path: "/v1/contacts",
    scope: "contacts:write",
    summary: "Create a contact",
    query: {},
    body: contactFields,
    answer: { status: 201, resource: contactResource, versioned: true },
    errors: ["contact_exists", "count_limit_reached"],
    async handle({ core, caller, body, key, request, reply }) {
      const created = await createContact(core, caller, body, key);
      reply.header("location", `${core.origin()}/v1/contacts/${idOf(created.json)}`);
      return sendVersioned(request, reply, created);
    },
  }),
  operation({
    name: "retrieveContact",
    method: "GET",
    path: "/v1/contacts/:id",
    id,
    scope: "contacts:read",
    summary: "Retrieve a contact",
    query: {},
    body: {},
    answer: { status: 200, resource: contactResource, versioned: true },
    errors: ["contact_not_found", "precondition_failed"],
    handle: async ({ core, caller, id, request, reply }) =>
      sendVersioned(request, reply, await getContact(core, caller, id)),
  }),
  operation({
    name: "updateContact",
    method: "PUT",
    path: "/v1/contacts/:id",
    id,
    scope: "contacts:write",
    readScope: "contacts:read",
    summary: "Update a contact",
    query: {},
    body: { display_name: optional(displayName) },
    answer: { status: 200, resource: contactResource, versioned: true },
    errors: ["contact_not_found", "precondition_failed"],
    async handle({ core, caller, id, body, request, reply }) {
      const expected = expectedVersions(request);
      return sendVersioned(
        request,
        reply,
        await updateContact(core, caller, id, body.display_name, expected),
      );
    },
  }),
  operation({
    name: "deleteContact",
    method: "DELETE",
    path: "/v1/contacts/:id",
    id,
    scope: "contacts:write",
    summary: "Delete a contact and its conversation",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["contact_not_found", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteContact(core, caller, id, expectedVersions(request)),
  }),
  operation({
    name: "blockContact",
    method: "PUT",
    path: "/v1/contacts/:id/block",
    id,
    scope: "contacts:write",
    summary: "Block a contact: the caller receives nothing from it",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["contact_not_found"],
    handle: ({ core, caller, id }) => blockContact(core, caller, id, true),
  }),
  operation({
    name: "unblockContact",
    method: "DELETE",
    path: "/v1/contacts/:id/block",
    id,
    scope: "contacts:write",
    summary: "Unblock a contact",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["contact_not_found"],
    handle: ({ core, caller, id }) => blockContact(core, caller, id, false),
  }),
];
