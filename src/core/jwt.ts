import type { JWTPayload } from "jose";
import { findIdentity } from "../db/identities.ts";
import { ParleyError } from "../errors.ts";
import { isCleanText } from "../util/text.ts";
import type { Verified } from "./caller.ts";
import type { Core, IdentityProvider } from "./core.ts";
import { username } from "./fields.ts";
import type { Keys } from "./key-set.ts";
import { DEFAULT_SCOPES, SCOPES } from "./tokens.ts";
import { newUser } from "./users.ts";

const ALGORITHMS = ["RS256", "ES256", "EdDSA"];
/** By how much the clocks of the provider and of this server may differ. */
const CLOCK_SKEW_SECONDS = 60;
/** As OpenID Connect has it. */
const MAX_SUBJECT_LENGTH = 255;

/** The form alone; no token of ours has a dot. */
export const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The user whom a signed token of the identity provider stands for, made at first sight unless `known` says that there is
 * one. Throws `invalid_token`, `username_taken`, or `unavailable` where there are no keys to verify it by.
 */
export async function verifyJwt(
  core: Core,
  provider: IdentityProvider,
  token: string,
  known: boolean,
): Promise<Verified> {
  const claims = await verifiedClaims(core, provider, token);
  let userId = await findIdentity(core.db, provider.issuer, subjectOf(claims));
  if (userId === undefined && known) throw refused("its user was erased");
  userId ??= await makeUser(core, provider.issuer, claims);
  return {
    caller: { userId, tokenId: null, scopes: scopesOf(claims) },
    expiresAt: (claims.exp! + CLOCK_SKEW_SECONDS) * 1000,
  };
}

async function verifiedClaims(core: Core, provider: IdentityProvider, token: string): Promise<JWTPayload> {
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
  const verify = async (by: Keys) => (await jwtVerify(token, by, options)).payload;
  const known = await keys.demand();
  try {
    const claims = await verify(known).catch(async (error) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      return verify(await keys.newerThan(known));
    });
    if (claims.iat! > core.clock() / 1000 + CLOCK_SKEW_SECONDS) throw notYetValid("iat");
    return claims;
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    const { code, claim, reason } = error as { code?: string; claim?: string; reason?: string };
    if (claim === "nbf" && reason === "check_failed") throw notYetValid(claim);
    // The library's error of a key that is too short has no code.
    const { kid } = code === undefined ? decodeProtectedHeader(token) : {};
    if (code === undefined && keys.isWeak(kid)) {
      const key = kid === undefined ? "without an id" : JSON.stringify(kid);
      throw refused(
        `its key ${key} is an RSA key of less than 2048 bits`,
        "Have the provider make a longer one.",
      );
    }
    throw refused(reasonOf(code, claim));
  }
}

function refused(reason: string, mend = "Get a new one."): ParleyError {
  return new ParleyError("invalid_token", `The signed token is not accepted: ${reason}. ${mend}`);
}

function notYetValid(claim: string): ParleyError {
  return refused(
    `it is not valid yet, as its claim ${claim} says`,
    "Wait until it is, or set the clocks of the provider and of this server.",
  );
}

/** In words of ours: what went wrong with a token of a stranger is not told in more detail. */
function reasonOf(code: string | undefined, claim: string | undefined): string {
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return "it has expired";
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return `the claim ${claim} is missing or not the one that is wanted here`;
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return `its algorithm is none of ${ALGORITHMS.join(", ")}`;
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "it is signed by a key that is not in the provider's set";
    case "ERR_JWKS_MULTIPLE_MATCHING_KEYS":
      return "its header must name its key (kid)";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature is wrong";
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

async function makeUser(core: Core, issuer: string, claims: JWTPayload): Promise<string> {
  const subject = subjectOf(claims);
  const name = username.parse(claims.preferred_username) ?? username.parse(subject);
  if (name === undefined) {
    throw refused(`preferred_username, or else sub, is to be the username: ${username.accepts}`);
  }
  const user = newUser(core, null, { username: name });
  // Nobody but the user is there to have done it.
  const act = { ...user.act, actorId: user.id };
  try {
    return await core.db.write("createIdentity", { issuer, subject, user: { ...user, act } });
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "username_taken") throw error;
    throw new ParleyError(
      "username_taken",
      "Another user of this service has the username of this token already. Give this account another username at the " +
        "identity provider, or have the operator remove the other user.",
    );
  }
}

function isBetween(value: number, min: number, max: number): boolean {
  return value >= min && value <= max;
}

/** Those of ours that the token names, never administration; where it names none of ours, what any token may do. */
function scopesOf({ scope = "" }: JWTPayload): ReadonlySet<string> {
  if (typeof scope !== "string")
    throw refused("the claim scope must be one string, of names separated by spaces");
  const names = new Set(scope.split(" "));
  const named = SCOPES.filter((each) => names.has(each));
  return new Set(named.length === 0 ? DEFAULT_SCOPES : named.filter((each) => DEFAULT_SCOPES.includes(each)));
}
