// Inputs that others wrote to break parsers, over real HTTP.
import { type TestContext, test } from "node:test";
import type { JwtSettings } from "../../src/config/jwt-settings.ts";
import { startApp, startOn, testConfig } from "../support/app.ts";
import { makeKey, ownSettings, type SigningKey, startProvider } from "../support/identity-provider.ts";
import { receiver } from "../support/receiver.ts";
import { claims, tokenTexts } from "./cases/claims.ts";
import { urlencoded } from "./cases/forms.ts";
import { bodies, prototypes, values } from "./cases/json.ts";
import { forms, parameters, partHeaders, parts } from "./cases/multipart.ts";
import { signatures } from "./cases/signatures.ts";
import { avatars, webhooks } from "./cases/urls.ts";

/** Some texts exceed the default limit of a body. */
const LIMITS = { maxBodyBytes: 1024 * 1024 };

test("valid and invalid JSON is accepted or refused as documented", async (t) => {
  const server = await startApp(t, LIMITS);
  for (const cases of [bodies, values, prototypes]) t.diagnostic(await cases(server));
});

test("valid and invalid forms are accepted or refused as documented", async (t) => {
  const server = await startApp(t);
  for (const cases of [forms, parts, parameters, partHeaders, urlencoded]) t.diagnostic(await cases(server));
});

test("webhook URLs to private addresses are refused in every spelling", async (t) => {
  const server = await startApp(t);
  for (const cases of [avatars, webhooks]) t.diagnostic(await cases(server));
});

test("the Standard Webhooks library verifies deliveries and refuses forged ones", async (t) => {
  const server = await startApp(t, { webhooksAllowPrivate: true });
  t.diagnostic(await signatures(server, await receiver(t)));
});

const OF_PROVIDER = makeKey("EdDSA", "first");
const KINDS: [name: string, SigningKey, (t: TestContext) => JwtSettings | Promise<JwtSettings>][] = [
  ["a key set", OF_PROVIDER, async (t) => (await startProvider(t, OF_PROVIDER)).settings],
  ...(["HS256", "RS256", "ES256"] as const).map((alg): (typeof KINDS)[number] => {
    const key = makeKey(alg, "own");
    return [alg, key, () => ownSettings(key)];
  }),
];
for (const [name, key, settings] of KINDS) {
  test(`signed tokens (${name}) with odd claims are accepted or refused as documented`, async (t) => {
    const server = await startOn(t, { ...(await testConfig(t)), jwt: await settings(t) });
    for (const cases of [claims, tokenTexts]) t.diagnostic(await cases(server, key));
  });
}
