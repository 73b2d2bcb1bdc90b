import { ParleyError } from "../../../errors.ts";
import { toSeconds } from "../../../util/clock.ts";
import { laterId } from "../../../util/ids.ts";
import { phoneDigits, searchKey, usernameKey as toUsernameKey } from "../../../util/text.ts";
import { type Statement, sql } from "../../sql.ts";
import { checkVersion, type Expected } from "../../version.ts";
import { batch, get, run, type Write, write } from "../../write.ts";
import { publishEvent } from "../events/events.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { setBlock } from "./blocks.ts";
import { type ContactRow, LISTED, ofContact, toContact } from "./contact-rows.ts";
import { leaveConversation, noteDeparture } from "./conversation-leaving.ts";
import { countInvitationsBy, publishInvitationsOf } from "./invitations.ts";
import { findPeerId, forgetWaiting, hidePresence, joinPeer } from "./peers.ts";
import { getUser, type UserRow } from "./users.ts";

export interface CreateContact {
  id: string;
  ownerId: string;
  usernameKey: string;
  phoneDigits: string;
  searchKey: string;
  /** The id of the new conversation, if the contact does not have one with the owner. */
  conversationId: string;
  /** JSON text. */
  body: string;
  createdAt: number;
  /** Whether the owner blocks the contact. If not, an existing block of this username is lifted. */
  blocked: boolean;
  /** How many contacts a user may have; 0 means no limit. */
  maxContacts: number;
  /** If messages wait, the conversation gets the position of this id in the inbox. */
  positionId: string;
  /** How many grants to write at once. The eraser writes the rest. */
  limit: number;
  /** The id of the audit entry, aud_…; the owner is the actor. Not nested, because this is the most frequent write. */
  actId: string;
  tokenId: string | null;
  actedById: string | null;
}

/** The facts that the database decides about a new contact. Only they are stored for a retry, which sends the rest again. */
export interface CreatedContact {
  id: string;
  conversation_id: string;
  created_at: number;
  /** Whether this write also gave the owner to the user of that name, who accepts everyone. */
  is_added_back?: true;
}

/**
 * Creates a contact. Throws `contact_exists` if the owner has one with that username, and `invalid_parameter` if the name is the
 * owner's. It inserts first, and reads only if nothing was inserted, so that creates do not conflict on PostgreSQL by reading the
 * same page.
 */
