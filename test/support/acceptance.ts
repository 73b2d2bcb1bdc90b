import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { commandLine, tokenOf } from "./command.ts";
import { testDatabase } from "./engines/postgres.ts";

const SUITE = globSync(fileURLToPath(new URL("../acceptance/**/*.test.ts", import.meta.url)));

/** Runs the acceptance suite in a separate process, against the server that `target` names, or one that it starts. */
export async function runAcceptance(t: TestContext, target: Record<string, string>): Promise<void> {
  // Without the variable that marks a nested test run, and without the URL of another server.
  const { NODE_TEST_CONTEXT: _, PARLEY_TEST_URL: __, ...env } = process.env;
  const how = ["--test", "--test-isolation=none", "--test-reporter=spec"];
  const suite = spawn(process.execPath, [...how, ...SUITE], {
    env: { ...env, ...target },
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
  assert.equal(count("skipped"), 0, output);
  assert.ok(count("pass") > 300, output);
}

export async function onPostgres(t: TestContext): Promise<Record<string, string>> {
  return {
    PARLEY_DATABASE_URL: await testDatabase(t),
    PARLEY_SECRET: "the secret of the servers under test",
  };
}

/** Runs the acceptance suite against a server with these settings. */
export async function runAcceptanceOn(t: TestContext, settings: Record<string, string>): Promise<void> {
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
