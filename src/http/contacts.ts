import type { FastifyInstance } from "fastify";
import { createContact, deleteContact, getContact, listContacts, updateContact } from "../core/contacts.ts";
import type { Core } from "../core/core.ts";
import {
  avatarUrl,
  displayName,
  optional,
  pageFields,
  phoneNumber,
  readFields,
  toPageRequest,
  username,
} from "../core/fields.ts";
import { callerOf } from "./authentication.ts";
import { sendPage } from "./pages.ts";
import { bodyOf, pathId, queryOf, refuseBody, refuseQuery } from "./params.ts";

const listQuery = pageFields("con");
const createBody = {
  username,
  phone_number: phoneNumber,
  avatar_url: optional(avatarUrl),
  display_name: optional(displayName),
};
const updateBody = { display_name: optional(displayName) };

const read = { config: { scope: "contacts:read" } };
const write = { config: { scope: "contacts:write" } };

/** Source, section 4.1. */
export function contactRoutes(app: FastifyInstance, core: Core): void {
  app.get("/v1/contacts", read, async (request, reply) => {
    const page = toPageRequest(readFields(listQuery, queryOf(request)));
    return sendPage(core, request, reply, page, await listContacts(core, callerOf(request), page));
  });

  app.post("/v1/contacts", write, async (request, reply) => {
    refuseQuery(request);
    const contact = await createContact(core, callerOf(request), readFields(createBody, bodyOf(request)));
    reply.code(201).header("location", `/v1/contacts/${contact.id}`);
    return contact;
  });

  app.get("/v1/contacts/:id", read, (request) => {
    refuseQuery(request);
    return getContact(core, callerOf(request), pathId(request, "con", "contact_not_found"));
  });

  app.put("/v1/contacts/:id", write, (request) => {
    refuseQuery(request);
    const id = pathId(request, "con", "contact_not_found");
    return updateContact(core, callerOf(request), id, readFields(updateBody, bodyOf(request)));
  });

  app.delete("/v1/contacts/:id", write, async (request, reply) => {
    refuseQuery(request);
    refuseBody(request);
    await deleteContact(core, callerOf(request), pathId(request, "con", "contact_not_found"));
    reply.code(204);
  });
}
