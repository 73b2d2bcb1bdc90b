// A shop adds chat for a thousand customers, from its back end to a bot.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Parley } from "../../../packages/parley-client/src/index.ts";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { commandLine, tokenOf } from "../../support/command.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { AUDIENCE, ISSUER, makeKey, signJwt, startProvider } from "../../support/identity-provider.ts";
import { ENGINES, type Engine, SECRETS } from "../../support/on-engines.ts";
import { Shop } from "./shop-back-end.ts";

const SECRET = "a secret that the shop and the server share";
const CUSTOMERS = 1000;
const STAFF = 10;
const key = makeKey("ES256", "provider");

const picture = (name: string) => `https://shop.example/${name}.png`;

async function start(t: TestContext, engine: Engine) {
  const provider = await startProvider(t, key);
  const stored =
    engine === "SQLite" ? {} : { PARLEY_DATABASE_URL: await testDatabase(t), PARLEY_SECRET: SECRETS[0]! };
  const command = await commandLine(t, {
    ...stored,
    PARLEY_JWT_SECRET: SECRET,
    PARLEY_JWT_ISSUER: ISSUER,
    PARLEY_JWT_AUDIENCE: AUDIENCE,
    PARLEY_JWT_JWKS_URL: provider.settings.keySetUrl,
  });
  const { url } = command;
  const operator = new Parley({ url, token: tokenOf(await command.serve()) });
  const { id: user_id } = await operator.me();
  const { token } = await operator.tokens.create({ user_id, scopes: [...SCOPES] });
  return {
    url,
    operator,
    shop: new Shop({ url, token, jwt: { secret: SECRET, issuer: ISSUER, audience: AUDIENCE } }),
  };
}

/** Signs in at the provider, which knows the same subjects. */
function signInAtProvider(subject: string, name: string): string {
  const exp = Math.floor(Date.now() / 1000) + 600;
  return signJwt(key, { iss: ISSUER, aud: AUDIENCE, sub: subject, exp, name, picture: picture(name) });
}

/** Writes to the bot, and waits for its answer to the first message. */
async function askBot(ben: Parley): Promise<void> {
  const desk = await ben.contacts.create({ username: "helpdesk", phone_number: "000" });
  await ben.messages.create({ conversation_id: desk.conversation_id, text: "Hello?" });
  for await (const change of ben.messages.watch(desk.conversation_id)) {
    if (change.type !== "message.created" || change.message.sender?.kind !== "bot") continue;
    assert.equal(change.message.text, "Hello Ben, we answer soon.");
    return;
  }
  assert.fail("the watch ended without an answer");
}

for (const engine of ENGINES) {
  test(`a shop with ${CUSTOMERS} customers holds no token of a user (${engine})`, async (t) => {
    const { url, operator, shop } = await start(t, engine);
    for (let i = 0; i < STAFF; i++) await shop.addStaff(`staff-${i}`, `helper${i}`);
    const rows = Array.from(
      { length: CUSTOMERS },
      (_, i) => `customer-${i},user${i},+1555${1000 + i},helper${i % STAFF}`,
    );
    const csv = ["subject,username,phone_number,helper", ...rows].join("\n");
    await shop.importCustomers(csv);
    // Nothing changes.
    await shop.importCustomers([csv.split("\n")[0], ...rows.slice(0, 50)].join("\n"));

    const stop = new AbortController();
    const { promise: isReady, resolve } = Promise.withResolvers<void>();
    const running = shop.runBot("helpdesk", stop.signal, resolve);
    await isReady;

    // Ann signs in by a token of the shop, Ben by one of the provider, and the helper of both by one of the shop.
    const as = (token: string) => new Parley({ url, token });
    const ann = as(await shop.signIn("customer-0", "Ann", picture("Ann")));
    const ben = as(signInAtProvider("customer-10", "Ben"));
    const helper = as(await shop.signIn("staff-0", "Mei", picture("Mei")));
    const names = [];
    for (const each of [ann, ben, helper]) {
      const { username, display_name, avatar_url } = await each.me();
      names.push([username, display_name, avatar_url]);
    }
    assert.deepEqual(names, [
      ["user0", "Ann", picture("Ann")],
      ["user10", "Ben", picture("Ben")],
      ["helper0", "Mei", picture("Mei")],
    ]);

    // Each contact shows the profile of its user.
    const [contact, ...others] = (await ann.contacts.list()).data;
    assert.deepEqual(others, []);
    assert.deepEqual(
      [contact!.username, contact!.profile_name, contact!.avatar_url],
      ["helper0", "Mei", picture("Mei")],
    );
    let customers = 0;
    for await (const each of helper.contacts.list({ limit: 100 })) {
      if (each.username === "user10") assert.equal(each.profile_name, "Ben");
      customers++;
    }
    assert.equal(customers, CUSTOMERS / STAFF);

    // An order is a group of three, made by one request.
    const order = await shop.openOrder(1815, "helper0", ["user0", "user10"]);
    const conversation_id = order.conversation_id!;
    const members = await Array.fromAsync(ben.groups.listMembers(order.id));
    assert.deepEqual(members.map(({ display_name }) => display_name).sort(), ["Ann", "Ben", "Mei"]);
    await ann.messages.create({ conversation_id, text: "Where is it?" });
    for (const each of [ben, helper]) {
      const [newest] = (await each.messages.list({ conversation_id, limit: 1 })).data;
      const { sender, text } = newest!;
      assert.deepEqual(
        [text, sender?.display_name, sender?.avatar_url],
        ["Where is it?", "Ann", picture("Ann")],
      );
    }

    await askBot(ben);
    stop.abort();
    await running.catch((error) => assert.equal(error.name, "AbortError"));

    const tokens = await Array.fromAsync(operator.tokens.list());
    const admin = await operator.me();
    assert.deepEqual(new Set(tokens.map(({ user_id }) => user_id)), new Set([admin.id]));
  });
}
