// What others wrote to break parsers, over real HTTP.
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

/** Some texts are longer than a body may be by default. */
const LIMITS = { maxBodyBytes: 1024 * 1024 };

test("JSON, and what is nearly JSON", async (t) => {
  const server = await startApp(t, LIMITS);
  for (const cases of [bodies, values, prototypes]) t.diagnostic(await cases(server));
});

test("forms, and what is nearly a form", async (t) => {
  const server = await startApp(t);
  for (const cases of [forms, parts, parameters, partHeaders, urlencoded]) t.diagnostic(await cases(server));
});

test("addresses, and those that only seem to be elsewhere", async (t) => {
  const server = await startApp(t);
  for (const cases of [avatars, webhooks]) t.diagnostic(await cases(server));
});

test("webhooks are verified by the reference of their standard, and forged ones are not", async (t) => {
  const server = await startApp(t, { webhooksAllowPrivate: true });
  t.diagnostic(await signatures(server, await receiver(t)));
});

test("tokens that an identity provider has signed, whatever it has signed", async (t) => {
  const key = makeKey("EdDSA", "first");
  const { settings } = await startProvider(t, key);
  const server = await startOn(t, { ...(await testConfig(t)), jwt: settings });
  for (const cases of [claims, tokenTexts]) t.diagnostic(await cases(server, key));
});
