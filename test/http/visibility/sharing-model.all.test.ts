// Three users do anything in any order. The service answers like the model of docs/sharing.md, and stores nothing
// that the model does not know.
import { test } from "node:test";
import { operationsOf, WEIGHTS } from "./sharing-operations.ts";
import { runWorlds, TEST_MS } from "./sharing-run.ts";

const NAMES = ["ann", "bob", "cyd"];
const WORLDS = {
  names: NAMES,
  operations: operationsOf(NAMES.length, WEIGHTS),
  length: 90,
  count: 16,
  checkEvery: 8,
};

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: what three users share matches the model`, { timeout: TEST_MS }, (t) =>
    runWorlds(t, engine, WORLDS),
  );
}
