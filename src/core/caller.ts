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

/** Tokens that were verified lately, forgotten as soon as any token goes, or a key of the identity provider. */
export class VerifiedTokens {
  readonly #tokens = new Map<string, Verified>();
  #changes = 0;

  /** `changes` is another number after tokens went; null: it is not known now, and nothing is taken from here. */
  find(token: string, changes: number | null): Verified | undefined {
    if (changes === null) return undefined;
    if (changes === this.#changes) return this.#tokens.get(token);
    this.#tokens.clear();
    this.#changes = changes;
    return undefined;
  }

  /** `changes` is the number before the token was verified: where it is another since, the token may be gone. */
  add(token: string, verified: Verified, changes: number | null): void {
    if (changes !== this.#changes) return;
    if (this.#tokens.size >= MAX_VERIFIED) this.#tokens.delete(this.#tokens.keys().next().value!);
    this.#tokens.set(token, verified);
  }
}
