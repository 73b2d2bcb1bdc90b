import {
  type ContactFilter,
  type ContactRow,
  findContact,
  listContacts as listContactRows,
} from "../db/contacts.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { phoneDigits, searchKey, usernameKey } from "../util/text.ts";
import type { Core } from "./core.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";
import type { Caller } from "./tokens.ts";
import type { Expected, Versioned } from "./versioned.ts";

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
export async function createContact(
  core: Core,
  caller: Caller,
  fields: ContactFields,
): Promise<Versioned<Contact>> {
  const row: ContactRow = {
    id: core.newId("con"),
    username: fields.username,
    phone_number: fields.phone_number,
    avatar_url: fields.avatar_url ?? null,
    display_name: fields.display_name ?? null,
    conversation_id: core.newId("cnv"),
    created_at: core.clock(),
    version: 1,
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
    searchKey: searchKey(row.username, row.display_name),
    conversationId: row.conversation_id,
    createdAt: row.created_at,
  });
  return versioned(row);
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
): Promise<PageOf<Contact>> {
  const page = pageQuery(request);
  const filter: ContactFilter = {
    usernameKey: request.username === undefined ? undefined : usernameKey(request.username),
    phoneDigits: request.phone_number === undefined ? undefined : phoneDigits(request.phone_number),
    // Nothing but punctuation is the beginning of every word.
    wordPrefix: searchKey(request.q ?? "").slice(1) || undefined,
    blocked: request.active === undefined ? undefined : !request.active,
  };
  return pageOf(page, await listContactRows(core.db, caller.userId, filter, page), contactOf);
}

/** Throws `contact_not_found`, also for a contact of somebody else. */
export async function getContact(core: Core, caller: Caller, id: string): Promise<Versioned<Contact>> {
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
): Promise<Versioned<Contact>> {
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

function versioned(row: ContactRow): Versioned<Contact> {
  return { resource: contactOf(row), version: String(row.version) };
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
