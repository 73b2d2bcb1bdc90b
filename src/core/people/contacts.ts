import {
  type ContactFilter,
  findContactAfter,
  listContacts as listContactRows,
  mustSearch,
  searchContacts as searchContactRows,
} from "../../db/queries/people/contact-lists.ts";
import {
  type ContactRow,
  findContact,
  findContacts,
  findPeerProfiles,
  type ListedContact,
  toContact,
} from "../../db/queries/people/contact-rows.ts";
import type { CreateContact } from "../../db/queries/people/contacts.ts";
import type { QuickReader } from "../../db/sql.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { JsonObject } from "../../util/json-object.ts";
import {
  phoneDigits,
  searchDigits,
  searchKey,
  searchPart,
  searchWords,
  usernameKey,
} from "../../util/text.ts";
import { type Caller, demandScope } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { newEntry, writeActed } from "../record/audit-trail.ts";
import { writeIdempotent } from "../record/idempotency.ts";
import {
  avatarUrl,
  describedField,
  displayName,
  missingField,
  nameWords,
  newUsername,
  optional,
  type Parsed,
  phoneNumber,
  trueOrFalse,
  username,
} from "../resource/fields.ts";
import { type Page, type PageEnvelope, toPage, walkPages } from "../resource/page.ts";
import {
  type Expected,
  idOf,
  readBack,
  type Versioned,
  versioned as withDigest,
} from "../resource/resource.ts";
import { described, id, orNull, resource, type TypeOf, text, textOrNull, time } from "../resource/schema.ts";
import { type Origin, toPeer } from "../resource/senders.ts";
import { ROWS_PER_TURN, type Turns } from "../resource/turns.ts";

/** Source document, section 2.1, in the order of the stored JSON, in which `profile_name` is missing. */
export const contactResource = resource("Contact", {
  id: id("con"),
  username: text,
  phone_number: text,
  avatar_url: textOrNull,
  display_name: described(textOrNull, "Null if none is set; show `profile_name` or the username instead."),
  profile_name: described(
    textOrNull,
    "The display name that the user with this username has chosen; null if unknown, as `last_active_at` is.",
  ),
  conversation_id: id("cnv"),
  last_active_at: described(orNull(time), "Unix seconds, UTC. Null if unknown, as for a new contact."),
  created_at: time,
});
type Contact = TypeOf<typeof contactResource>;

/** The fields of a new contact. */
export const contactFields = {
  username: newUsername,
  phone_number: optional(
    describedField(
      phoneNumber,
      "Required, unless `mutual` is true: then that of the user, or an empty text if the user has none or one of you blocks the other.",
    ),
  ),
  avatar_url: optional(avatarUrl),
  display_name: optional(displayName),
  mutual: optional(
    describedField(
      trueOrFalse,
      "True also gives the user of that name the caller as a contact. Needs the scopes `act_as` and `contacts:read`.",
    ),
  ),
  blocked: optional(
    describedField(
      trueOrFalse,
      "True blocks the contact at once; otherwise a block of this username is lifted.",
    ),
  ),
};

/** The filters of a list of contacts. */
export const contactFilters = {
  username: optional(username),
  phone_number: optional(phoneNumber),
  q: optional(
    describedField(
      nameWords,
      "The beginnings of words of the username and the display name, in any order, or three or more digits of the phone number. An international number (+ or 00) also finds its national form, and the reverse.",
    ),
  ),
  active: optional(
    describedField(trueOrFalse, "True selects contacts that are not blocked, false blocked ones."),
  ),
};

/**
 * Creates a contact. With `mutual` the user of that name also gets the caller as a contact; this needs the scopes `act_as` and
 * `contacts:read`. Throws `invalid_parameter` for the caller's own name, `count_limit_reached`, `insufficient_scope`,
 * `user_not_found` if it is mutual, and `contact_exists` if the caller has a contact with that username; the error has its id if
 * the caller may read contacts. A request with an Idempotency-Key is idempotent.
 */
