import {
  type ContactFilter,
  type ContactRow,
  contactOf,
  findContact,
  type ListedContact,
  lastActive,
  listContacts as listContactRows,
} from "../db/contacts.ts";
import { ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { phoneDigits, searchKey, usernameKey } from "../util/text.ts";
import { actOf } from "./audit.ts";
import type { Caller } from "./caller.ts";
import type { Core } from "./core.ts";
import { onceOf, writeOnce } from "./idempotency.ts";
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

/**
 * Throws `contact_exists` with the existing id where the caller has a contact of that username, and `count_limit_reached`.
 * A request with a key is done once.
 */
export async function createContact(
  core: Core,
  caller: Caller,
  fields: ContactFields,
  key?: string,
): Promise<Versioned> {
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
  const once = onceOf(core, caller, key, "createContact", fields);
  const { result, replayed } = await writeOnce(core, once, "createContact", {
    id: contact.id,
    ownerId: caller.userId,
    usernameKey: usernameKey(contact.username),
    phoneDigits: phoneDigits(contact.phone_number),
    searchKey: searchKey(contact.username, contact.display_name),
    conversationId: contact.conversation_id,
    body: JSON.stringify(contact),
    createdAt,
    maxContacts: core.limits.maxContacts,
    actId: core.newId("aud"),
    tokenId: caller.tokenId,
  });
  return { json: result, version: "1", replayed };
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
  return pageOf(page, await listContactRows(core.db, caller.userId, filter, page), contactOf);
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
  const input = { ownerId: caller.userId, id, displayName, expected, act: actOf(core, caller) };
  return versioned(await core.db.write("updateContact", input));
}

/** Deletes the contact and, for the caller, the conversation with it. Throws `contact_not_found`. */
export async function deleteContact(
  core: Core,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const act = actOf(core, caller);
  await core.db.write("deleteContact", { ownerId: caller.userId, id, deletedAt: act.at, expected, act });
  core.wakeEraser();
}

/** What the contact sends from now on does not reach the caller, or does again. Throws `contact_not_found`. */
export async function blockContact(core: Core, caller: Caller, id: string, blocked: boolean): Promise<void> {
  const blockedAt = blocked ? core.clock() : null;
  await core.db.write("blockContact", { ownerId: caller.userId, id, blockedAt });
}

function versioned([body, seenAt, since, version]: ContactRow): Versioned {
  const listed: ListedContact = [body, seenAt, since];
  const seen = lastActive(listed);
  // What is told of the contact changes without a change of the row.
  return { json: contactOf(listed), version: seen === null ? `${version}` : `${version}-${seen}` };
}
