// The acceptance suite on two pairs of engines, and in `npm run faults` on all four. Each run is one process, which
// starts one server: in a process for each file it takes four times as long.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runAcceptance } from "../support/acceptance.ts";
import { commandLine, tokenOf } from "../support/command.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { credentials, noS3, storeUrl, testBucket } from "../support/engines/s3.ts";
import { isLong } from "../support/scale.ts";

async function onPostgres(t: TestContext): Promise<Record<string, string>> {
  return {
    PARLEY_DATABASE_URL: await testDatabase(t),
    PARLEY_SECRET: "the secret of the servers under test",
  };
}

function onS3(t: TestContext): Record<string, string> {
  return { PARLEY_STORE: storeUrl(testBucket(t)), ...credentials() };
}

async function runOn(t: TestContext, settings: Record<string, string>): Promise<void> {
  const command = await commandLine(t, settings);
  const server = await command.serve();
  assert.equal((await command.run("user", "add", "second")).code, 0);
  const second = (await command.run("token", "create", "second")).stdout.trim();
  await runAcceptance(t, {
    PARLEY_TEST_URL: command.url,
    PARLEY_TEST_TOKEN: tokenOf(server),
    PARLEY_TEST_TOKEN_2: second,
  });
}

const timeout = 600_000;

test("the acceptance suite passes on SQLite and a disk", { timeout }, (t) => runAcceptance(t, {}));

test("the acceptance suite passes on PostgreSQL and S3", { skip: noS3, timeout }, async (t) =>
  runOn(t, { ...(await onPostgres(t)), ...onS3(t) }),
);

if (isLong) {
  test("the acceptance suite passes on PostgreSQL and a disk", { timeout }, async (t) =>
    runOn(t, await onPostgres(t)),
  );

  test("the acceptance suite passes on SQLite and S3", { skip: noS3, timeout }, (t) => runOn(t, onS3(t)));
}
