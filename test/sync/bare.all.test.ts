// A runtime such as React Native's: no EventSource, IndexedDB, Web Locks, BroadcastChannel or crypto.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const SUITES = ["sync", "reduce", "races", "damage", "erased", "refusals", "lists", "stores"];

test("the suite passes in a runtime without the APIs of browsers", async () => {
  const missing = `for (const name of ["EventSource", "indexedDB", "BroadcastChannel"]) delete globalThis[name];
    for (const name of ["navigator", "crypto"]) Object.defineProperty(globalThis, name, { value: undefined });`;
  const bare = `--import=data:text/javascript,${encodeURIComponent(missing)}`;
  const files = SUITES.map((name) => new URL(`${name}.test.ts`, import.meta.url).pathname);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, [bare, "--test", "--test-isolation=none", ...files], {
    env,
  });
  assert.match(stdout, /pass [1-9]/);
  assert.match(stdout, /fail 0/);
});
