import { type ErrorCode, ParleyError } from "../../errors.ts";
import type { Caller, Verified } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { JWT_FORM, verifyJwt } from "./sign-in-jwt.ts";
import { lookUpToken } from "./tokens.ts";
import { findActing } from "./users.ts";

/** Errors of a check after which a caller may not continue. */
const ENDING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid_token", "user_paused"]);

/** Returns a recently verified token from memory. */
export function findVerified(core: Core, token: string): Verified | undefined {
  const verified = core.verifiedTokens.find(token, countRevocations(core));
  if (!verified || verified.expiresAt <= core.clock()) return undefined;
  // The provider's keys may have expired since.
  if (verified.byKeySet && !core.identityProvider?.keySet?.current()) return undefined;
  return verified;
}

/** Reports whether the token was valid at its last use, so that it does not count as a guess. */
export function wasValid(core: Core, token: string): boolean {
  return core.verifiedTokens.has(token);
}

/**
 * Verifies a token that `findVerified` does not find. Throws `invalid_token` if it is malformed, unknown, revoked or expired, and
 * what `verifyJwt` throws.
 */
export function verifyToken(core: Core, token: string): Promise<Verified> {
  return verify(core, token, false);
}

/** Verifies a token of an existing user, without creating one. Throws as `verifyToken` does, and `user_paused`. */
export async function verifyKnownToken(core: Core, token: string): Promise<Verified> {
  return requireActive(await verify(core, token, true));
}

/** Throws `user_paused`. */
export function requireActive(verified: Verified): Verified {
  if (verified.isPaused) throw new ParleyError("user_paused");
  return verified;
}

async function verify(core: Core, token: string, known: boolean): Promise<Verified> {
  const before = countRevocations(core);
  const provider = core.identityProvider;
  try {
    const verified = await (provider && JWT_FORM.test(token)
      ? verifyJwt(core, provider, token, known)
      : lookUpToken(core, token));
    if (verified.expiresAt <= core.clock()) throw new ParleyError("invalid_token");
    core.verifiedTokens.add(token, verified, before);
    return verified;
  } catch (error) {
    if (error instanceof ParleyError && error.code === "invalid_token") core.verifiedTokens.forget(token);
    throw error;
  }
}

/**
 * Returns why a token is no longer valid for its caller, or the user as whom its holder acts is erased or paused; undefined if the
 * caller may continue. Never creates a user, who may have been deleted.
 */
export async function findRefusal(core: Core, token: string, caller: Caller): Promise<ErrorCode | undefined> {
  const { userId, actedById } = caller;
  try {
    const found = findVerified(core, token);
    const { caller: holder } = found ? requireActive(found) : await verifyKnownToken(core, token);
    if (holder.userId !== (actedById ?? userId)) return "invalid_token";
    if (actedById !== null && (await findActing(core, { id: userId })) === undefined) return "invalid_token";
    return undefined;
  } catch (error) {
    // If the check fails for another reason, the token counts as valid until the next check.
    return error instanceof ParleyError && ENDING.has(error.code) ? error.code : undefined;
  }
}

/** Returns a number that changes when tokens or keys of the provider are revoked, or users paused; null if it is unknown. */
export function countRevocations({ db, identityProvider }: Core): number | null {
  const revocations = db.revocations();
  return revocations === null ? null : revocations + (identityProvider?.keySet?.changes() ?? 0);
}
