// Signed tokens (JWT): which keys verify them, what they allow, and whose they are.
import type { Mutant } from "./mutant.ts";

export const signIn: readonly Mutant[] = [
  {
    name: "a signed token can have the scope admin",
    find: "DEFAULT_SCOPES.filter((each) => named.has(each))",
    replace: '[...DEFAULT_SCOPES, "admin"].filter((each) => named.has(each))',
    tests: ["http/jwt-scopes"],
  },
  {
    name: "a signed token that names no scope of Parley has all",
    find: "return new Set(DEFAULT_SCOPES.filter((each) => named.has(each)));",
    replace:
      "const some = DEFAULT_SCOPES.filter((each) => named.has(each)); return new Set(some.length === 0 ? DEFAULT_SCOPES : some);",
    tests: ["http/jwt-scopes"],
  },
  {
    name: "the claim scp of a signed token is ignored",
    find: "if (scope === undefined && scp === undefined) return",
    replace: "if (scope === undefined) return",
    tests: ["http/jwt-scopes"],
  },
  {
    name: "a signed token for another service is accepted",
    find: "...(audience !== null && { audience }),",
    replace: "",
    tests: ["http/jwt-forged"],
  },
  {
    name: "a signed token of another issuer is accepted",
    find: "...(issuer !== null && { issuer }),",
    replace: "",
    tests: ["http/jwt-forged"],
  },
  {
    name: "a signed token without expiry is accepted",
    find: 'requiredClaims: ["exp", "sub"],',
    replace: 'requiredClaims: ["sub"],',
    tests: ["http/jwt-forged"],
  },
  {
    name: "a signed token of any type is accepted",
    find: 'typ === undefined || (typeof typ === "string" && TYPE.test(typ))',
    replace: "true || typ === TYPE",
    tests: ["http/jwt-forged"],
  },
  {
    name: "the signature of a key set is not checked",
    find: "const verified = await jwtVerify(token, known, options).catch(async (error) => {",
    replace:
      'const verified = await Promise.resolve({ payload: JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()), protectedHeader: { typ: "JWT" } } as unknown as JWTVerifyResult).catch(async (error) => {',
    tests: ["http/jwt"],
  },
  {
    name: "a public key is also a secret",
    find: "algorithm === HMAC ? secrets.map((secret) => Buffer.from(secret)) : publicKeys;",
    replace:
      'algorithm === HMAC ? [...secrets, ...(publicKey ? [publicKey.key.export({ type: "spki", format: "pem" })] : [])].map((secret) => Buffer.from(secret as string)) : publicKeys;',
    tests: ["http/jwt-forged"],
  },
  {
    name: "only the first secret verifies",
    find: "? secrets.map((secret)",
    replace: "? secrets.slice(0, 1).map((secret)",
    tests: ["http/jwt-keys"],
  },
  {
    name: "a token of HS256 may live for years",
    find: "if (alg === HMAC && claims.exp! > latest + MAX_LIFE_SECONDS)",
    replace: 'if (alg === "none" && claims.exp! > latest + MAX_LIFE_SECONDS)',
    tests: ["http/jwt-keys"],
  },
  {
    name: "short secrets are accepted",
    find: "Buffer.byteLength(secret) >= MIN_SECRET_BYTES && ",
    replace: "MIN_SECRET_BYTES > 0 && ",
    tests: ["unit/config"],
  },
  {
    name: "a PEM is accepted as a secret",
    find: ' && !secret.startsWith("-----BEGIN")',
    replace: "",
    tests: ["unit/config"],
  },
  {
    name: "a private key is accepted as a public one",
    find: "if (jwk.d !== undefined || ",
    replace: "if (",
    tests: ["http/jwt-keys"],
  },
  {
    name: "short RSA keys of the settings are accepted",
    find: 'type === "rsa" && modulusLength >= 2048',
    replace: 'type === "rsa" && modulusLength >= 1024',
    tests: ["http/jwt-keys"],
  },
  {
    name: "elliptic curves of any kind are accepted",
    find: ' && namedCurve === "prime256v1"',
    replace: ' && namedCurve !== ""',
    tests: ["http/jwt-keys"],
  },
  {
    name: "a signed token signs in as any user of its name",
    find: "const namesake = linksUsernames ?",
    replace: 'const namesake = linksUsernames || identity.subject !== "" ?',
    tests: ["http/linking"],
  },
  {
    name: "a user with an identity is linked by name to another",
    find: "AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = users.id)",
    replace: "",
    tests: ["http/linking"],
  },
  {
    name: "an identity is found by its subject alone",
    find: "WHERE i.issuer = ${issuer} AND i.subject = ${subject}`",
    replace: "WHERE (i.issuer = ${issuer} OR i.issuer <> '') AND i.subject = ${subject}`",
    tests: ["http/linking"],
  },
  {
    name: "a verified token outlives the identity of its user",
    find: "sql`DELETE FROM identities WHERE user_id = ${userId}`, NOTE_REVOCATION, recordEntry(",
    replace: "sql`DELETE FROM identities WHERE user_id = ${userId}`, recordEntry(",
    tests: ["http/linking"],
  },
  {
    name: "claims overwrite what the user has set",
    find: "&& !isSet.includes(name)",
    replace: "&& isSet.length > 0",
    tests: ["http/jwt-profiles"],
  },
  {
    name: "an outage of the OpenID provider counts as a guess",
    find: "if (isOutage(error)) throw unavailable();",
    replace: "if (isOutage(error)) this.#failed(error);",
    tests: ["http/openid"],
  },
  {
    name: "guesses at sign-in links are not limited",
    find: "username: await checkGuess(context, request, reply, () => getLinkUsername(core, code))",
    replace: "username: await getLinkUsername(core, code)",
    tests: ["http/sign-in-link"],
  },
];
