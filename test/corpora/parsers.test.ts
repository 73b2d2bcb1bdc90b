// Inputs that others wrote to break parsers, over real HTTP.
import { test } from "node:test";
import { startApp, startOn, testConfig } from "../support/app.ts";
import { makeKey, startProvider } from "../support/identity-provider.ts";
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

test("signed tokens of an identity provider with odd claims are accepted or refused as documented", async (t) => {
  const key = makeKey("EdDSA", "first");
  const { settings } = await startProvider(t, key);
  const server = await startOn(t, { ...(await testConfig(t)), jwt: settings });
  for (const cases of [claims, tokenTexts]) t.diagnostic(await cases(server, key));
});
