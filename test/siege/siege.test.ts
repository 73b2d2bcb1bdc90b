// All attacks on one server, one after the other; and it is as it was before.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { isLong, scaled } from "../faults/scale.ts";
import { noProc } from "../faults/usage.ts";
import { RESOURCES } from "./resources.ts";
import { Target } from "./target.ts";

/** Suites that join a server that is there. `npm test` runs them on servers of their own. */
const JOINING = ["test/fuzz/*.test.ts", "test/corpora/*.test.ts"];

async function runJoining(t: TestContext, target: Target): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const how = ["--test", "--test-concurrency=1", "--test-reporter=./test/reporter.ts"];
  const suites = spawn(process.execPath, [...how, ...globSync(JOINING)], {
    env: { ...env, PARLEY_TEST_SERVER: target.joined },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  for await (const chunk of suites.stdout) output += chunk;
  if (suites.exitCode === null) await once(suites, "close");
  for (const line of output.trim().split("\n")) t.diagnostic(line.trim());
  assert.equal(suites.exitCode, 0);
}

test("under siege a server answers others, and when it is over it is as it was", {
  skip: noProc,
  timeout: 3_600_000,
}, async (t) => {
  const target = await Target.start(t);
  // What the code loads and keeps at its first use is no leak.
  const first = (short: number) => Math.ceil(short / 2);
  for (const attack of Object.values(RESOURCES)) await attack(target, first);
  const before = target.memory;
  for (const [name, attack] of Object.entries(RESOURCES)) {
    const begun = performance.now();
    const tried = await attack(target, scaled);
    t.diagnostic(`${tried} ${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    await target.answers();
  }
  if (isLong) await runJoining(t, target);
  await target.isAsBefore(t, before);
});
