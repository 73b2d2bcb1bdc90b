import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { writes } from "../../src/db/writes.ts";

const QUERIES = new URL("../../src/db/queries/", import.meta.url);

test("the registry has each write that a query file exports, and no two have the same name", async () => {
  const names: string[] = ["runIdempotent", "runActed"];
  for (const file of readdirSync(QUERIES, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const exported = Object.entries<object>(await import(new URL(file, QUERIES).href));
    for (const [name, value] of exported) if (name.endsWith("Writes")) names.push(...Object.keys(value));
  }
  assert.deepEqual(Object.keys(writes).sort(), names.sort());
});
