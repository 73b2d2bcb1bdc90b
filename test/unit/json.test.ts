import assert from "node:assert/strict";
import { test } from "node:test";
import { findRepeatedName, isStorable, parseStrictly } from "../../src/util/json.ts";

const REPEATED: [json: string, name: string, inside: string | undefined][] = [
  ['{"a":1,"a":2}', "a", undefined],
  ['{"a":1,"b":{"a":1},"a":2}', "a", undefined],
  ['{"a":{"b":1,"b":2}}', "b", "a"],
  ['{"a":{"a":1,"a":2}}', "a", "a"],
  ['{"a":[0,{"b":1},{"c":{"d":1,"\\u0064":2}}],"e":1}', "d", "a"],
  ['{"a":{},"b":[[{"":1,"":2}]]}', "", "b"],
];

for (const [json, name, inside] of REPEATED) {
  test(`${json} has a name twice`, () => {
    assert.deepEqual(findRepeatedName(json), { name, inside });
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
  test(`${json} has no name twice in one object`, () => {
    assert.equal(findRepeatedName(json), undefined);
    assert.deepEqual(parseStrictly(json), JSON.parse(json));
  });
}

test("what is no JSON is undefined", () => {
  for (const text of ["", "{a:1}", "{", "undefined"]) assert.equal(parseStrictly(text), undefined);
});

test("levels are counted in objects and arrays alike", () => {
  assert.ok(isStorable({ a: [{}], b: 1 }, 3));
  assert.ok(!isStorable({ a: [{}], b: 1 }, 2));
  assert.ok(!isStorable({}, 0));
  assert.ok(isStorable("text", 0));
});
