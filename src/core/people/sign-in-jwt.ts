import type { JWTPayload } from "jose";
import { findIdentity } from "../../db/queries/people/identities.ts";
import { ParleyError } from "../../errors.ts";
import { isCleanText } from "../../util/text.ts";
import type { Verified } from "../node/caller.ts";
import type { DataAccess, IdentityProvider } from "../node/core.ts";
import { newUsername } from "../resource/fields.ts";
import { CLOCK_SKEW_SECONDS, refused, verifyClaims } from "./jwt.ts";
import { DEFAULT_SCOPES } from "./tokens.ts";
import { newUser } from "./users.ts";

/** The maximum of OpenID Connect. */
const MAX_SUBJECT_LENGTH = 255;

/** Matches the form of a JWT. Our own tokens contain no dot. */
export const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Verifies a JWT and returns its user. Creates the user at the first token unless `known` is set.
 * Throws `invalid_token`, `username_taken`, or `unavailable` if there are no keys to verify it.
 */
export async function verifyJwt(
  core: DataAccess,
  provider: IdentityProvider,
  token: string,
  known: boolean,
): Promise<Verified> {
  const { claims, byKeySet } = await verifyClaims(provider, token, core.clock);
  // Before the user is created: a refused token creates none.
  const scopes = scopesOf(claims);
  const issuer = provider.issuer ?? "";
  let userId = await findIdentity(core.db, issuer, subjectOf(claims));
  if (userId === undefined && known) throw refused("its user was erased");
  userId ??= await makeUser(core, issuer, claims);
  return {
    caller: { userId, tokenId: null, scopes, actedById: null },
    expiresAt: (claims.exp! + CLOCK_SKEW_SECONDS) * 1000,
    byKeySet,
  };
}

function subjectOf({ sub: subject }: JWTPayload): string {
  if (
    typeof subject !== "string" ||
    !isCleanText(subject) ||
    !isBetween(subject.length, 1, MAX_SUBJECT_LENGTH)
  ) {
    throw refused(`the claim sub must be a string of 1 to ${MAX_SUBJECT_LENGTH} characters`);
  }
  return subject;
}

/** Returns the user of these claims, which are verified. Creates the user if there is none. Throws `username_taken`. */
export async function findOrMakeUser(core: DataAccess, issuer: string, claims: JWTPayload): Promise<string> {
  return (await findIdentity(core.db, issuer, subjectOf(claims))) ?? makeUser(core, issuer, claims);
}

async function makeUser(core: DataAccess, issuer: string, claims: JWTPayload): Promise<string> {
  const subject = subjectOf(claims);
  const name = newUsername.parse(claims.preferred_username) ?? newUsername.parse(subject);
  if (name === undefined) {
    throw refused(`preferred_username or sub must be a valid username: ${newUsername.accepts}`);
  }
  const user = newUser(core, null, { username: name });
  // The user is the only possible actor.
  const entry = { ...user.entry, actorId: user.id };
  try {
    return await core.db.write("createIdentity", { issuer, subject, user: { ...user, entry } });
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "username_taken") throw error;
    throw new ParleyError(
      "username_taken",
      "Another user already has the username of this token. Change the username at the identity provider, or ask the " +
        "operator to remove the other user.",
    );
  }
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
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
