import type { JWTPayload } from "jose";
import { findIdentity } from "../../db/queries/people/identities.ts";
import { ParleyError } from "../../errors.ts";
import { isCleanText } from "../../util/text.ts";
import type { Verified } from "../node/caller.ts";
import type { DataAccess, IdentityProvider } from "../node/core.ts";
import type { Keys } from "../node/key-set.ts";
import { newUsername } from "../resource/fields.ts";
import { DEFAULT_SCOPES, SCOPES } from "./tokens.ts";
import { newUser } from "./users.ts";

const ALGORITHMS = ["RS256", "ES256", "EdDSA"];
/** The maximum difference between the clocks of the provider and of this server. */
const CLOCK_SKEW_SECONDS = 60;
/** Types of tokens that authorize a request (RFC 9068). Tokens of other types have other purposes (RFC 8725, section 3.11). */
const TYPE = /^(?:application\/)?(?:at\+)?jwt$/i;
/** The maximum of OpenID Connect. */
const MAX_SUBJECT_LENGTH = 255;

/** Matches the form of a JWT. Our own tokens contain no dot. */
export const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Verifies a JWT of the identity provider and returns its user. Creates the user at the first token unless `known` is set.
 * Throws `invalid_token`, `username_taken`, or `unavailable` if there are no keys to verify it.
 */
export async function verifyJwt(
  core: DataAccess,
  provider: IdentityProvider,
  token: string,
  known: boolean,
): Promise<Verified> {
  const claims = await verifiedClaims(core, provider, token);
  // Before the user is created: a refused token creates none.
  const scopes = scopesOf(claims);
  let userId = await findIdentity(core.db, provider.issuer, subjectOf(claims));
  if (userId === undefined && known) throw refused("its user was erased");
  userId ??= await makeUser(core, provider.issuer, claims);
  return {
    caller: { userId, tokenId: null, scopes, actedById: null },
    expiresAt: (claims.exp! + CLOCK_SKEW_SECONDS) * 1000,
  };
}

async function verifiedClaims(
  core: DataAccess,
  provider: IdentityProvider,
  token: string,
): Promise<JWTPayload> {
  const { jwtVerify, decodeProtectedHeader, errors } = await import("jose");
  const { issuer, audience, keys } = provider;
  const currentDate = new Date(core.clock());
  const options = {
    algorithms: ALGORITHMS,
    issuer,
    audience,
    currentDate,
    clockTolerance: CLOCK_SKEW_SECONDS,
    requiredClaims: ["exp", "sub"],
  };
  const verify = (by: Keys) => jwtVerify(token, by, options);
  const known = await keys.demand();
  try {
    const { payload: claims, protectedHeader } = await verify(known).catch(async (error) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return verify(await keys.newerThan(known));
    });
    if (!isAccessToken(protectedHeader.typ)) throw refused("its type (typ) must be JWT, at+jwt or missing");
    if (claims.iat! > core.clock() / 1000 + CLOCK_SKEW_SECONDS) throw notYetValid("iat");
    return claims;
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    const { code, claim, reason } = error as { code?: string; claim?: string; reason?: string };
    if (claim === "nbf" && reason === "check_failed") throw notYetValid(claim);
    // The library's error for a key that is too short has no code.
    const { kid } = code === undefined ? decodeProtectedHeader(token) : {};
    if (code === undefined && keys.isWeak(kid)) {
      const key = kid === undefined ? "without an id" : JSON.stringify(kid);
      throw refused(
        `its key ${key} is an RSA key of less than 2048 bits`,
        "Use a longer key at the provider.",
      );
    }
    throw refused(reasonOf(code, claim));
  }
}

/** `typ` is the header's value, of any type. */
function isAccessToken(typ: unknown): boolean {
  return typ === undefined || (typeof typ === "string" && TYPE.test(typ));
}

function refused(reason: string, remedy = "Get a new one."): ParleyError {
  return new ParleyError("invalid_token", `The JWT was rejected: ${reason}. ${remedy}`);
}

function notYetValid(claim: string): ParleyError {
  return refused(
    `it is not valid yet (claim ${claim})`,
    "Wait, or correct the clock of the provider or of this server.",
  );
}

/** Returns the reason in our words. A stranger gets no more details about a refused token. */
function reasonOf(code: string | undefined, claim: string | undefined): string {
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return "it has expired";
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return `the claim ${claim} is missing or has the wrong value`;
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return `its algorithm must be one of ${ALGORITHMS.join(", ")}`;
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "its key is not in the key set of the provider";
    case "ERR_JWKS_MULTIPLE_MATCHING_KEYS":
      return "its header must name the key (kid)";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature is invalid";
    default:
      return "it is malformed";
  }
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

/** Returns our scopes that the token names, never `admin`. If it names none, returns the default scopes. */
function scopesOf({ scope = "" }: JWTPayload): ReadonlySet<string> {
  if (typeof scope !== "string")
    throw refused("the claim scope must be one string, of names separated by spaces");
  const names = new Set(scope.split(" "));
  const named = SCOPES.filter((each) => names.has(each));
  return new Set(named.length === 0 ? DEFAULT_SCOPES : named.filter((each) => DEFAULT_SCOPES.includes(each)));
}
