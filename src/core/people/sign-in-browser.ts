// Sign-ins to the console that need no pasted token: at an OpenID provider, and by a link of the command line.
import type { JWTPayload } from "jose";
import { findUserById } from "../../db/queries/people/users.ts";
import { ParleyError } from "../../errors.ts";
import type { Core } from "../node/core.ts";
import { verifyKnownToken } from "./sign-in.ts";
import { findOrMakeUser } from "./sign-in-jwt.ts";
import { getToken, lookUpToken, makeToken, revokeToken } from "./tokens.ts";

/** A token for the session of a browser. */
export interface SessionToken {
  token: string;
  /** Milliseconds. */
  expiresAt: number;
}

/** The user signs in again after this time, so that somebody whom the provider no longer knows does not stay. */
const SESSION_MS = 24 * 60 * 60 * 1000;
/** The name of the tokens that a sign-in creates, for one session each. */
const SESSION_NAME = "console (sign-in at the provider)";

/**
 * Creates a token for the user of verified claims, and the user at the first sign-in. Throws `username_taken` and `user_paused`.
 */
export async function signInByOpenId(core: Core, claims: JWTPayload): Promise<SessionToken> {
  const user = await findOrMakeUser(core, claims);
  if (!user) throw new ParleyError("invalid_token", "The user was just erased. Sign in again.");
  if (user.paused_at !== null) throw new ParleyError("user_paused");
  const userId = user.user_id;
  const expiresAt = core.clock() + SESSION_MS;
  const { token, row } = makeToken(core, null, userId, { name: SESSION_NAME, expiresAt });
  // The user is the only possible actor.
  await core.db.write("createToken", { ...row, entry: { ...row.entry, actorId: userId } });
  return { token, expiresAt };
}

/** Revokes the token of a session that has ended, if a sign-in has created it. A token that a user has pasted stays. */
export async function revokeSessionToken(core: Core, token: string): Promise<void> {
  try {
    const { caller } = await lookUpToken(core, token);
    const { id, name } = await getToken(core, caller.tokenId!);
    if (name === SESSION_NAME) await revokeToken(core, caller, id);
  } catch (error) {
    // It is a JWT, or was revoked before.
    if (!(error instanceof ParleyError)) throw error;
  }
}

/** How long a sign-in link works. It stays in the history of the browser. */
export const LINK_SECONDS = 120;
const LINK_CONTEXT = "sign-in link";

/** Returns a code that signs a browser in with this token. It contains the token, encrypted. */
export function makeLinkCode(core: Core, token: string): string {
  return core.seal.seal(JSON.stringify([core.clock() + LINK_SECONDS * 1000, token]), LINK_CONTEXT);
}

/**
 * Returns the name of the user as whom such a code signs in: the link may come from somebody else. The code stays valid. Throws what
 * `openLinkCode` and `verifyKnownToken` throw.
 */
export async function getLinkUsername(core: Core, code: string): Promise<string> {
  const { caller } = await verifyKnownToken(core, openLinkCode(core, code));
  const user = await findUserById(core.db, caller.userId);
  if (!user) throw new ParleyError("invalid_token");
  return user.username;
}

/** Returns the token of such a code. Throws `invalid_token` if the code is malformed or has expired. */
export function openLinkCode(core: Core, code: string): string {
  const [until, token] = JSON.parse(core.seal.open(code, LINK_CONTEXT) ?? "[0]");
  if (until > core.clock()) return token;
  throw new ParleyError(
    "invalid_token",
    "The sign-in link is invalid or has expired. Make another: parley login --browser.",
  );
}
