import { ParleyError } from "../../../errors.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { all, batch, get, run, type Write, write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { changeProfile, findProfile, type ProfileRow } from "./profiles.ts";
import { NOTE_REVOCATION } from "./tokens.ts";
import { type CreateUser, createUser, type Made } from "./users.ts";

/** Whose token a JWT is. */
export interface Identity {
  /** Empty if the server does not check issuers. */
  issuer: string;
  subject: string;
}

/** The profile fields that a JWT has. */
export interface ClaimedProfile {
  display_name: string | undefined;
  avatar_url: string | undefined;
  phone_number: string | undefined;
}

/** A user's profile fields, for comparison with those of a JWT. */
type Comparable = Pick<ProfileRow, keyof ClaimedProfile | "set_fields">;

export interface IdentityRow extends Comparable {
  user_id: string;
  /** When an administrator paused the user (milliseconds); null if the user is not paused. */
  paused_at: number | null;
}

function find({ issuer, subject }: Identity): Statement<IdentityRow> {
  return sql`SELECT i.user_id, u.display_name, u.avatar_url, u.phone_number, u.set_fields,
      u.paused_at
    FROM identities i JOIN users u ON u.id = i.user_id
    WHERE i.issuer = ${issuer} AND i.subject = ${subject}`;
}

/** Finds the user of an identity, with the profile. */
export function findIdentity(db: Reader, issuer: string, subject: string): Promise<IdentityRow | undefined> {
  return db.get(find({ issuer, subject }));
}

/** Returns the identities of a user in the order of issuer and subject. */
export function allIdentities(db: Reader, userId: string): Promise<Identity[]> {
  return db.all(identitiesOf(userId));
}

function identitiesOf(userId: string): Statement<Identity> {
  return sql`SELECT issuer, subject FROM identities WHERE user_id = ${userId} ORDER BY issuer, subject`;
}

/** Returns the names of the claims that change the profile. */
export function findNewClaims(row: Comparable, claims: ClaimedProfile): (keyof ClaimedProfile)[] {
  const isSet = row.set_fields.split(" ");
  const names = Object.keys(claims) as (keyof ClaimedProfile)[];
  return names.filter(
    (name) => claims[name] !== undefined && claims[name] !== row[name] && !isSet.includes(name),
  );
}

interface TakeProfile {
  userId: string;
  claims: ClaimedProfile;
  entry: NewEntry;
}

/** Takes the profile from the claims of a JWT, unless another request was faster or the user is being deleted. */
const takeProfile = write(
  { serializeBy: ({ userId }) => userId },
  function* ({ userId, claims, entry }: TakeProfile): Write<void> {
    const row = yield* get(findProfile(userId));
    const fields = row ? findNewClaims(row, claims) : [];
    if (!row || fields.length === 0) return;
    const changes = Object.fromEntries(fields.map((name) => [name, claims[name]]));
    yield* changeProfile(userId, row, changes, row.set_fields, entry);
  },
);

interface CreateIdentity {
  identity: Identity;
  user: CreateUser;
  /** Whether to sign in as the user who has the username, if that user has no identity yet. */
  linksUsernames: boolean;
}

/** Creates the user, unless another request was faster. Throws `username_taken`. */
function* createIdentity({ identity, user, linksUsernames }: CreateIdentity): Write<void> {
  if (yield* get(find(identity))) return;
  const namesake = linksUsernames ? yield* get(findUnlinked(user.usernameKey)) : undefined;
  if (namesake) yield* addIdentity(namesake.id, identity, { ...user.entry, actorId: namesake.id });
  else {
    yield* createUser(user);
    yield* run(insertIdentity(user.id, identity));
  }
}

/** Finds the user of this name who has no identity. */
function findUnlinked(usernameKey: string): Statement<{ id: string }> {
  return sql`SELECT id FROM users WHERE username_key = ${usernameKey}
    AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = users.id)`;
}

function insertIdentity(userId: string, { issuer, subject }: Identity): Statement {
  return sql`INSERT INTO identities (issuer, subject, user_id) VALUES (${issuer}, ${subject}, ${userId})`;
}

/** Creates a user whose first JWT finds it. Throws `username_taken` and `identity_taken`. */
function* createLinkedUser(input: CreateUser & { identity: Identity; linkEntry: NewEntry }): Write<Made> {
  const made = yield* createUser(input);
  yield* addIdentity(input.id, input.identity, input.linkEntry);
  return made;
}

const MAX_IDENTITIES = 20;

/**
 * Part of other writes: adds the identity, and reports whether the user did not have it. Throws `identity_taken` and
 * `count_limit_reached`.
 */
export function* addIdentity(userId: string, identity: Identity, entry: NewEntry): Write<boolean> {
  const holder = yield* get(find(identity));
  if (holder?.user_id === userId) return false;
  if (holder) {
    throw new ParleyError("identity_taken", undefined, {
      param: "subject",
      members: { existing_id: holder.user_id },
    });
  }
  if ((yield* all(identitiesOf(userId))).length >= MAX_IDENTITIES) {
    throw new ParleyError(
      "count_limit_reached",
      `A user can have ${MAX_IDENTITIES} identities. Remove them with subject null, then add those that you need.`,
    );
  }
  yield* batch([insertIdentity(userId, identity), recordEntry(entry, "user.linked", userId, identity)]);
  return true;
}

/** Part of other writes: refuses JWTs of the user from now on, and reports whether the user had any identity. */
export function* removeIdentities(userId: string, entry: NewEntry): Write<boolean> {
  const removed = yield* all(identitiesOf(userId));
  if (removed.length === 0) return false;
  yield* batch([
    sql`DELETE FROM identities WHERE user_id = ${userId}`,
    NOTE_REVOCATION,
    recordEntry(entry, "user.unlinked", userId, { subjects: removed.map(({ subject }) => subject) }),
  ]);
  return true;
}

export const identityWrites = { createIdentity, createLinkedUser, takeProfile };
