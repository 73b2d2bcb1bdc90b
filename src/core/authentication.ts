import { ParleyError } from "../errors.ts";
import type { Caller, Verified } from "./caller.ts";
import type { Core } from "./core.ts";
import { JWT_FORM, verifyJwt } from "./jwt.ts";
import { lookUpToken } from "./tokens.ts";

/** The caller of a token that was verified lately and is kept in memory. */
export function knownCaller(core: Core, token: string): Caller | undefined {
  const verified = core.verifiedTokens.find(token, changes(core));
  if (!verified || isExpired(core, verified)) return undefined;
  // The keys that a signed token was verified by may have become too old.
  if (verified.caller.tokenId === null && !core.identityProvider!.keys.current()) return undefined;
  return verified.caller;
}

/**
 * The caller of any other token. Throws `invalid_token` where it is malformed, unknown, revoked or expired, and what
 * `verifyJwt` throws.
 */
export function verifyToken(core: Core, token: string): Promise<Caller> {
  return verify(core, token, false);
}

async function verify(core: Core, token: string, known: boolean): Promise<Caller> {
  const before = changes(core);
  const provider = core.identityProvider;
  const verified = await (provider && JWT_FORM.test(token)
    ? verifyJwt(core, provider, token, known)
    : lookUpToken(core, token));
  if (isExpired(core, verified)) throw new ParleyError("invalid_token");
  core.verifiedTokens.add(token, verified, before);
  return verified.caller;
}

/** Whether a token that was this user's is so still. To look again makes nobody: the user may have been erased. */
export async function isStillValid(core: Core, token: string, userId: string): Promise<boolean> {
  try {
    const caller = knownCaller(core, token) ?? (await verify(core, token, true));
    return caller.userId === userId;
  } catch (error) {
    // Where it cannot be told now, it will be before long.
    return !(error instanceof ParleyError && error.code === "invalid_token");
  }
}

function isExpired(core: Core, { expiresAt }: Verified): boolean {
  return expiresAt !== null && expiresAt <= core.clock();
}

/** Another number after tokens or keys of the provider went; null where it is not known now. */
function changes({ db, identityProvider }: Core): number | null {
  const revocations = db.revocations();
  return revocations === null ? null : revocations + (identityProvider?.keys.changes() ?? 0);
}
