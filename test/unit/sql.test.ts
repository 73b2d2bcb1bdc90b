import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, list, padded, raw, Statement, sql, type Value } from "../../src/db/sql.ts";

/** One call site, as the cache sees it. */
const at = (one: Value | Statement, other: Value | Statement) => sql`SELECT ${one} FROM t WHERE ${other}`;

test("values become parameters and statements become text, anywhere in a template", () => {
  const a = sql`a = ${1}`;
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(at("x", a), new Statement("SELECT ? FROM t WHERE a = ?", ["x", 1]));
    assert.deepEqual(at(a, "x"), new Statement("SELECT a = ? FROM t WHERE ?", [1, "x"]));
    assert.deepEqual(at(a, a), new Statement("SELECT a = ? FROM t WHERE a = ?", [1, 1]));
    assert.deepEqual(at(null, "x"), new Statement("SELECT ? FROM t WHERE ?", [null, "x"]));
    assert.deepEqual(at(raw("n"), EMPTY), new Statement("SELECT n FROM t WHERE ", []));
    assert.deepEqual(at(EMPTY, raw("n")), new Statement("SELECT  FROM t WHERE n", []));
  }
});

test("SQL text is built once per combination of parts", () => {
  assert.equal(at(1, list([1, 2])).sql, "SELECT ? FROM t WHERE ?, ?");
  assert.equal(at(1, list([1, 2, 3])).sql, "SELECT ? FROM t WHERE ?, ?, ?");
  assert.equal(at(2, list(["a", "b"])).sql, "SELECT ? FROM t WHERE ?, ?");
});

test("a padded list has the same values, in one of few lengths", () => {
  for (let length = 0; length <= 300; length++) {
    const values = Array.from({ length }, (_, i) => i);
    const longer = padded(values);
    assert.deepEqual([...new Set(longer)], values);
    assert.ok(length === 0 ? longer.length === 0 : Number.isInteger(Math.log2(longer.length)));
  }
});

test("bytes are a value, not a statement", () => {
  const bytes = new Uint8Array([1]);
  assert.deepEqual(sql`SELECT ${bytes}`, new Statement("SELECT ?", [bytes]));
});

test("an object that resembles a statement is a value", () => {
  const forged = { sql: "1; DROP TABLE t", params: [] } as unknown as Value;
  assert.equal(sql`SELECT ${forged}`.sql, "SELECT ?");
});
