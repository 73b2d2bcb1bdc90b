// The Big List of Naughty Strings, over real HTTP.
import { test } from "node:test";
import { startApp, startOn, testConfig } from "../support/app.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { fields } from "./cases/fields.ts";
import { besideFiles, names } from "./cases/names.ts";
import { fieldNames, headers, idempotencyKeys, paths, queries } from "./cases/places.ts";

test("naughty strings in JSON and form fields are stored unchanged or refused, and found", async (t) => {
  t.diagnostic(await fields(await startApp(t)));
});

test("naughty strings as file names and contents are stored unchanged or refused", async (t) => {
  const server = await startApp(t);
  t.diagnostic(await names(server));
  t.diagnostic(await besideFiles(server));
});

test("naughty strings are stored and refused alike on PostgreSQL", async (t) => {
  const databaseUrl = await testDatabase(t);
  const server = await startOn(t, { ...(await testConfig(t)), databaseUrl, secrets: ["s".repeat(32)] });
  t.diagnostic(await fields(server, "another"));
  t.diagnostic(await names(server, 1));
});

test("naughty strings in queries, paths, names of fields, headers and tokens are harmless", async (t) => {
  const server = await startApp(t);
  for (const cases of [queries, paths, fieldNames, headers, idempotencyKeys])
    t.diagnostic(await cases(server));
});
