import { type ContactRow, findContact, listContacts as listContactRows } from "../db/contacts.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { phoneDigits, usernameKey } from "../util/text.ts";
import type { Core } from "./core.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";
import type { Caller } from "./tokens.ts";

/** Source, section 2.1. Times are Unix seconds. */
interface Contact {
  id: string;
  username: string;
  phone_number: string;
  avatar_url: string | null;
  display_name: string | null;
  conversation_id: string;
  last_active_at: number | null;
  created_at: number;
}

interface ContactFields {
  username: string;
  phone_number: string;
  avatar_url?: string | null | undefined;
  display_name?: string | null | undefined;
}

/** Throws `contact_exists` with the existing id where the caller has a contact of that username. */
export async function createContact(core: Core, caller: Caller, fields: ContactFields): Promise<Contact> {
  const row: ContactRow = {
    id: core.newId("con"),
    username: fields.username,
    phone_number: fields.phone_number,
    avatar_url: fields.avatar_url ?? null,
    display_name: fields.display_name ?? null,
    conversation_id: core.newId("cnv"),
    created_at: core.clock(),
  };
  await core.db.write("createContact", {
    id: row.id,
    ownerId: caller.userId,
    username: row.username,
    usernameKey: usernameKey(row.username),
    phoneNumber: row.phone_number,
    phoneDigits: phoneDigits(row.phone_number),
    avatarUrl: row.avatar_url,
    displayName: row.display_name,
    conversationId: row.conversation_id,
    createdAt: row.created_at,
  });
  return contactOf(row);
}

export async function listContacts(
  core: Core,
  caller: Caller,
  request: PageRequest,
): Promise<PageOf<Contact>> {
  const page = pageQuery(request);
  return pageOf(page, await listContactRows(core.db, caller.userId, page), contactOf);
}

/** Throws `contact_not_found`, also for a contact of somebody else. */
export async function getContact(core: Core, caller: Caller, id: string): Promise<Contact> {
  return contactOf(found(await findContact(core.db, caller.userId, id)));
}

/** Sets the display name, the only attribute that can be updated; without it nothing changes. */
export async function updateContact(
  core: Core,
  caller: Caller,
  id: string,
  fields: { display_name?: string | null | undefined },
): Promise<Contact> {
  if (fields.display_name === undefined) return getContact(core, caller, id);
  return contactOf(
    found(
      await core.db.write("updateContact", { ownerId: caller.userId, id, displayName: fields.display_name }),
    ),
  );
}

/** Deletes the contact and, for the caller, the conversation with it. Throws `contact_not_found`. */
export async function deleteContact(core: Core, caller: Caller, id: string): Promise<void> {
  const deleted = await core.db.write("deleteContact", {
    ownerId: caller.userId,
    id,
    deletedAt: core.clock(),
  });
  if (!deleted) throw new ParleyError("contact_not_found");
  core.wakeEraser();
}

function found(row: ContactRow | undefined): ContactRow {
  if (!row) throw new ParleyError("contact_not_found");
  return row;
}

function contactOf(row: ContactRow): Contact {
  return {
    id: row.id,
    username: row.username,
    phone_number: row.phone_number,
    avatar_url: row.avatar_url,
    display_name: row.display_name,
    conversation_id: row.conversation_id,
    last_active_at: null,
    created_at: toSeconds(row.created_at),
  };
}
