// The acceptance suite on every other pair of engines; on SQLite and a disk it runs by itself.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { commandLine, tokenOf } from "../http/command.ts";
import { testDatabase } from "./postgres.ts";
import { credentials, noS3, storeUrl, testBucket } from "./s3.ts";

const SUITE = globSync(fileURLToPath(new URL("../acceptance/*.test.ts", import.meta.url)));

async function onPostgres(t: TestContext): Promise<Record<string, string>> {
  return {
    PARLEY_DATABASE_URL: await testDatabase(t),
    PARLEY_SECRET: "the secret of the servers under test",
  };
}

function onS3(t: TestContext): Record<string, string> {
  return { PARLEY_STORE: storeUrl(testBucket(t)), ...credentials() };
}

async function runSuite(t: TestContext, settings: Record<string, string>): Promise<void> {
  const command = await commandLine(t, settings);
  const server = await command.serve();
  assert.equal((await command.run("user", "add", "second")).code, 0);
  const second = (await command.run("token", "create", "second")).stdout.trim();
  // Without the variable by which a run of tests knows that it is part of another.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const tokens = { PARLEY_TEST_TOKEN: tokenOf(server), PARLEY_TEST_TOKEN_2: second };
  // In one process: to start one for each file would take most of the time.
  const how = ["--test", "--test-isolation=none", "--test-reporter=spec"];
  const suite = spawn(process.execPath, [...how, ...SUITE], {
    env: { ...env, PARLEY_TEST_URL: command.url, ...tokens },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  suite.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const [code] = await once(suite, "close");
  const count = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(output)?.[1]);
  t.diagnostic(`${count("pass")} passed, ${count("skipped")} skipped`);
  assert.equal(code, 0, output.slice(output.indexOf("failing tests")));
  assert.equal(count("fail"), 0);
  assert.ok(count("pass") > 300, output);
}

test("the acceptance suite passes on PostgreSQL and a disk", async (t) => runSuite(t, await onPostgres(t)));

test("the acceptance suite passes on SQLite and S3", { skip: noS3 }, (t) => runSuite(t, onS3(t)));

test("the acceptance suite passes on PostgreSQL and S3", { skip: noS3 }, async (t) =>
  runSuite(t, { ...(await onPostgres(t)), ...onS3(t) }),
);
