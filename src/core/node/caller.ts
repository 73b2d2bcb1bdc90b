import { ParleyError } from "../../errors.ts";

/** The user and the rights of a verified token. */
export interface Caller {
  userId: string;
  /** Null for a JWT. */
  tokenId: string | null;
  scopes: ReadonlySet<string>;
  /** The holder of the token, if the holder acts as the user; otherwise null. */
  actedById: string | null;
}

/** Throws `insufficient_scope` unless the token has the scope. `what` is the field that only such a token may send. */
export function demandScope({ scopes }: Caller, scope: string, what: string): void {
  if (scopes.has(scope)) return;
  throw new ParleyError("insufficient_scope", `${what} needs the scope ${scope}.`, { header: scope });
}

/** Verified tokens kept in memory. */
const MAX_VERIFIED = 10_000;

export interface Verified {
  caller: Caller;
  /** Whether an administrator has paused the user. */
  isPaused: boolean;
  /** Milliseconds; infinity means never. */
  expiresAt: number;
  /** Set for a JWT that a key of the provider's key set has verified: it is valid only as long as the set is. */
  byKeySet?: boolean;
}

/** A verified token and the change count when it was verified. */
interface Known extends Verified {
  changes: number;
}

/**
 * Caches recently verified tokens. After any token is revoked, any user is paused or resumed, or a key of the identity provider
 * is removed, every token is verified again at its next use, because for revocations by other processes only their number is known.
 */
export class VerifiedTokens {
  readonly #tokens = new Map<string, Known>();

  /** `changes` differs after tokens were revoked; null means unknown, and nothing is found. */
  find(token: string, changes: number | null): Verified | undefined {
    const known = this.#tokens.get(token);
    return known?.changes === changes ? known : undefined;
  }

  /** Reports whether the token was valid when it was last verified. */
  has(token: string): boolean {
    return this.#tokens.has(token);
  }

  /** `changes` is the count from before the verification: if it differs by now, the token may be revoked. */
  add(token: string, verified: Verified, changes: number | null): void {
    if (changes === null) return;
    if (this.#tokens.size >= MAX_VERIFIED && !this.has(token)) this.forget(this.#tokens.keys().next().value!);
    this.#tokens.set(token, { ...verified, changes });
  }

  forget(token: string): void {
    this.#tokens.delete(token);
  }
}
