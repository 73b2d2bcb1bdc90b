import {
  type ContactFilter,
  type ContactRow,
  findContact,
  listContacts as listContactRows,
} from "../db/contacts.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { phoneDigits, searchKey, usernameKey } from "../util/text.ts";
import type { Caller } from "./caller.ts";
import type { Core } from "./core.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";
import type { Expected, Versioned } from "./resource.ts";

/** Source, section 2.1, in the order in which it is stored and served. Times are Unix seconds. */
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
export async function createContact(core: Core, caller: Caller, fields: ContactFields): Promise<Versioned> {
  const createdAt = core.clock();
  const contact: Contact = {
    id: core.newId("con"),
    username: fields.username,
    phone_number: fields.phone_number,
    avatar_url: fields.avatar_url ?? null,
    display_name: fields.display_name ?? null,
    conversation_id: core.newId("cnv"),
    last_active_at: null,
    created_at: toSeconds(createdAt),
  };
  const body = JSON.stringify(contact);
  await core.db.write("createContact", {
    id: contact.id,
    ownerId: caller.userId,
    usernameKey: usernameKey(contact.username),
    phoneDigits: phoneDigits(contact.phone_number),
    searchKey: searchKey(contact.username, contact.display_name),
    conversationId: contact.conversation_id,
    body,
    createdAt,
  });
  return versioned([body, 1]);
}

/** What a list of contacts can be narrowed to. */
interface ContactChoice {
  username?: string | undefined;
  phone_number?: string | undefined;
  /** The beginning of a word of the username or the display name. */
  q?: string | undefined;
  /** True: not blocked. False: blocked. */
  active?: boolean | undefined;
}

export async function listContacts(
  core: Core,
  caller: Caller,
  request: PageRequest & ContactChoice,
): Promise<PageOf> {
  const page = pageQuery(request);
  const filter: ContactFilter = {
    usernameKey: request.username === undefined ? undefined : usernameKey(request.username),
    phoneDigits: request.phone_number === undefined ? undefined : phoneDigits(request.phone_number),
    // Nothing but punctuation is the beginning of every word.
    wordPrefix: (request.q && searchKey(request.q).slice(1)) || undefined,
    blocked: request.active === undefined ? undefined : !request.active,
  };
  return pageOf(page, await listContactRows(core.db, caller.userId, filter, page), (body) => body);
}

/** Throws `contact_not_found`, also for a contact of somebody else. */
export async function getContact(core: Core, caller: Caller, id: string): Promise<Versioned> {
  const row = await findContact(core.db, caller.userId, id);
  if (!row) throw new ParleyError("contact_not_found");
  return versioned(row);
}

/** Sets the display name, the only attribute that can be updated; without it nothing changes. */
export async function updateContact(
  core: Core,
  caller: Caller,
  id: string,
  displayName: string | null | undefined,
  expected: Expected,
): Promise<Versioned> {
  const input = { ownerId: caller.userId, id, displayName, expected };
  return versioned(await core.db.write("updateContact", input));
}

/** Deletes the contact and, for the caller, the conversation with it. Throws `contact_not_found`. */
export async function deleteContact(
  core: Core,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  await core.db.write("deleteContact", { ownerId: caller.userId, id, deletedAt: core.clock(), expected });
  core.wakeEraser();
}

function versioned([body, version]: ContactRow): Versioned {
  return { json: body, version: String(version) };
}
