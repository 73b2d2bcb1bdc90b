import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { CarriedSecret } from "../../db/queries/upkeep/tables.ts";
import { type Clock, toSeconds } from "../../util/clock.ts";

/** Links change once per window, so a URL stays the same for a while and can be cached. */
const WINDOW_SECONDS = 3600;
/**
 * Links are valid for at most two windows. The third allows for a clock that was set back by less than one. A link that expires
 * even later was signed while the clock was far ahead, and is refused.
 */
const MAX_SECONDS_LEFT = 3 * WINDOW_SECONDS;
/** No existing link is valid for longer. */
export const LINK_LIFE_MS = MAX_SECONDS_LEFT * 1000;

/** How many signatures are kept in memory. */
const MAX_SIGNATURES = 10_000;

/** Returns the subject that is signed for a file. It has the user, so that a link is valid only as long as that user sees it. */
export function fileSubject(attachmentId: string, userId: string): string {
  return `file.${userId}.${attachmentId}`;
}

/** The parts of an archive's URL: its filename, the user who sees the files, and the files. */
export interface ArchiveAddress {
  filename: string;
  user: string;
  files: string;
}

/** Returns the subject that is signed for an archive. Its length does not depend on the number of files. */
export function archiveSubject({ filename, user, files }: ArchiveAddress): string {
  return `archive.${hash("sha256", `${user}\n${files}\n${filename}`, "base64url")}`;
}

/** Signs and verifies the URLs of files and archives. Subjects are made by `fileSubject` or `archiveSubject`. */
export interface Links {
  /** Returns the number of the current window, which changes whenever links do. */
  window(): number;
  /** Returns the URL of a file for this user, valid for one to two windows from now. */
  fileUrl(userId: string, attachmentId: string, filename: string): string;
  /** Returns the URL of a picture's preview, valid as long as that of the file. */
  previewUrl(userId: string, attachmentId: string, filename: string, width: number): string;
  /** Returns the URL of a file without a signature, for users with a token. */
  fileAddress(attachmentId: string, filename: string): string;
  /** Returns the URL of an archive, and when it expires in Unix seconds: at the same time as that of a file. */
  archiveUrl(address: ArchiveAddress): { url: string; expiresAt: number };
  /** Reports whether we signed this subject and expiry, and the expiry is in the future, but not too far. */
  verify(subject: string, expires: string, signature: string): boolean;
  /** Reports whether we signed it, even if it has expired. */
  isGenuine(subject: string, expires: string, signature: string): boolean;
  /** Returns the seconds until a link with this expiry expires. */
  secondsLeft(expires: string): number;
}

/**
 * Signs with HMAC-SHA256 over subject and expiry. The first of several secrets signs and all verify, so that a secret can be
 * replaced while its links stay valid. Secrets from before a move verify for a while. `origin` is called at each use, because
 * the port may be chosen at start.
 */
export function createLinks(
  secrets: readonly string[],
  carried: readonly CarriedSecret[],
  origin: () => string,
  clock: Clock,
): Links {
  // An HMAC costs as much as the rest of a link, and the same links are requested again and again.
  const signatures = new Map<string, string>();

  /** Keeps a signature that we made, never one from a request. */
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

  /** Returns the end of a query, signed now. */
  function signed(subject: string, expiresAt: number): string {
    return `expires=${expiresAt}&signature=${sign(`${subject}.${expiresAt}`)}`;
  }

  function expiry(): number {
    return (window() + 2) * WINDOW_SECONDS;
  }

  function fileUrl(userId: string, attachmentId: string, filename: string): string {
    const query = `user=${userId}&${signed(fileSubject(attachmentId, userId), expiry())}`;
    return `${fileAddress(attachmentId, filename)}?${query}`;
  }

  return {
    window,
    fileAddress,
    fileUrl,
    previewUrl: (userId, attachmentId, filename, width) =>
      `${fileUrl(userId, attachmentId, filename)}&width=${width}`,
    archiveUrl(address) {
      const { filename, user, files } = address;
      const expiresAt = expiry();
      const query = `user=${user}&files=${files}&${signed(archiveSubject(address), expiresAt)}`;
      return { url: `${origin()}/archives/${encodeURIComponent(filename)}?${query}`, expiresAt };
    },
    verify(subject, expires, signature) {
      if (!/^[0-9]{1,12}$/.test(expires)) return false;
      const left = secondsLeft(expires);
      if (left <= 0 || left > MAX_SECONDS_LEFT) return false;
      return isOurs(`${subject}.${expires}`, signature);
    },
    isGenuine: (subject, expires, signature) => isOurs(`${subject}.${expires}`, signature),
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
