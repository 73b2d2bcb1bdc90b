import { createPublicKey, type KeyObject } from "node:crypto";
import { OperatorError } from "../errors.ts";
import { parseKeySetUrl } from "../util/addresses.ts";
import { parseClaim, parseFlag } from "./parse.ts";
import { type Environment, read, type Setting } from "./setting.ts";

/** A public key and the only algorithm that it verifies. */
interface PublicKey {
  algorithm: "RS256" | "ES256" | "EdDSA";
  key: KeyObject;
}

/** Which signed tokens (JWT) are accepted. At least one of the three kinds of keys is set. */
export interface JwtSettings {
  /** Null: the claim `iss` is not checked. */
  issuer: string | null;
  /** Null: the claim `aud` is not checked. */
  audience: string | null;
  /** The URL of an identity provider's public keys; null: none. */
  keySetUrl: string | null;
  /** They verify HS256; more than one while they are rotated. */
  secrets: readonly string[];
  publicKey: PublicKey | null;
  /** Whether the first token of a subject signs in as the user of its username, if that user has no identity. */
  linksUsernames: boolean;
}

const CLAIM = "a string of 1 to 255 characters, exactly as in the tokens";
/** RFC 7518, section 3.2. */
const MIN_SECRET_BYTES = 32;

export const JWT_SETTINGS = {
  jwtIssuer: {
    name: "PARLEY_JWT_ISSUER",
    accepts: CLAIM,
    fallback: "",
    unset: "not checked; required with `PARLEY_JWT_JWKS_URL`",
    parse: parseClaim,
  },
  jwtAudience: {
    name: "PARLEY_JWT_AUDIENCE",
    accepts: CLAIM,
    fallback: "",
    unset: "not checked; required with `PARLEY_JWT_JWKS_URL`",
    parse: parseClaim,
  },
  jwtKeySetUrl: {
    name: "PARLEY_JWT_JWKS_URL",
    accepts: "the https URL of the provider's key set (http only on this machine), without credentials",
    fallback: "",
    unset: "none",
    parse: parseKeySetUrl,
  },
  jwtSecrets: {
    name: "PARLEY_JWT_SECRET",
    accepts: `one or more secrets of at least ${MIN_SECRET_BYTES} bytes, separated by commas; create one: openssl rand -base64 33`,
    fallback: "",
    unset: "none: tokens of HS256 are not accepted",
    parse: parseJwtSecrets,
  },
  jwtPublicKey: {
    name: "PARLEY_JWT_PUBLIC_KEY",
    accepts:
      "a public key as PEM or JWK: RSA of at least 2048 bits (RS256), P-256 (ES256) or Ed25519 (EdDSA)",
    fallback: "",
    unset: "none",
    parse: parsePublicKey,
  },
  linksUsernames: {
    name: "PARLEY_JWT_LINK_USERNAMES",
    accepts:
      "true (the first token with the username of a user who has no identity signs in as this user) or false",
    fallback: "false",
    parse: parseFlag("false", "true"),
  },
} satisfies Record<string, Setting<unknown>>;

/** Returns null if no signed tokens are accepted. */
export function readJwt(env: Environment): JwtSettings | null {
  const settings: JwtSettings = {
    issuer: read(JWT_SETTINGS.jwtIssuer, env),
    audience: read(JWT_SETTINGS.jwtAudience, env),
    keySetUrl: read(JWT_SETTINGS.jwtKeySetUrl, env),
    secrets: read(JWT_SETTINGS.jwtSecrets, env),
    publicKey: read(JWT_SETTINGS.jwtPublicKey, env),
    linksUsernames: read(JWT_SETTINGS.linksUsernames, env),
  };
  const { issuer, audience, keySetUrl, secrets, publicKey } = settings;
  const hasBoth = issuer !== null && audience !== null;
  if (keySetUrl !== null ? hasBoth : secrets.length > 0 || publicKey !== null) return settings;
  if (keySetUrl === null && issuer === null && audience === null) return null;
  throw new OperatorError(
    "PARLEY_JWT_ISSUER, PARLEY_JWT_AUDIENCE and PARLEY_JWT_JWKS_URL must be set together. Issuer or audience can be set without the others only with PARLEY_JWT_SECRET or PARLEY_JWT_PUBLIC_KEY, and without a key set.",
  );
}

/** Refuses a PEM: everybody may know a public key, so as a secret it would let everybody sign tokens. */
function parseJwtSecrets(text: string): string[] | undefined {
  if (text === "") return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  const isSecret = (secret: string) =>
    Buffer.byteLength(secret) >= MIN_SECRET_BYTES && !secret.startsWith("-----BEGIN");
  return secrets.every(isSecret) ? secrets : undefined;
}

/** Files of environment variables have `\n` for the line ends of a PEM. */
function parsePublicKey(text: string): PublicKey | null | undefined {
  if (text === "") return null;
  try {
    return text.trimStart().startsWith("{") ? parseJwk(text) : parsePem(text.replaceAll("\\n", "\n").trim());
  } catch {
    return undefined;
  }
}

/** A private key is refused: it must not be on this server. */
function parsePem(pem: string): PublicKey | undefined {
  return /^-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(pem) ? toPublicKey(createPublicKey(pem)) : undefined;
}

function parseJwk(text: string): PublicKey | undefined {
  const jwk = JSON.parse(text) as Record<string, string | undefined>;
  if (jwk.d !== undefined || (jwk.use ?? "sig") !== "sig") return undefined;
  const key = toPublicKey(createPublicKey({ key: jwk, format: "jwk" }));
  return key && (jwk.alg ?? key.algorithm) === key.algorithm ? key : undefined;
}

function toPublicKey(key: KeyObject): PublicKey | undefined {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  const type = key.asymmetricKeyType;
  if (type === "rsa" && modulusLength >= 2048) return { algorithm: "RS256", key };
  if (type === "ec" && namedCurve === "prime256v1") return { algorithm: "ES256", key };
  return type === "ed25519" ? { algorithm: "EdDSA", key } : undefined;
}
