// Limits under concurrency: on PostgreSQL, transactions that count the same rows conflict.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "../../../src/core/people/tokens.ts";
import { startOn, testConfig } from "../../support/app.ts";
import { asker } from "../../support/asker.ts";
import { testDatabase } from "../../support/engines/postgres.ts";

/** Enough to cause conflicts. */
const AT_ONCE = 200;

test("200 concurrent creates of one user on PostgreSQL all succeed, up to the limit (tokens, webhooks, contacts)", async (t) => {
  const databaseUrl = await testDatabase(t);
  const config = await testConfig(t, {
    maxTokens: AT_ONCE,
    maxWebhooks: AT_ONCE - 1,
    maxContacts: AT_ONCE - 1,
  });
  const server = await startOn(t, { ...config, databaseUrl, secrets: ["s".repeat(32)] });
  const admin = await server.user({ scopes: SCOPES });
  const ask = asker(server, admin);
  const made: [path: string, fields: (count: number) => Record<string, string>][] = [
    ["/v1/tokens", () => ({ user_id: admin.id })],
    ["/v1/webhooks", () => ({ url: "https://receiver.invalid/" })],
    ["/v1/contacts", (count) => ({ username: `contact-${count}`, phone_number: "555" })],
  ];
  for (const [path, fields] of made) {
    const asked = Array.from({ length: AT_ONCE }, (_, count) => ask("POST", path, fields(count)));
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort();
    // The user already has one token, so one create fewer succeeds.
    assert.deepEqual(statuses, [...Array<number>(AT_ONCE - 1).fill(201), 409], path);
  }
});
