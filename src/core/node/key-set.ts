import type { createLocalJWKSet, JSONWebKeySet, JWK } from "jose";
import { ParleyError } from "../../errors.ts";
import type { Clock } from "../../util/clock.ts";

/** Older keys are fetched again in the background. */
const REFRESH_MS = 10 * 60 * 1000;
/** How long keys stay valid while the provider is unreachable. */
const HOLD_MS = 24 * 60 * 60 * 1000;
/** Keys are fetched at most once in this time, no matter which tokens arrive. */
const COOLDOWN_MS = 30_000;
const FETCH_TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** RS256 requires 2,048 bits (RFC 7518, section 3.3). */
const MIN_MODULUS = 2n ** 2047n;

/** Finds the key that a token's header names. */
export type Keys = ReturnType<typeof createLocalJWKSet>;

/** Fetches and caches the public keys of an identity provider (JWKS, RFC 7517). */
export class KeySet {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #failed: (error: unknown) => void;
  readonly #foundWeak: (kids: (string | undefined)[]) => void;
  #keys: Keys | undefined;
  #weak: (string | undefined)[] = [];
  /** The text that the keys were parsed from. */
  #text = "";
  #changes = 0;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  /** `failed` is called after each failed fetch, and `foundWeak` once per set with the ids of RSA keys that are too short. */
  constructor(
    url: string,
    clock: Clock,
    failed: (error: unknown) => void,
    foundWeak: (kids: (string | undefined)[]) => void,
  ) {
    this.#url = url;
    this.#clock = clock;
    this.#failed = failed;
    this.#foundWeak = foundWeak;
  }

  /** Returns a number that increases whenever the keys change. */
  changes(): number {
    return this.#changes;
  }

  /** Reports whether the key with this id, or the one without an id, is an RSA key that is too short. */
  isWeak(kid: string | undefined): boolean {
    return this.#weak.includes(kid);
  }

  /** Returns the valid keys; undefined if there are none or they are too old. Fetches old ones again in the background. */
  current(): Keys | undefined {
    if (!this.#keys || !this.#isWithin(this.#fetchedAt, HOLD_MS)) return undefined;
    if (!this.#isWithin(this.#fetchedAt, REFRESH_MS)) void this.#refresh();
    return this.#keys;
  }

  /** Returns the valid keys, and waits for them if there are none. Throws `unavailable`. */
  async demand(): Promise<Keys> {
    if (!this.current()) await this.#refresh();
    const keys = this.current();
    if (keys) return keys;
    const seconds = Math.ceil((this.#triedAt + COOLDOWN_MS - this.#clock()) / 1000);
    throw new ParleyError(
      "unavailable",
      "The server cannot fetch the keys of the identity provider. Retry after the time in the Retry-After header.",
      { header: String(Math.max(1, seconds)) },
    );
  }

  /** Fetches again for a token whose key is missing, and returns the keys. */
  async newerThan(keys: Keys): Promise<Keys> {
    if (keys === this.#keys) await this.#refresh();
    return this.#keys ?? keys;
  }

  /** Reports whether less than `span` has passed since `since`. A clock that was set back counts as more. */
  #isWithin(since: number, span: number): boolean {
    const past = this.#clock() - since;
    return past >= 0 && past < span;
  }

  /** Fetches the keys. Never rejects: callers check the result afterwards. */
  #refresh(): Promise<void> {
    if (this.#fetching) return this.#fetching;
    if (this.#isWithin(this.#triedAt, COOLDOWN_MS)) return Promise.resolve();
    this.#triedAt = this.#clock();
    this.#fetching = this.#fetch()
      .catch(this.#failed)
      .finally(() => {
        this.#fetching = undefined;
      });
    return this.#fetching;
  }

  async #fetch(): Promise<void> {
    const fetchedAt = this.#clock();
    const text = await fetchText(this.#url);
    if (text !== this.#text) {
      const { createLocalJWKSet } = await import("jose");
      const set = JSON.parse(text) as JSONWebKeySet;
      if (set?.keys?.length > MAX_KEYS) throw new Error(`The key set has more than ${MAX_KEYS} keys.`);
      this.#keys = createLocalJWKSet(set);
      this.#weak = set.keys.filter(isShortRsa).map(({ kid }) => kid);
      this.#text = text;
      this.#changes++;
      if (this.#weak.length > 0) this.#foundWeak(this.#weak);
    }
    this.#fetchedAt = fetchedAt;
  }
}

function isShortRsa({ kty, n }: JWK): boolean {
  if (kty !== "RSA" || typeof n !== "string") return false;
  return BigInt(`0x0${Buffer.from(n, "base64url").toString("hex")}`) < MIN_MODULUS;
}

async function fetchText(url: string): Promise<string> {
  // Do not follow redirects: they could lead to a server whose keys the operator would not accept.
  const response = await fetch(url, {
    redirect: "error",
    headers: { accept: "application/json" },
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The provider answered the request for its key set with ${response.status}.`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body!) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`The key set has more than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
