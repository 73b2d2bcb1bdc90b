import { createHmac, timingSafeEqual } from "node:crypto";
import type { CarriedSecret } from "../db/tables.ts";
import { type Clock, toSeconds } from "../util/clock.ts";

/** Links change once a window, so that an address stays the same for a while and caches can work. */
const WINDOW_SECONDS = 3600;
/**
 * What has longer to live was signed while the clock was wrong, far ahead, and would live as long as the clock was
 * wrong. A link has two windows at most; the third is for a clock that was set back by less.
 */
const MAX_SECONDS_LEFT = 3 * WINDOW_SECONDS;
/** No link that was signed before lives longer. */
export const LINK_LIFE_MS = MAX_SECONDS_LEFT * 1000;

/** Signatures that are kept in memory. */
const MAX_SIGNATURES = 10_000;

/** Signs and checks the addresses of files. */
export interface Links {
  /** The window of now, as a number that changes with the links. */
  window(): number;
  /** The address of a file, valid for one to two windows from now. */
  fileUrl(attachmentId: string, filename: string): string;
  /** The address of a file without a signature, for those who have a token. */
  fileAddress(attachmentId: string, filename: string): string;
  /** Whether the signature is one of ours for this attachment and expiry, and the expiry lies ahead, but not too far. */
  verify(attachmentId: string, expires: string, signature: string): boolean;
  /** Whether the signature is one of ours, whenever it ends. */
  isGenuine(attachmentId: string, expires: string, signature: string): boolean;
  /** Seconds until a link with this expiry ends. */
  secondsLeft(expires: string): number;
}

/**
 * The signature is HMAC-SHA256 over id and expiry. Of several secrets the first signs and all verify, so that a
 * secret can be replaced while its links go on. Those that came with a move verify for a while. `origin` is asked at each
 * use: the port may be chosen at start.
 */
export function createLinks(
  secrets: readonly string[],
  carried: readonly CarriedSecret[],
  origin: () => string,
  clock: Clock,
): Links {
  // An HMAC costs as much as all the rest of a link, and the same are asked for again and again.
  const signatures = new Map<string, string>();

  /** Only what is ours is kept: anybody may ask for anything. */
  function keep(text: string, signature: string): void {
    if (signatures.size >= MAX_SIGNATURES) signatures.clear();
    signatures.set(text, signature);
  }

  function sign(text: string): string {
    const known = signatures.get(text);
    if (known !== undefined) return known;
    const signature = hmac(secrets[0]!, text);
    keep(text, signature);
    return signature;
  }

  function isOurs(text: string, signature: string): boolean {
    const known = signatures.get(text);
    if (known !== undefined && equal(known, signature)) return true;
    const now = clock();
    const old = carried.filter(({ until }) => until > now).map(({ secret }) => secret);
    if (![...secrets, ...old].some((secret) => equal(hmac(secret, text), signature))) return false;
    keep(text, signature);
    return true;
  }

  function fileAddress(attachmentId: string, filename: string): string {
    return `${origin()}/files/${attachmentId}/${encodeURIComponent(filename)}`;
  }

  function window(): number {
    return Math.floor(toSeconds(clock()) / WINDOW_SECONDS);
  }

  function secondsLeft(expires: string): number {
    return Number(expires) - toSeconds(clock());
  }

  return {
    window,
    fileAddress,
    fileUrl(attachmentId, filename) {
      const expires = String((window() + 2) * WINDOW_SECONDS);
      const signature = sign(`${attachmentId}.${expires}`);
      return `${fileAddress(attachmentId, filename)}?expires=${expires}&signature=${signature}`;
    },
    verify(attachmentId, expires, signature) {
      if (!/^[0-9]{1,12}$/.test(expires)) return false;
      const left = secondsLeft(expires);
      if (left <= 0 || left > MAX_SECONDS_LEFT) return false;
      return isOurs(`${attachmentId}.${expires}`, signature);
    },
    isGenuine: (attachmentId, expires, signature) => isOurs(`${attachmentId}.${expires}`, signature),
    secondsLeft,
  };
}

function hmac(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("base64url");
}

function equal(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
