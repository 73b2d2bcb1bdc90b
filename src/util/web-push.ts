import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  ECDH,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { type Clock, toSeconds } from "./clock.ts";

const CURVE = "prime256v1";
const PUBLIC_KEY_BYTES = 65;
const SALT_BYTES = 16;
const RECORD_BYTES = 4096;
/** Marks the last record of a message, here the only one (RFC 8188). */
const LAST = 2;

/** The recipient of an encrypted message. Both fields are base64url. */
export interface PushReceiver {
  /** An uncompressed point on P-256. */
  publicKey: string;
  /** The authentication secret of the subscription. */
  secret: string;
}

/** Reports whether the text is an uncompressed point on P-256, in base64url without padding. */
export function isPublicKey(text: string): boolean {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length !== PUBLIC_KEY_BYTES || bytes.toString("base64url") !== text) return false;
  try {
    return ECDH.convertKey(text, CURVE, "base64url", "base64url", "uncompressed") === text;
  } catch {
    return false;
  }
}

/** Returns a key pair for one message. */
export function createSender(): ECDH {
  const sender = createECDH(CURVE);
  sender.generateKeys();
  return sender;
}

/**
 * Encrypts a text for the receiver (RFC 8291, aes128gcm). Pads it to `length` bytes, so that the size reveals
 * nothing. Each message needs its own sender and salt.
 */
export function encryptPush(
  text: string,
  { publicKey, secret }: PushReceiver,
  { sender, salt, length }: { sender: ECDH; salt: Uint8Array; length: number },
): Uint8Array {
  const theirs = Buffer.from(publicKey, "base64url");
  const ours = sender.getPublicKey();
  const shared = sender.computeSecret(theirs);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), theirs, ours]);
  const key = derive(shared, Buffer.from(secret, "base64url"), info, 32);
  const padded = Buffer.alloc(length + 1);
  padded[padded.write(text)] = LAST;
  const cipher = createCipheriv(
    "aes-128-gcm",
    derive(key, salt, "Content-Encoding: aes128gcm\0", 16),
    derive(key, salt, "Content-Encoding: nonce\0", 12),
  );
  const head = Buffer.alloc(SALT_BYTES + 5);
  head.set(salt);
  head.writeUInt32BE(RECORD_BYTES, SALT_BYTES);
  head[SALT_BYTES + 4] = ours.length;
  return Buffer.concat([head, ours, cipher.update(padded), cipher.final(), cipher.getAuthTag()]);
}

function derive(key: Uint8Array, salt: Uint8Array, info: string | Uint8Array, length: number): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, salt, info, length));
}

/** RFC 8292 allows 24 hours. This leaves room for clocks that differ. */
const SIGNATURE_LIFE_MS = 12 * 3600 * 1000;
/** Push servers whose signature is cached. The least recently used are dropped first. */
const MAX_ORIGINS = 1000;

/** Returns a new private key on P-256, in base64url. */
export function createPushKey(): string {
  return generateKeyPairSync("ec", { namedCurve: CURVE }).privateKey.export({ format: "jwk" }).d!;
}

/** Identifies this service to push servers (VAPID, RFC 8292). */
export class PushIdentity {
  /** The key that clients subscribe with, in base64url. */
  readonly publicKey: string;
  readonly #key: KeyObject;
  readonly #contact: () => string | undefined;
  readonly #clock: Clock;
  /** By origin. */
  readonly #signed = new Map<string, { authorization: string; until: number }>();

  /** `contact` returns a URL at which the operators of push servers can reach the operator of this service. */
  constructor(privateKey: string, contact: () => string | undefined, clock: Clock) {
    const pair = createECDH(CURVE);
    pair.setPrivateKey(privateKey, "base64url");
    const point = pair.getPublicKey();
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((each) => each.toString("base64url"));
    const jwk = { kty: "EC", crv: "P-256", d: privateKey, x: x!, y: y! };
    this.publicKey = point.toString("base64url");
    this.#key = createPrivateKey({ key: jwk, format: "jwk" });
    this.#contact = contact;
    this.#clock = clock;
  }

  /** Returns the `Authorization` header for a push server. */
  authorization(origin: string): string {
    const now = this.#clock();
    const known = this.#signed.get(origin);
    if (known && known.until > now) return known.authorization;
    const authorization = `vapid t=${this.#sign(origin, now)}, k=${this.publicKey}`;
    this.#signed.delete(origin);
    // Renewed early, for push servers whose clock is ahead.
    this.#signed.set(origin, { authorization, until: now + SIGNATURE_LIFE_MS / 2 });
    if (this.#signed.size > MAX_ORIGINS) this.#signed.delete(this.#signed.keys().next().value!);
    return authorization;
  }

  #sign(origin: string, now: number): string {
    const claims = { aud: origin, exp: toSeconds(now + SIGNATURE_LIFE_MS), sub: this.#contact() };
    const text = [{ typ: "JWT", alg: "ES256" }, claims].map(toBase64).join(".");
    const signature = sign("sha256", Buffer.from(text), { key: this.#key, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }
}

function toBase64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
