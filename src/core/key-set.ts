import type { createLocalJWKSet, JSONWebKeySet, JWK } from "jose";
import { ParleyError } from "../errors.ts";
import type { Clock } from "../util/clock.ts";

/** Older keys are fetched again, in the background. */
const REFRESH_MS = 10 * 60 * 1000;
/** For so long keys hold whose address is out of reach. */
const HOLD_MS = 24 * 60 * 60 * 1000;
/** The address is asked at most once in this time, whatever tokens come. */
const COOLDOWN_MS = 30_000;
const FETCH_TIMEOUT_MS = 5000;
const MAX_BYTES = 256 * 1024;
const MAX_KEYS = 100;
/** RS256 demands 2,048 bits (RFC 7518, section 3.3). */
const MIN_MODULUS = 2n ** 2047n;

/** Finds the key that the header of a token names. */
export type Keys = ReturnType<typeof createLocalJWKSet>;

/** The public keys of an identity provider (JWKS, RFC 7517), as they were last fetched. */
export class KeySet {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #failed: (error: unknown) => void;
  readonly #foundWeak: (kids: (string | undefined)[]) => void;
  #keys: Keys | undefined;
  #weak: (string | undefined)[] = [];
  /** What the keys were made of. */
  #text = "";
  #changes = 0;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #triedAt = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;

  /** `failed` is told of each fetch that failed, `foundWeak` of the ids of RSA keys that are too short, once a set. */
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

  /** A number that rises with each change of the keys. */
  changes(): number {
    return this.#changes;
  }

  /** Whether the key of this id, or the one without, is an RSA key that is too short to be accepted. */
  isWeak(kid: string | undefined): boolean {
    return this.#weak.includes(kid);
  }

  /** The keys that hold now; undefined: there are none, or they are too old. Old ones are fetched again meanwhile. */
  current(): Keys | undefined {
    if (!this.#keys || !this.#isWithin(this.#fetchedAt, HOLD_MS)) return undefined;
    if (!this.#isWithin(this.#fetchedAt, REFRESH_MS)) void this.#refresh();
    return this.#keys;
  }

  /** The same, waiting for keys where there are none. Throws `unavailable`. */
  async demand(): Promise<Keys> {
    if (!this.current()) await this.#refresh();
    const keys = this.current();
    if (keys) return keys;
    const seconds = Math.ceil((this.#triedAt + COOLDOWN_MS - this.#clock()) / 1000);
    throw new ParleyError(
      "unavailable",
      "The keys of the identity provider cannot be fetched now. Try again after the time in the header Retry-After.",
      { header: String(Math.max(1, seconds)) },
    );
  }

  /** The keys after another look, for a token whose key is not among these. */
  async newerThan(keys: Keys): Promise<Keys> {
    if (keys === this.#keys) await this.#refresh();
    return this.#keys ?? keys;
  }

  /** A clock that was set back counts as time that has passed. */
  #isWithin(since: number, span: number): boolean {
    const past = this.#clock() - since;
    return past >= 0 && past < span;
  }

  /** Never rejects: whoever wants keys looks what there is then. */
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
  // A redirect could lead to where the operator would never take keys from.
  const response = await fetch(url, {
    redirect: "error",
    headers: { accept: "application/json" },
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The key set was answered with ${response.status}.`);
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
