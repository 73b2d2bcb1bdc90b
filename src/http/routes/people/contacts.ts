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
import { displayName, optional } from "../../../core/resource/fields.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "contact_id", kind: "con", unknown: "contact_not_found" } as const;

/** Declares the operations of contacts. */
export const contactOperations: readonly Operation[] = [
  operation({
    name: "listContacts",
    method: "GET",
    path: "/v1/contacts",
    scope: "contacts:read",
    summary: "List contacts",
    query: { ...pageFields("con"), ...contactFilters },
    answer: { status: 200, page: contactResource },
    handle: (call) => sendPage(call, (page, turns) => listContacts(call.core, call.caller, page, turns)),
  }),
  operation({
    name: "createContact",
    method: "POST",
    path: "/v1/contacts",
    scope: "contacts:write",
    summary: "Create a contact",
    body: contactFields,
    answer: { status: 201, resource: contactResource, versioned: true },
    errors: ["contact_exists", "count_limit_reached", "user_not_found"],
    handle: ({ core, caller, body, key }) => createContact(core, caller, body, key),
  }),
  operation({
    name: "retrieveContact",
    method: "GET",
    path: "/v1/contacts/:id",
    id,
    scope: "contacts:read",
    summary: "Retrieve a contact",
    answer: { status: 200, resource: contactResource, versioned: true },
    errors: ["contact_not_found", "precondition_failed"],
    handle: ({ core, caller, id }) => getContact(core, caller, id),
  }),
  operation({
    name: "updateContact",
    method: "PUT",
    path: "/v1/contacts/:id",
    id,
    scope: "contacts:write",
    readScope: "contacts:read",
    summary: "Update a contact",
    body: { display_name: optional(displayName) },
    answer: { status: 200, resource: contactResource, versioned: true },
    errors: ["contact_not_found", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateContact(core, caller, id, body.display_name, expectedVersions(request)),
  }),
  operation({
    name: "deleteContact",
    method: "DELETE",
    path: "/v1/contacts/:id",
    id,
    scope: "contacts:write",
    summary: "Delete a contact and its conversation",
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
    answer: { status: 204 },
    errors: ["contact_not_found"],
    handle: ({ core, caller, id }) => blockContact(core, caller, id, false),
  }),
];