const createContact = write(
  {
    publishesEvents: true,
    // A limit counts the contacts of the owner. Without one only creates of one name conflict: its user may have all owners back.
    serializeBy: ({ ownerId, usernameKey, maxContacts }) =>
      maxContacts > 0 ? ownerId : `name ${usernameKey}`,
  },
  function* (input: CreateContact): Write<CreatedContact> {
    const { ownerId, id, usernameKey, phoneDigits, searchKey, conversationId, body, createdAt } = input;
    const { actId, tokenId, actedById } = input;
    const entry = { id: actId, at: createdAt, actorId: ownerId, tokenId, actedById };
    if (input.maxContacts > 0 && (yield* countContacts(ownerId, input.maxContacts)) >= input.maxContacts) {
      yield* refuseExisting(ownerId, usernameKey);
      throw new ParleyError(
        "count_limit_reached",
        `You may have ${input.maxContacts} contacts. Delete one, or ask the operator to raise PARLEY_MAX_CONTACTS.`,
      );
    }
    // The insert sets the block, so that the owner never sees invitations by a contact that is blocked from the start.
    const row = yield* get<Inserted>(
      sql`INSERT INTO contacts
          (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body, peer_id, blocked_at)
        SELECT ${ownerId}, ${id}, ${usernameKey}, ${phoneDigits}, ${searchKey}, ${conversationId}, 1, ${body},
          ${findPeerId(usernameKey, ownerId)}, CAST(${input.blocked ? createdAt : null} AS BIGINT)
        WHERE EXISTS (SELECT 1 FROM users WHERE id = ${ownerId} AND username_key <> ${usernameKey})
        ON CONFLICT (owner_id, username_key) DO NOTHING RETURNING peer_id,
          (SELECT COUNT(*) FROM blocks b WHERE b.owner_id = ${ownerId} AND b.username_key = ${usernameKey})
            AS is_blocked,
          ${countInvitationsBy(usernameKey, ownerId)} AS invitations,
          (SELECT u.id FROM users u
            WHERE u.username_key = ${usernameKey} AND u.accepts_everyone = 1 AND u.id <> ${ownerId}) AS accepting_id`,
    );
    if (!row) {
      const owner = yield* getUser(ownerId);
      yield* refuseExisting(ownerId, usernameKey);
      throw toUsernameKey(owner.username) === usernameKey ? ownName() : new ParleyError("unavailable");
    }
    // A contact that joins a peer is published with its conversation.
    const alone = [
      sql`INSERT INTO members (conversation_id, user_id, joined_at, contact_id)
        VALUES (${conversationId}, ${ownerId}, ${createdAt}, ${id})`,
      publishEvent("contact.created", createdAt, ownerId, conversationId, body),
    ];
    yield* batch([recordEntry(entry, "contact.created", id), ...(row.peer_id === null ? alone : [])]);
    if (input.blocked || row.is_blocked === 1) {
      const { username } = JSON.parse(body) as { username: string };
      const blockedAt = input.blocked ? createdAt : null;
      yield* setBlock({ ownerId, usernameKey, username, blockedAt, now: createdAt });
    }
    // Lifting a block publishes them, too.
    if (row.invitations > 0 && row.is_blocked === 0 && !input.blocked) {
      yield* run(publishInvitationsOf("group.created", createdAt, ownerId, usernameKey));
    }
    const conversation_id = row.peer_id === null ? conversationId : yield* joinPeer(input);
    const created = { id, conversation_id, created_at: toSeconds(createdAt) };
    if (row.peer_id !== null || row.accepting_id === null) return created;
    // The limit of contacts is for those that a user adds.
    yield* addBack(row.accepting_id, input, { maxContacts: 0, showsNumber: false });
    return { ...created, is_added_back: true };
  },
);

interface Inserted {
  peer_id: string | null;
  /** 1 if the owner has blocked this username, otherwise 0. */
  is_blocked: number;
  /** How many groups the contact has invited the owner into. */
  invitations: number;
  /** Another user with this username who has everybody back; null if there is none. */
  accepting_id: string | null;
}

interface AddBack {
  maxContacts: number;
  /** Whether the new contact gets the phone number of the owner. */
  showsNumber: boolean;
}

/** Adds the owner of a contact to the contacts of the user of that name. A block by that user stays. */
function* addBack(
  userId: string,
  contact: CreateContact,
  { maxContacts, showsNumber }: AddBack,
): Write<void> {
  const { ownerId } = contact;
  const owner = (yield* get<UserRow & { username_key: string; is_blocked: number }>(
    sql`SELECT u.username, u.username_key, u.phone_number, CASE WHEN EXISTS (SELECT 1 FROM blocks b
          WHERE b.owner_id = ${userId} AND b.username_key = u.username_key) THEN 1 ELSE 0 END AS is_blocked
        FROM users u WHERE u.id = ${ownerId}`,
  ))!;
  const { username } = owner;
  const phone_number = (showsNumber && owner.phone_number) || "";
  // Each id is the next one after that of the owner's contact.
  const id = laterId(contact.id, contact.id);
  const body = {
    ...JSON.parse(contact.body),
    id,
    username,
    phone_number,
    avatar_url: null,
    display_name: null,
  };
  yield* createContact({
    ...contact,
    id,
    ownerId: userId,
    usernameKey: owner.username_key,
    phoneDigits: phoneDigits(phone_number),
    searchKey: searchKey(username, null),
    body: JSON.stringify(body),
    blocked: owner.is_blocked === 1,
    maxContacts,
    actId: laterId(contact.actId, contact.actId),
    actedById: contact.actedById ?? ownerId,
  });
}

