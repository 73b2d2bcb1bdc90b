/** The claims of a token, and how long it is valid. */
export interface TokenClaims {
  /** The app's own id of the user, which never changes: 1 to 255 characters, none of them a control character. */
  sub: string;
  /** The display name. */
  name?: string | undefined;
  /** The URL of the picture. */
  picture?: string | undefined;
  /** The username of a new user, if it is not `sub`. */
  preferred_username?: string | undefined;
  phone_number?: string | undefined;
  /** What the token may do: all scopes except `admin` and `act_as` by default. */
  scopes?: readonly string[] | undefined;
  /** Seconds, 3600 by default; at most 30 days. */
  expiresIn?: number | undefined;
  /** `PARLEY_JWT_ISSUER` of the server, if it is set. */
  issuer?: string | undefined;
  /** `PARLEY_JWT_AUDIENCE` of the server, if it is set. */
  audience?: string | undefined;
}

const DEFAULT_LIFE_SECONDS = 3600;
const MAX_LIFE_SECONDS = 30 * 24 * 3600;
const MIN_SECRET_BYTES = 32;
/** In code points. */
const MAX_SUBJECT_LENGTH = 255;

/**
 * Creates a token of HS256 with a secret of `PARLEY_JWT_SECRET`. For back ends only: anyone who has the secret can sign in as any user.
 * Throws a TypeError for a secret, `sub` or `expiresIn` that the server would refuse.
 */
export async function createToken(secret: string, claims: TokenClaims): Promise<string> {
  const { sub, scopes, expiresIn = DEFAULT_LIFE_SECONDS, issuer: iss, audience: aud, ...profile } = claims;
  const encoder = new TextEncoder();
  if (typeof secret !== "string" || secret.includes(",") || encoder.encode(secret).length < MIN_SECRET_BYTES)
    throw new TypeError("secret must be one secret of PARLEY_JWT_SECRET, at least 32 bytes without commas.");
  if (!isSubject(sub))
    throw new TypeError("sub must be a string of 1 to 255 characters without control characters.");
  if (!Number.isInteger(expiresIn) || expiresIn <= 0 || expiresIn > MAX_LIFE_SECONDS)
    throw new TypeError("expiresIn must be a number of seconds up to 30 days, without a fraction.");
  const iat = Math.floor(Date.now() / 1000);
  const { name, picture, preferred_username, phone_number } = profile;
  const payload = {
    ...{ iss, aud, sub, iat, exp: iat + expiresIn, scope: scopes?.join(" ") },
    ...{ name, picture, preferred_username, phone_number },
  };
  const toPart = (value: object) => toBase64Url(encoder.encode(JSON.stringify(value)));
  const text = `${toPart({ alg: "HS256", typ: "JWT" })}.${toPart(payload)}`;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  return `${text}.${toBase64Url(new Uint8Array(signature))}`;
}

function isSubject(value: unknown): boolean {
  const isText = typeof value === "string" && value.isWellFormed() && !/\p{Cc}/u.test(value);
  return isText && value !== "" && [...value].length <= MAX_SUBJECT_LENGTH;
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}
