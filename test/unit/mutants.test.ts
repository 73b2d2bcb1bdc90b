// That `npm run mutants` still says what it means: the texts that it replaces stand where it looks for them.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { mutants } from "../../tools/mutants/list.ts";

const ROOT = join(import.meta.dirname, "../..");

test("each mutant replaces a text that stands in its file exactly once, and names tests that are there", () => {
  for (const { name, file, find, replace, tests } of mutants) {
    const pieces = readFileSync(join(ROOT, file), "utf8").split(find);
    assert.equal(pieces.length - 1, 1, `${name}: how often its text stands in ${file}`);
    assert.notEqual(find, replace, name);
    assert.ok(tests.length > 0, name);
    for (const each of tests)
      assert.ok(existsSync(join(ROOT, "test", `${each}.test.ts`)), `${name}: ${each}`);
  }
  assert.equal(new Set(mutants.map(({ name }) => name)).size, mutants.length);
});