interface CreateMutualContact {
  contact: CreateContact;
  /** If not given, it is that of the contact's user, or an empty text if the user has none or one of the two blocks the other. */
  phoneNumber: string | undefined;
}

/**
 * Creates a contact, and the contact by which its user has the owner. If one of them exists, creates only the other one; blocks stay
 * then. Returns the owner's. Throws `user_not_found` and what `createContact` throws.
 */
const createMutualContact = write(
  {
    publishesEvents: true,
    // Many of them share a user, such as a bot or a support desk, as the owner or as the other.
    serializeBy: () => "mutual contacts",
  },
  function* (input: CreateMutualContact): Write<{ id: string }> {
    const { ownerId, usernameKey, maxContacts } = input.contact;
    yield* getUser(ownerId);
    const other = yield* get<UserRow & { is_blocked: number }>(
      sql`SELECT u.id, u.phone_number, CASE WHEN EXISTS (SELECT 1 FROM blocks b JOIN users me ON me.id = ${ownerId}
            WHERE (b.owner_id = u.id AND b.username_key = me.username_key)
              OR (b.owner_id = me.id AND b.username_key = u.username_key)) THEN 1 ELSE 0 END AS is_blocked
          FROM users u WHERE u.username_key = ${usernameKey}`,
    );
    if (!other) throw new ParleyError("user_not_found", undefined, { param: "username" });
    const own = yield* get(contactBy(ownerId, usernameKey));
    // Users do not know each other's number: a block hides it, also one that this write sets or lifts.
    const showsNumber = other.is_blocked === 0 && !input.contact.blocked;
    const phone_number = input.phoneNumber ?? ((showsNumber && other.phone_number) || "");
    const body = JSON.stringify({ ...JSON.parse(input.contact.body), phone_number });
    const contact = { ...input.contact, body, phoneDigits: phoneDigits(phone_number) };
    const id = own?.id ?? (yield* createContact(contact)).id;
    const theirs = sql`SELECT c.id FROM contacts c JOIN users me ON me.id = ${ownerId}
      WHERE c.owner_id = ${other.id} AND c.username_key = me.username_key`;
    const isBack = other.id === ownerId || (yield* get(theirs)) !== undefined;
    if (own && isBack) yield* refuseExisting(ownerId, usernameKey);
    if (isBack) return { id };
    if (maxContacts > 0 && (yield* countContacts(other.id, maxContacts)) >= maxContacts) {
      throw new ParleyError(
        "count_limit_reached",
        `That user has ${maxContacts} contacts. Delete one, or ask the operator to raise PARLEY_MAX_CONTACTS.`,
        { param: "username" },
      );
    }
    yield* addBack(other.id, contact, { maxContacts, showsNumber });
    return { id };
  },
);

function contactBy(ownerId: string, usernameKey: string): Statement<{ id: string }> {
  return sql`SELECT id FROM contacts WHERE owner_id = ${ownerId} AND username_key = ${usernameKey}`;
}

function ownName(): ParleyError {
  const detail =
    "username is your own. Send notes to yourself to the conversation_id of GET /v1/me; it needs no contact.";
  return new ParleyError("invalid_parameter", detail, { param: "username" });
}

function* refuseExisting(ownerId: string, usernameKey: string): Write<void> {
  const existing = yield* get(contactBy(ownerId, usernameKey));
  if (!existing) return;
  throw new ParleyError("contact_exists", "You already have a contact with this username.", {
    param: "username",
    members: { existing_id: existing.id },
  });
}

/** Counts the contacts, up to the limit. */
function* countContacts(ownerId: string, limit: number): Write<number> {
  const found = yield* get<{ count: number }>(
    sql`SELECT COUNT(*) AS count FROM (SELECT 1 FROM contacts WHERE owner_id = ${ownerId}
      LIMIT ${limit} + 0) AS counted`,
  );
  return found!.count;
}