export async function createContact(
  core: DataAccess,
  caller: Caller,
  fields: Parsed<typeof contactFields>,
  key?: string,
): Promise<Versioned> {
  const { mutual = false, phone_number: phoneNumber } = fields;
  if (mutual) {
    demandScope(caller, "act_as", "mutual");
    // The answer may be a contact from before, or have the phone number of the user.
    demandScope(caller, "contacts:read", "mutual");
  } else if (phoneNumber === undefined) throw missingField("phone_number", contactFields.phone_number);
  const { contact, input } = newContact(core, caller, fields);
  const asked = { caller, key, asked: ["createContact", fields] };
  try {
    if (!mutual) {
      const { result, replayed } = await writeIdempotent(core, asked, "createContact", input);
      const { is_added_back, ...made } = result;
      // If both have each other, it may show their profile.
      const isMutual = is_added_back || made.conversation_id !== contact.conversation_id;
      const mayShow = isMutual && mayRead(caller);
      const profile = mayShow ? await readBack(findPeerProfile(core, caller, made.id)) : null;
      return {
        ...versioned(core, [JSON.stringify({ ...contact, ...made }), null, profile, 1]),
        replayed,
      };
    }
    const both = { contact: input, phoneNumber };
    const { result, replayed } = await writeIdempotent(core, asked, "createMutualContact", both);
    return { ...(await readBack(getContact(core, caller, result.id))), replayed };
  } catch (error) {
    const isHidden = error instanceof ParleyError && error.code === "contact_exists" && !mayRead(caller);
    throw isHidden ? new ParleyError(error.code, error.message, { param: "username" }) : error;
  }
}

/** Fills in ids and times of a new contact. */
function newContact(
  core: DataAccess,
  caller: Caller,
  fields: Parsed<typeof contactFields>,
): { contact: Omit<Contact, "profile_name">; input: CreateContact } {
  const createdAt = core.clock();
  const contact: Omit<Contact, "profile_name"> = {
    id: core.newId("con"),
    username: fields.username,
    phone_number: fields.phone_number ?? "",
    avatar_url: fields.avatar_url ?? null,
    display_name: fields.display_name ?? null,
    conversation_id: core.newId("cnv"),
    last_active_at: null,
    created_at: toSeconds(createdAt),
  };
  const input = {
    id: contact.id,
    ownerId: caller.userId,
    usernameKey: usernameKey(contact.username),
    phoneDigits: phoneDigits(contact.phone_number),
    searchKey: searchKey(contact.username, contact.display_name),
    conversationId: contact.conversation_id,
    body: JSON.stringify(contact),
    createdAt,
    blocked: fields.blocked ?? false,
    positionId: contact.conversation_id,
    limit: core.limits.erasedRowsAtOnce,
    maxContacts: core.limits.maxContacts,
    actId: core.newId("aud"),
    tokenId: caller.tokenId,
    actedById: caller.actedById,
  };
  return { contact, input };
}

async function findPeerProfile({ db }: DataAccess, { userId }: Caller, id: string): Promise<string | null> {
  return (await findPeerProfiles(db, userId, [id])).get(id) ?? null;
}

function mayRead({ scopes }: Caller): boolean {
  return scopes.has("contacts:read");
}

export async function listContacts(
  core: DataAccess,
  caller: Caller,
  request: Page & Parsed<typeof contactFilters>,
  turns: Turns,
): Promise<PageEnvelope> {
  const filter: ContactFilter = {
    usernameKey: request.username === undefined ? undefined : usernameKey(request.username),
    phoneDigits: request.phone_number === undefined ? undefined : phoneDigits(request.phone_number),
    search: request.q === undefined ? undefined : toSearch(request.q),
    blocked: request.active === undefined ? undefined : !request.active,
  };
  const rows = mustSearch(filter)
    ? await searchContacts(core, caller.userId, filter, request, turns)
    : await listContactRows(core.db, caller.userId, filter, request);
  return toPage(request, rows, (row) => renderContact(core, row));
}

/** Parses the text of a search. A text without words, such as only punctuation, finds everything. */
function toSearch(text: string): ContactFilter["search"] {
  const words = searchWords(text);
  if (words.length === 0) return undefined;
  return { parts: words.map(searchPart), digits: searchDigits(text) };
}

/**
 * Searches the caller's contacts in several turns of the event loop, each of which sees the latest commits. A turn
 * continues after the last id of the previous one, so no contact is skipped or repeated.
 */
