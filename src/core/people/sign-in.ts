import { ParleyError } from "../../errors.ts";
import type { Caller, Verified } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { JWT_FORM, verifyJwt } from "./sign-in-jwt.ts";
import { lookUpToken } from "./tokens.ts";
import { findActing } from "./users.ts";

/** Returns the caller of a recently verified token from memory. */
export function knownCaller(core: Core, token: string): Caller | undefined {
  const verified = core.verifiedTokens.find(token, changes(core));
  if (!verified || verified.expiresAt <= core.clock()) return undefined;
  // The provider's keys may have expired since.
  if (verified.byKeySet && !core.identityProvider?.keySet?.current()) return undefined;
  return verified.caller;
}

/** Reports whether the token was valid at its last use, so that it does not count as a guess. */
export function wasValid(core: Core, token: string): boolean {
  return core.verifiedTokens.has(token);
}

/**
 * Verifies a token that `knownCaller` does not know, and returns its caller. Throws `invalid_token` if it is malformed, unknown,
 * revoked or expired, and what `verifyJwt` throws.
 */
export async function verifyToken(core: Core, token: string): Promise<Caller> {
  return (await verify(core, token, false)).caller;
}

/** Verifies a token of an existing user, without creating one. Throws as `verifyToken` does. */
export function verifyKnownToken(core: Core, token: string): Promise<Verified> {
  return verify(core, token, true);
}

async function verify(core: Core, token: string, known: boolean): Promise<Verified> {
  const before = changes(core);
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
 * Reports whether a token is still valid for its caller, and the user as whom its holder acts still exists. Never creates a user,
 * who may have been deleted.
 */
export async function isStillValid(core: Core, token: string, caller: Caller): Promise<boolean> {
  const { userId, actedById } = caller;
  try {
    const holder = knownCaller(core, token) ?? (await verify(core, token, true)).caller;
    if (holder.userId !== (actedById ?? userId)) return false;
    return actedById === null || (await findActing(core, { id: userId })) !== undefined;
  } catch (error) {
    // If the check fails for another reason, the token counts as valid until the next check.
    return !(error instanceof ParleyError && error.code === "invalid_token");
  }
}

/** Returns a number that differs after tokens or keys of the provider were revoked; null if it is unknown. */
function changes({ db, identityProvider }: Core): number | null {
  const revocations = db.revocations();
  return revocations === null ? null : revocations + (identityProvider?.keySet?.changes() ?? 0);
}
