/** The claims of a token, and how long it is valid. */
export interface TokenClaims {
  /** The app's own id of the user, which never changes: 1 to 255 characters. */
  sub: string;
  /** The display name. */
  name?: string | undefined;
  /** The URL of the picture. */
  picture?: string | undefined;
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

/**
 * Creates a token of HS256 with a secret of `PARLEY_JWT_SECRET`. For back ends only: anyone who has the secret can sign in as any user.
 */
export async function createToken(secret: string, claims: TokenClaims): Promise<string> {
  const { sub, name, picture, scopes, expiresIn = DEFAULT_LIFE_SECONDS, issuer: iss, audience: aud } = claims;
  const iat = Math.floor(Date.now() / 1000);
  const payload = { iss, aud, sub, iat, exp: iat + expiresIn, scope: scopes?.join(" "), name, picture };
  const encoder = new TextEncoder();
  const toPart = (value: object) => toBase64Url(encoder.encode(JSON.stringify(value)));
  const text = `${toPart({ alg: "HS256", typ: "JWT" })}.${toPart(payload)}`;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  return `${text}.${toBase64Url(new Uint8Array(signature))}`;
}

function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}