async function searchContacts(
  core: DataAccess,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
  turns: Turns,
): Promise<ListedContact[]> {
  // Few contacts are blocked, so most pages of `active=true` end within these steps, and cost little more than others.
  let steps = 2 * (page.limit + 1);
  const { rows } = await walkPages(page, page.cursor, turns, async (cursor, missing) => {
    const rest = { ...page, cursor, limit: missing - 1 };
    const next = await findContactAfter(core.db, ownerId, filter, rest, steps);
    steps = ROWS_PER_TURN;
    return { rows: await searchContactRows(core.db, ownerId, filter, rest, next), next };
  });
  return rows;
}

/** Returns the JSON texts of those of the contacts that the user has, by id. */
export async function renderContacts(
  core: DataAccess<QuickReader>,
  ownerId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = ids.length === 0 ? [] : await findContacts(core.db, ownerId, ids);
  const contacts = rows.map((row) => renderContact(core, row));
  return new Map(contacts.map((json) => [idOf(json), json]));
}

/** Throws `contact_not_found`, also for the contact of another user. */
export async function getContact(core: DataAccess, caller: Caller, id: string): Promise<Versioned> {
  const row = await findContact(core.db, caller.userId, id);
  if (!row) throw new ParleyError("contact_not_found");
  return versioned(core, row);
}

/** Sets the display name, the only field that can be updated; without it nothing changes. */
export async function updateContact(
  core: DataAccess,
  caller: Caller,
  id: string,
  displayName: string | null | undefined,
  expected: Expected,
): Promise<Versioned> {
  const input = { ownerId: caller.userId, id, displayName, expected, entry: newEntry(core, caller) };
  const [body, activeAt, profile, version] = await core.db.write("updateContact", input);
  // Another user has chosen the profile.
  return versioned(core, [body, activeAt, mayRead(caller) ? profile : null, version]);
}

/** Deletes the contact and removes the caller from the conversation with it. Throws `contact_not_found`. */
export async function deleteContact(
  core: DataAccess,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  const limit = core.limits.erasedRowsAtOnce;
  await core.db.write("deleteContact", {
    ownerId: caller.userId,
    id,
    deletedAt: entry.at,
    limit,
    expected,
    entry,
  });
  core.wakeEraser();
}

/** Blocks or unblocks a contact: what a blocked contact sends does not reach the caller. Throws `contact_not_found`. */
export async function blockContact(
  core: DataAccess,
  caller: Caller,
  id: string,
  blocked: boolean,
): Promise<void> {
  const now = core.clock();
  const recorded = { action: blocked ? "block.created" : "block.deleted", objectId: id } as const;
  const input = { ownerId: caller.userId, id, blockedAt: blocked ? now : null, now };
  await writeActed(core, caller, recorded, "blockContact", input);
}

function versioned(core: DataAccess, [body, activeAt, profile, version]: ContactRow): Versioned {
  const json = renderContact(core, [body, activeAt, profile]);
  // Activity and profile change without the row. If neither is shown, the ETag must not tell why.
  const isPlain = (activeAt === null && profile === null) || json === showProfile(core, body, null);
  return isPlain ? { json, version: `${version}` } : withDigest(json, version);
}

/** Returns the contact as JSON text, as its owner retrieves it. */
function renderContact(core: Origin, [body, activeAt, profile]: ListedContact): string {
  return showProfile(core, toContact(body, activeAt), profile);
}

/** The member that follows the name of a profile. */
const NEXT_MEMBER = ',"conversation_id":';
const WITHOUT_NAME = `,"profile_name":null${NEXT_MEMBER}`;

/** Adds what a contact shows of its peer's profile, as `PEER_PROFILE` selects it, to the JSON text of the contact. */
export function showProfile(core: Origin, contact: string, profile: string | null): string {
  const plain = contact.replace(NEXT_MEMBER, WITHOUT_NAME);
  if (profile === null) return plain;
  const { name, avatarUrl } = toPeer(core, profile);
  const named = new JsonObject(plain).setNull("profile_name", JSON.stringify(name));
  return (avatarUrl === null ? named : named.setNull("avatar_url", JSON.stringify(avatarUrl))).text;
}
