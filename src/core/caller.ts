/** Who is asking, as a verified token says. */
export interface Caller {
  userId: string;
  /** Null: a token of an identity provider. */
  tokenId: string | null;
  scopes: ReadonlySet<string>;
}

/** Verified tokens that are kept in memory. */
const MAX_VERIFIED = 10_000;

export interface Verified {
  caller: Caller;
  /** Milliseconds; null: never. */
  expiresAt: number | null;
}

/** Tokens that were looked up lately, forgotten as soon as any token goes. */
export class VerifiedTokens {
  readonly #tokens = new Map<string, Verified>();
  #revocations = 0;

  /** `revocations` is the count of the database at this moment; null: it is not known, and nothing is taken from here. */
  find(token: string, revocations: number | null): Verified | undefined {
    if (revocations === null) return undefined;
    if (revocations === this.#revocations) return this.#tokens.get(token);
    this.#tokens.clear();
    this.#revocations = revocations;
    return undefined;
  }

  /** `revocations` is the count before the token was looked up: where it has risen since, the token may be gone. */
  add(token: string, verified: Verified, revocations: number | null): void {
    if (revocations !== this.#revocations) return;
    if (this.#tokens.size >= MAX_VERIFIED) this.#tokens.delete(this.#tokens.keys().next().value!);
    this.#tokens.set(token, verified);
  }
}
