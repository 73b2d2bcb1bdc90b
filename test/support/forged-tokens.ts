// Signed tokens that must be refused whichever key verifies the good ones.
import assert from "node:assert/strict";
import { createHash, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { sql } from "../../src/db/sql.ts";
import type { TestApp } from "./app.ts";
import {
  makeKey,
  publicJwk,
  publicPem,
  type SigningKey,
  signJwt,
  signText,
  unsigned,
} from "./identity-provider.ts";

/** A token, and what the answer says. */
type Forged = readonly [token: string, detail: RegExp];
/** Returns the claims of a valid token, with these changes. */
type Claims = (more?: object) => object;

const ALGORITHM = /its algorithm must be one of/;
const MALFORMED = /malformed/;
const SIGNATURE = /its signature is invalid/;

/** Types of tokens that providers sign for other purposes (RFC 8725, section 3.11; RFC 9068). */
const OTHER_TYPES = "secevent+jwt dpop+jwt logout+jwt application/logout+jwt JWS xJWT JWTx".split(" ");
const OTHER_ALGORITHMS =
  "HS384 HS512 RS384 RS512 RS1 PS256 PS384 PS512 ES384 ES512 ES256K Ed448 Ed25519 dir hs256 rs256".split(" ");
const NONE = ["none", "None", "NONE", "nOnE", " none", "none\0", ""];

/** Returns all forged tokens. `key` is the one that the server accepts, with issuer and audience; `now` is in seconds. */
export function forgedTokens(key: SigningKey, claims: Claims, now: number): Forged[] {
  return [
    ...ofClaims(key, claims, now),
    ...ofHeaders(key, claims),
    ...ofKeys(key, claims),
    ...ofForm(key, claims),
  ];
}

/** Tokens that the right key has signed, with wrong claims. */
function ofClaims(key: SigningKey, claims: Claims, now: number): Forged[] {
  const cases: [object, RegExp][] = [
    [{ iss: "https://login.example/other" }, /claim iss/],
    [{ iss: "https://login.example/realm/" }, /claim iss/],
    [{ iss: undefined }, /claim iss/],
    [{ iss: ["https://login.example/realm"] }, /claim iss/],
    [{ aud: "another" }, /claim aud/],
    [{ aud: undefined }, /claim aud/],
    [{ aud: [] }, /claim aud/],
    [{ exp: undefined }, /claim exp/],
    [{ exp: "soon" }, /claim exp/],
    [{ exp: String(now + 600) }, /claim exp/],
    [{ exp: null }, /claim exp/],
    [{ exp: now - 60 }, /expired/],
    [{ exp: now - 60.5 }, /expired/],
    [{ nbf: now + 61 }, /not valid yet .*claim nbf.* Wait/],
    [{ iat: now + 61 }, /not valid yet .*claim iat.* Wait/],
    [{ nbf: "soon" }, /claim nbf .* has the wrong value/],
    [{ iat: "now" }, /claim iat/],
    [{ sub: undefined }, /claim sub/],
    [{ sub: "" }, /claim sub/],
    [{ sub: 7 }, /claim sub/],
    [{ sub: "x".repeat(256) }, /claim sub/],
    [{ sub: "a\0b" }, /claim sub/],
    [{ sub: " ", preferred_username: " " }, /username/],
    [{ sub: "\u200b", preferred_username: "\u200b" }, /at least one of them visible/],
    [{ scope: ["contacts:read"] }, /claim scope/],
    [{ scope: null }, /claim scope/],
    [{ scp: { 0: "contacts:read" } }, /claim scope/],
    [{ scp: ["contacts:read", 7] }, /claim scope/],
    [{ scp: null }, /claim scope/],
  ];
  return cases.map(([more, detail]) => [signJwt(key, claims(more)), detail]);
}

/** Tokens that the right key has signed, with headers that no access token has. */
function ofHeaders(key: SigningKey, claims: Claims): Forged[] {
  const types = [...OTHER_TYPES, "", 1, null, ["JWT"]];
  const critical = [["x"], ["exp"], ["b64"], [], "x", ["alg"]];
  return [
    ...types.map(
      (typ) => [signJwt(key, claims(), { typ }), /type \(typ\) must be JWT, at\+jwt or missing/] as const,
    ),
    ...critical.map((crit) => [signJwt(key, claims(), { crit, x: 1, b64: false }), MALFORMED] as const),
    ...[...OTHER_ALGORITHMS, ...NONE, 7, null, ["HS256"], undefined].map(
      (alg) => [signJwt(key, claims(), { alg }), ALGORITHM] as const,
    ),
  ];
}

/** Tokens that an attacker has signed. */
function ofKeys(key: SigningKey, claims: Claims): Forged[] {
  const stranger = { ...makeKey(key.alg, key.kid) };
  const pem = publicPem(stranger.alg === "HS256" ? makeKey("RS256", "public") : key);
  const sent = unsigned({ alg: "HS256", kid: key.kid, typ: "JWT" }, claims());
  const asSecrets = [
    ...[pem, pem.trimEnd(), pem.replaceAll("\n", "\r\n"), pem.split("\n").slice(1, -2).join("")],
    Buffer.from(pem.split("\n").slice(1, -2).join(""), "base64"),
    ...(key.alg === "HS256"
      ? []
      : [JSON.stringify(publicJwk(key)), JSON.stringify(key.publicKey.export({ format: "jwk" }))]),
    ...["", "\0", "secret", "null", "undefined", key.kid],
  ];
  const own = stranger.alg === "HS256" ? makeKey("ES256", "own") : stranger;
  const embedded: object[] = [
    { jwk: publicJwk(own) },
    { jku: "http://127.0.0.1:1/keys" },
    { x5u: "http://127.0.0.1:1/certificate" },
    { x5c: [own.publicKey.export({ type: "spki", format: "der" }).toString("base64")] },
    { x5t: createHash("sha1").update("certificate").digest("base64url") },
  ];
  const kids = [
    "../../../../dev/null",
    "/dev/null",
    "' OR '1'='1",
    "x'; DROP TABLE identities; --",
    "key\0",
    "__proto__",
  ];
  return [
    [signJwt(stranger, claims()), SIGNATURE],
    ...asSecrets.map(
      (secret) =>
        [
          `${sent}.${createHmac("sha256", secret).update(sent).digest("base64url")}`,
          /algorithm|signature/,
        ] as const,
    ),
    ...embedded.map(
      (header) => [signJwt({ ...own, kid: key.kid }, claims(), header), /algorithm|signature/] as const,
    ),
    ...kids.map((kid) => [signJwt(stranger, claims(), { kid }), /signature|key is not in/] as const),
    ...ofOtherCurves(key, claims),
  ];
}

/** Signatures of other curves and encodings, with the accepted algorithm in the header. */
function ofOtherCurves(key: SigningKey, claims: Claims): Forged[] {
  const text = unsigned({ alg: key.alg, kid: key.kid }, claims());
  const signatures = ["P-384", "P-521", "secp256k1"].map((namedCurve) =>
    sign("sha256", Buffer.from(text), {
      key: generateKeyPairSync("ec", { namedCurve }).privateKey,
      dsaEncoding: "ieee-p1363",
    }),
  );
  const der = key.alg === "ES256" ? [sign("sha256", Buffer.from(text), key.privateKey)] : [];
  const { length } = Buffer.from(signText(key, text).split(".")[2]!, "base64url");
  const constant = [Buffer.alloc(length), Buffer.alloc(length, 255), Buffer.alloc(1)];
  return [...signatures, ...der, ...constant].map(
    (signature) => [`${text}.${signature.toString("base64url")}`, SIGNATURE] as const,
  );
}

/** Tokens of another form: parts too few or too many, and encrypted ones (JWE). */
function ofForm(key: SigningKey, claims: Claims): Forged[] {
  const good = signJwt(key, claims());
  const none = unsigned({ alg: "none", kid: key.kid }, claims());
  const encrypted = Buffer.from(JSON.stringify({ alg: "dir", enc: "A256GCM", kid: key.kid })).toString(
    "base64url",
  );
  return [
    [`${none}.AAAA`, ALGORITHM],
    ...[
      `${none}.`,
      none,
      "a.b.c",
      `${good}.${good.split(".")[2]}`,
      `${good}..`,
      `..${good}`,
      `${good}.a.b`,
    ].map((token) => [token, MALFORMED] as const),
    [`${encrypted}..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA`, MALFORMED],
    [`${encrypted}.AAAA.AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA`, MALFORMED],
    [`${encrypted}.AAAA.AAAA`, ALGORITHM],
  ];
}

/** Fails unless each token is refused with its reason, and none has created a user. */
export async function refuseForged({ url, app }: TestApp, tokens: readonly Forged[]): Promise<void> {
  for (const [token, detail] of tokens) {
    const response = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    const body = (await response.json()) as { code: string; detail: string };
    const shown = Buffer.from(token.split(".")[0]!, "base64url").toString();
    assert.deepEqual([response.status, body.code], [401, "invalid_token"], `${detail} ${shown}`);
    assert.match(body.detail, detail, shown);
    assert.equal(response.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
  }
  assert.deepEqual(await app.core.db.all(sql`SELECT id FROM users`), []);
}
