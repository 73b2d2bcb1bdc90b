import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findRepeatedName, isStorable, parseStrictly } from "../../src/util/json.ts";
import { findSyntaxFault, toLineAndColumn } from "../../src/util/json-syntax.ts";
import { holds } from "../support/property.ts";

const REPEATED: [json: string, name: string, inside: string | undefined, offset: number][] = [
  ['{"a":1,"a":2}', "a", undefined, 7],
  ['{"a":1,"b":{"a":1},"a":2}', "a", undefined, 19],
  ['{"a":{"b":1,"b":2}}', "b", "a", 12],
  ['{"a":{"a":1,"a":2}}', "a", "a", 12],
  ['{"a":[0,{"b":1},{"c":{"d":1,"\\u0064":2}}],"e":1}', "d", "a", 28],
  ['{"a":{},"b":[[{"":1,"":2}]]}', "", "b", 20],
  ['{"a":[1],"a":2}', "a", undefined, 9],
  ['{"a":"{","a":2}', "a", undefined, 9],
];

for (const [json, name, inside, offset] of REPEATED) {
  test(`${json} has a duplicate name`, () => {
    assert.deepEqual(findRepeatedName(json), { name, inside, offset });
    assert.equal(parseStrictly(json), undefined);
  });
}

const DISTINCT = [
  '{"a":{"a":{"a":1}},"b":{"a":1}}',
  '{"a":[{"b":1},{"b":1}]}',
  '{"a":"\\"b\\":1,\\"b\\":2"}',
  "[]",
  "1",
];

for (const json of DISTINCT) {
  test(`${json} has no duplicate name in one object`, () => {
    assert.equal(findRepeatedName(json), undefined);
    assert.deepEqual(parseStrictly(json), JSON.parse(json));
  });
}

test("invalid JSON is undefined", () => {
  for (const text of ["", "{a:1}", "{", "undefined"]) assert.equal(parseStrictly(text), undefined);
});

for (const json of ["null", "true", "1.5", '"a\\r\\nb"', '{"a":[null,"b",-1e308]}'])
  test(`${json} is storable`, () => assert.ok(isStorable(JSON.parse(json), 2)));

for (const json of ["1e999", '"\\u0000"', "[1e999]", '{"__proto__":1}', '{"\\u0000":1}', '{"a":"\\u0000"}'])
  test(`${json} is not storable`, () => assert.ok(!isStorable(JSON.parse(json), 2)));

test("depth counts objects and arrays alike", () => {
  assert.ok(isStorable({ a: [{}], b: 1 }, 3));
  assert.ok(!isStorable({ a: [{}], b: 1 }, 2));
  assert.ok(!isStorable({}, 0));
  assert.ok(isStorable("text", 0));
});

const FAULTS: [json: string, offset: number, expected: string][] = [
  ["", 0, "a value"],
  ["  ", 2, "a value"],
  ["{", 1, "a name in double quotes"],
  ["{'a':1}", 1, "a name in double quotes"],
  ['{"a":1,}', 7, "a name in double quotes"],
  ['{"a" 1}', 5, "a colon"],
  ['{"a":}', 5, "a value"],
  ['{"a":1 "b":2}', 7, "a comma or }"],
  ["[1 2]", 3, "a comma or ]"],
  ["[1,]", 3, "a value"],
  ["[1}", 2, "a comma or ]"],
  ["[01]", 1, "a value"],
  ["[1.]", 1, "a value"],
  ["[truely]", 1, "a value"],
  ["{} x", 3, "the end"],
  ['["a\nb"]', 3, "a double quote"],
  ['["\\x"]', 2, "a valid escape"],
  ['["abc', 5, "a double quote"],
  ["\ufeff{}", 0, "a value"],
];

for (const [json, offset, expected] of FAULTS) {
  test(`${JSON.stringify(json)} has a syntax error at ${offset}`, () =>
    assert.deepEqual(findSyntaxFault(json), { offset, expected }));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a text has a syntax error exactly if it is not JSON", () =>
  holds(
    fc.property(
      fc.oneof(
        fc.json(),
        fc
          .array(fc.constantFrom(...'{}[],:"\\01.e-+ tn\n', "true", "null", '"a"', "\\u00e9"), {
            maxLength: 12,
          })
          .map((all) => all.join("")),
      ),
      fc.nat(40),
      fc.constantFrom("", "}", '"', ",", "x", "\\"),
      (json, at, extra) => {
        const text = json.slice(0, at) + extra + json.slice(at);
        assert.equal(findSyntaxFault(text) === undefined, isJson(text), text);
      },
    ),
  ));

test("a deep or long text needs neither stack nor much time", () => {
  assert.equal(findSyntaxFault("[".repeat(200_000))?.offset, 200_000);
  assert.equal(findSyntaxFault(`["${"a".repeat(200_000)}`)?.offset, 200_002);
  assert.equal(findSyntaxFault("1".repeat(200_000)), undefined);
});

test("a position in a text is its line and column in characters", () => {
  assert.equal(toLineAndColumn("abc", 0), "line 1, column 1");
  assert.equal(toLineAndColumn("a\n😀b", 4), "line 2, column 2");
  assert.equal(toLineAndColumn("a\r\nb\rc", 5), "line 3, column 1");
});
