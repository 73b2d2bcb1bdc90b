// Many users who get the same contact at the same time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { asker, type Json } from "../../support/asker.ts";
import { ENGINES, startOnEngine } from "../../support/on-engines.ts";
import { type Person, person } from "../../support/people.ts";

const USERS = 150;

for (const engine of ENGINES)
  test(`users who add one bot at once, or are connected with one user, all get it (${engine})`, async (t) => {
    const server = await startOnEngine(t, engine, { maxContacts: 0 });
    const shop = await server.user({ scopes: SCOPES });
    const bot = { username: "bot", kind: "bot", accepts_everyone: true };
    assert.equal((await asker(server, shop)("POST", "/v1/users", bot)).status, 201);
    const desk = await person(server, "desk");
    const people: Person[] = [];
    for (let i = 0; i < USERS; i++) people.push(await person(server, `person${i}`));
    const statuses = async (make: (who: Person) => Promise<{ status: number; body: Json }>) => [
      ...new Set(
        (await Promise.all(people.map(make))).map(({ status, body }) => `${status} ${body.code ?? ""}`),
      ),
    ];
    const phone_number = "+15550100";
    const add = (who: Person) =>
      asker(server, who)("POST", "/v1/contacts", { username: "bot", phone_number });
    assert.deepEqual(await statuses(add), ["201 "]);
    const connect = ({ name }: Person) =>
      asker(server, shop)(
        "POST",
        "/v1/contacts",
        { username: name, mutual: true },
        { "parley-act-as": desk.id },
      );
    assert.deepEqual(await statuses(connect), ["201 "]);
  });
