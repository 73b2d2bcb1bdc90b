import type { JWTPayload } from "jose";
import {
  type ClaimedProfile,
  findIdentity,
  findNewClaims,
  type IdentityRow,
} from "../../db/queries/people/identities.ts";
import { ParleyError } from "../../errors.ts";
import type { Verified } from "../node/caller.ts";
import type { Core, DataAccess, IdentityProvider } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import { avatarUrl, newUsername, phoneNumber, profileName } from "../resource/fields.ts";
import { MAX_SUBJECT_LENGTH, subjectField } from "./identities.ts";
import { CLOCK_SKEW_SECONDS, refused, verifyClaims } from "./jwt.ts";
import { DEFAULT_SCOPES } from "./tokens.ts";
import { newUser } from "./users.ts";

/** Matches the form of a JWT. Our own tokens contain no dot. */
export const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Verifies a JWT and returns its user. Unless `known` is set, creates the user at the first token, and takes the profile from
 * the claims. Throws `invalid_token`, `username_taken`, or `unavailable` if there are no keys to verify it.
 */
export async function verifyJwt(
  core: Core,
  provider: IdentityProvider,
  token: string,
  known: boolean,
): Promise<Verified> {
  const { claims, byKeySet } = await verifyClaims(provider, token, core.clock);
  // Before the user is created: a refused token creates none.
  const scopes = scopesOf(claims);
  const user = known ? await findUser(core, subjectOf(claims)) : await findOrMakeUser(core, claims);
  if (!user) throw refused("its user was erased or has lost this identity");
  return {
    caller: { userId: user.user_id, tokenId: null, scopes, actedById: null },
    isPaused: user.paused_at !== null,
    expiresAt: (claims.exp! + CLOCK_SKEW_SECONDS) * 1000,
    byKeySet,
  };
}

/**
 * Returns the user of these claims, which are verified, and takes the profile from them unless the user is paused. Creates the
 * user if there is none. Undefined if the user is being erased. Throws `username_taken`.
 */
export async function findOrMakeUser(core: Core, claims: JWTPayload): Promise<IdentityRow | undefined> {
  const subject = subjectOf(claims);
  let user = await findUser(core, subject);
  if (!user) await makeUser(core, subject, claims);
  user ??= await findUser(core, subject);
  if (user?.paused_at === null) await takeProfile(core, user, profileOf(claims));
  return user;
}

function findUser(core: Core, subject: string): Promise<IdentityRow | undefined> {
  return findIdentity(core.db, core.issuer, subject);
}

function subjectOf({ sub }: JWTPayload): string {
  const subject = subjectField.parse(sub);
  if (subject !== undefined) return subject;
  throw refused(`the claim sub must be a string of 1 to ${MAX_SUBJECT_LENGTH} characters`);
}

async function makeUser(core: Core, subject: string, claims: JWTPayload): Promise<void> {
  const name = newUsername.parse(claims.preferred_username) ?? newUsername.parse(subject);
  if (name === undefined) {
    const reason = `preferred_username or sub must be a valid username: ${newUsername.accepts}`;
    throw refused(reason, "Change preferred_username at the identity provider.", {
      param: "preferred_username",
    });
  }
  const made = newUser(core, null, { username: name, ...profileOf(claims) });
  // The user is the only possible actor, and has set no field here.
  const user = { ...made, entry: { ...made.entry, actorId: made.id }, setFields: "" };
  const identity = { issuer: core.issuer, subject };
  const linksUsernames = core.identityProvider?.linksUsernames ?? false;
  try {
    await core.db.write("createIdentity", { identity, user, linksUsernames });
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "username_taken") throw error;
    throw new ParleyError(
      "username_taken",
      "Another user already has the username of this token. If it is the same person, an admin links them: " +
        "PUT /v1/users/{user_id} with the sub of this token as subject. Otherwise change the username at the identity provider.",
    );
  }
}

/**
 * Returns our scopes that the token names, of those that a token has by default: never `admin` or `act_as`. A token without the
 * claim has them all, and one whose claim names none of them has none.
 */
function scopesOf({ scope, scp }: JWTPayload): ReadonlySet<string> {
  if (scope === undefined && scp === undefined) return new Set(DEFAULT_SCOPES);
  const names = scope === undefined ? namesOf(scp) : typeof scope === "string" ? scope.split(" ") : undefined;
  if (!names)
    throw refused(
      "the claim scope must be a string of names separated by spaces, and scp that or an array of names",
    );
  // Some providers put the address of the API before each name, such as api://parley/contacts:read.
  const named = new Set(names.map((name) => name.slice(name.lastIndexOf("/") + 1)));
  return new Set(DEFAULT_SCOPES.filter((each) => named.has(each)));
}

/** Returns the names in a claim `scp`, a text or an array of texts; undefined for anything else. */
function namesOf(scp: unknown): string[] | undefined {
  if (typeof scp === "string") return scp.split(" ");
  return Array.isArray(scp) && scp.every((name) => typeof name === "string") ? scp : undefined;
}

/** Writes the claims that differ from the profile, except those of fields that the user or an admin has set. */
async function takeProfile(core: DataAccess, user: IdentityRow, claims: ClaimedProfile): Promise<void> {
  const { user_id: userId } = user;
  if (findNewClaims(user, claims).length === 0) return;
  const entry = { ...newEntry(core, null), actorId: userId };
  await core.db.write("takeProfile", { userId, claims, entry });
  core.wakeProfiles();
}

/** Returns the profile fields that the token has. An empty or invalid claim counts as missing. */
function profileOf({ name, picture, phone_number }: JWTPayload): ClaimedProfile {
  return {
    display_name: profileName.parse(name) ?? undefined,
    avatar_url: avatarUrl.parse(picture) ?? undefined,
    phone_number: phoneNumber.parse(phone_number),
  };
}
