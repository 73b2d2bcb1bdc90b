// What an identity provider signs for other ends than access, by the same keys: logout tokens, security events, DPoP proofs
// (RFC 8725, section 3.11; RFC 9068).
import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { startOn, testConfig } from "../support/app.ts";
import { askWithJwt, makeKey, startProvider } from "../support/identity-provider.ts";

const ACCESS = ["JWT", "jwt", "at+jwt", "AT+JWT", "application/jwt", "application/at+jwt", undefined];
const OTHERS = [
  ...["secevent+jwt", "dpop+jwt", "logout+jwt", "application/logout+jwt", "JWS", "xJWT", "JWTx", ""],
  ...[1, null, ["JWT"]],
];

test("a signed token of another type than JWT and at+jwt is 401 invalid_token, and makes no user", async (t) => {
  const key = makeKey("ES256", "key");
  const provider = await startProvider(t, key);
  const server = await startOn(t, { ...(await testConfig(t)), jwt: provider.settings });
  const ask = (typ: unknown) => askWithJwt(server.url, key, { sub: "ada" }, { typ });
  for (const typ of OTHERS) {
    const [status, { code, detail }] = await ask(typ);
    assert.deepEqual([status, code], [401, "invalid_token"], `${typ}`);
    assert.match(detail as string, /type \(typ\) must be JWT, at\+jwt or missing/);
  }
  assert.deepEqual(await server.app.core.db.all(sql`SELECT id FROM users`), []);
  for (const typ of ACCESS) assert.equal((await ask(typ))[0], 200, `${typ}`);
});