interface UpdateContact {
  ownerId: string;
  id: string;
  /** Undefined leaves it unchanged. */
  displayName: string | null | undefined;
  expected: Expected;
  entry: NewEntry;
}

/** Returns the row after the update. Throws `contact_not_found` and `precondition_failed`. */
const updateContact = write({ publishesEvents: true }, function* (input: UpdateContact): Write<ContactRow> {
  const row = yield* get(findOwn(input.ownerId, input.id));
  if (!row) throw new ParleyError("contact_not_found");
  const { body, active_at, profile, version } = row;
  checkVersion(input.expected, version);
  if (input.displayName === undefined) return [body, active_at, profile, version];
  const contact = JSON.parse(body) as { username: string; display_name: string | null };
  const was = contact.display_name;
  if (was === input.displayName) return [body, active_at, profile, version];
  contact.display_name = input.displayName;
  const updated = JSON.stringify(contact);
  yield* batch([
    sql`UPDATE contacts
        SET search_key = ${searchKey(contact.username, input.displayName)}, body = ${updated},
          version = ${version + 1}
        WHERE owner_id = ${input.ownerId} AND id = ${input.id}`,
    publishEvent(
      "contact.updated",
      input.entry.at,
      input.ownerId,
      row.conversation_id,
      toContact(updated, active_at),
    ),
    recordEntry(input.entry, "contact.renamed", input.id, { from: was, to: input.displayName }),
  ]);
  return [updated, active_at, profile, version + 1];
});

interface DeleteContact {
  ownerId: string;
  id: string;
  deletedAt: number;
  /** How many rows are erased at once; the eraser does the rest. */
  limit: number;
  expected: Expected;
  entry: NewEntry;
}

/** Deletes the contact and removes its owner from the conversation with it. Throws what `updateContact` throws. */
export const deleteContact = write({ publishesEvents: true }, function* (input: DeleteContact): Write<void> {
  const { ownerId, id } = input;
  const contact = yield* get(findOwn(ownerId, id));
  if (!contact) throw new ParleyError("contact_not_found");
  checkVersion(input.expected, contact.version);
  const { conversation_id: conversationId, username_key, body, active_at } = contact;
  const before = [
    publishInvitationsOf("group.deleted", input.deletedAt, ownerId, username_key),
    publishEvent("contact.deleted", input.deletedAt, ownerId, conversationId, toContact(body, active_at)),
    sql`DELETE FROM contacts WHERE owner_id = ${ownerId} AND id = ${id}`,
    forgetWaiting(conversationId, username_key),
    hidePresence(ownerId, username_key),
    recordEntry(input.entry, "contact.deleted", id, { username: JSON.parse(body).username }),
  ];
  const after = [noteDeparture(conversationId, ownerId)];
  yield* leaveConversation(conversationId, ownerId, input.deletedAt, input.limit, before, after);
});

interface BlockContact {
  ownerId: string;
  id: string;
  /** Milliseconds; null unblocks. */
  blockedAt: number | null;
  now: number;
}

/** Blocks or unblocks a contact by its username. Throws `contact_not_found`. */
const blockContact = write({ publishesEvents: true }, function* (input: BlockContact): Write<void> {
  const { ownerId, id, blockedAt, now } = input;
  const contact = yield* get(findOwn(ownerId, id));
  if (!contact) throw new ParleyError("contact_not_found");
  const { username } = JSON.parse(contact.body) as { username: string };
  yield* setBlock({ ownerId, usernameKey: contact.username_key, username, blockedAt, now });
});

interface OwnContact {
  body: string;
  active_at: number | null;
  profile: string | null;
  version: number;
  conversation_id: string;
  username_key: string;
}

function findOwn(ownerId: string, id: string): Statement<OwnContact> {
  return sql`SELECT ${LISTED}, c.version, c.conversation_id, c.username_key ${ofContact(ownerId, id)}`;
}

export const contactWrites = {
  createContact,
  createMutualContact,
  updateContact,
  deleteContact,
  blockContact,
};
