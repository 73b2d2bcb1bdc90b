import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { mutants } from "../../tools/mutants/list.ts";
import { locate, locateTest, readSources } from "../../tools/mutants/mutant.ts";

const ROOT = join(import.meta.dirname, "../..");

test("the code of each mutant occurs exactly once in the sources, and its test files exist", () => {
  const sources = readSources(ROOT);
  const problems: string[] = [];
  for (const mutant of mutants) {
    try {
      const { text, mutated } = locate(sources, mutant);
      assert.notEqual(mutated, text, mutant.name);
      assert.ok(mutant.tests.length > 0, mutant.name);
      for (const each of mutant.tests) locateTest(ROOT, each);
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  assert.deepEqual(problems, []);
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
});
