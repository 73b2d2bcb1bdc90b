import type { JWTPayload, JWTVerifyResult, ProtectedHeaderParameters } from "jose";
import { ParleyError } from "../../errors.ts";
import type { Clock } from "../../util/clock.ts";
import type { IdentityProvider } from "../node/core.ts";

/** The algorithm of secrets. */
const HMAC = "HS256";
/** The algorithms of a provider's key set. */
const OF_KEY_SET: readonly string[] = ["RS256", "ES256", "EdDSA"];
/** The maximum difference between the clocks of the issuer and of this server. */
export const CLOCK_SKEW_SECONDS = 60;
/** How far the expiry of a token of HS256 may be away: nothing but a new secret revokes it. */
const MAX_LIFE_SECONDS = 30 * 24 * 3600;
/** Types of tokens that authorize a request (RFC 9068). Tokens of other types have other purposes (RFC 8725, section 3.11). */
const TYPE = /^(?:application\/)?(?:at\+)?jwt$/i;
const MALFORMED = "it is malformed";

/** The claims of a token, and whether a key of the provider's key set has verified it. */
interface VerifiedJwt {
  claims: JWTPayload;
  byKeySet: boolean;
}

/** Checks signature, type and claims of a JWT. Throws `invalid_token`, or `unavailable` if the key set cannot be fetched. */
export async function verifyClaims(
  provider: IdentityProvider,
  token: string,
  clock: Clock,
): Promise<VerifiedJwt> {
  const now = clock();
  const { alg, kid } = await headerOf(token);
  try {
    const { payload: claims, protectedHeader, byKeySet } = await verify(provider, token, alg, new Date(now));
    if (!isAccessToken(protectedHeader.typ)) throw refused("its type (typ) must be JWT, at+jwt or missing");
    const latest = now / 1000 + CLOCK_SKEW_SECONDS;
    if (claims.iat! > latest) throw notYetValid("iat");
    if (alg === HMAC && claims.exp! > latest + MAX_LIFE_SECONDS)
      throw refused("it expires in more than 30 days (claim exp)", "Create one with an earlier exp.");
    return { claims, byKeySet };
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    const { code, claim, reason } = error as { code?: string; claim?: string; reason?: string };
    if (claim === "nbf" && reason === "check_failed") throw notYetValid(claim);
    // The library's error for a key that is too short has no code.
    if (code === undefined && provider.keySet?.isWeak(kid)) {
      const key = kid === undefined ? "without an id" : JSON.stringify(kid);
      throw refused(
        `its key ${key} is an RSA key of less than 2048 bits`,
        "Use a longer key at the provider.",
      );
    }
    throw refused(reasonOf(provider, code, claim));
  }
}

async function headerOf(token: string): Promise<ProtectedHeaderParameters> {
  const { decodeProtectedHeader } = await import("jose");
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw refused(MALFORMED);
  }
}

/**
 * Verifies with the keys of this algorithm, until one fits. The algorithm alone decides which: a public key is never a secret,
 * and no other header of the token brings or names a key from elsewhere.
 */
async function verify(
  { secrets, publicKey, keySet, issuer, audience }: IdentityProvider,
  token: string,
  algorithm: string | undefined,
  currentDate: Date,
): Promise<JWTVerifyResult & { byKeySet: boolean }> {
  const { jwtVerify, errors } = await import("jose");
  const options = {
    algorithms: [algorithm ?? ""],
    ...(issuer !== null && { issuer }),
    ...(audience !== null && { audience }),
    currentDate,
    clockTolerance: CLOCK_SKEW_SECONDS,
    requiredClaims: ["exp", "sub"],
  };
  const publicKeys = publicKey && publicKey.algorithm === algorithm ? [publicKey.key] : [];
  const ownKeys = algorithm === HMAC ? secrets.map((secret) => Buffer.from(secret)) : publicKeys;
  let failure: unknown = new errors.JOSEAlgNotAllowed("no key has this algorithm");
  for (const key of ownKeys) {
    try {
      return { ...(await jwtVerify(token, key, options)), byKeySet: false };
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      failure = error;
    }
  }
  if (!keySet || !OF_KEY_SET.includes(algorithm ?? "")) throw failure;
  const known = await keySet.demand();
  const verified = await jwtVerify(token, known, options).catch(async (error) => {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    return jwtVerify(token, await keySet.newerThan(known), options);
  });
  return { ...verified, byKeySet: true };
}

/** `typ` is the header's value, of any type. */
function isAccessToken(typ: unknown): boolean {
  return typ === undefined || (typeof typ === "string" && TYPE.test(typ));
}

/** Creates the error of a JWT that is not accepted. */
export function refused(
  reason: string,
  remedy = "Get a new one.",
  options: { param?: string } = {},
): ParleyError {
  return new ParleyError("invalid_token", `The JWT was rejected: ${reason}. ${remedy}`, options);
}

function notYetValid(claim: string): ParleyError {
  return refused(
    `it is not valid yet (claim ${claim})`,
    "Wait, or correct the clock of the issuer or of this server.",
  );
}

/** Returns the reason in our words. A stranger gets no more details about a refused token. */
function reasonOf(provider: IdentityProvider, code: string | undefined, claim: string | undefined): string {
  switch (code) {
    case "ERR_JWT_EXPIRED":
      return "it has expired";
    case "ERR_JWT_CLAIM_VALIDATION_FAILED":
      return `the claim ${claim} is missing or has the wrong value`;
    case "ERR_JOSE_ALG_NOT_ALLOWED":
      return `its algorithm must be one of ${algorithmsOf(provider).join(", ")}`;
    case "ERR_JWKS_NO_MATCHING_KEY":
      return "its key is not in the key set of the provider";
    case "ERR_JWKS_MULTIPLE_MATCHING_KEYS":
      return "its header must name the key (kid)";
    case "ERR_JWS_SIGNATURE_VERIFICATION_FAILED":
      return "its signature is invalid";
    default:
      return MALFORMED;
  }
}

function algorithmsOf({ secrets, publicKey, keySet }: IdentityProvider): string[] {
  const own = [...(secrets.length > 0 ? [HMAC] : []), ...(publicKey ? [publicKey.algorithm] : [])];
  return [...new Set([...own, ...(keySet ? OF_KEY_SET : [])])];
}
