import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonObject } from "../../src/util/json-object.ts";
import { holds } from "../support/property.ts";

test("a member is added to the JSON text of any object", async () => {
  await holds(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (object, value) => {
      delete object.added;
      const { text } = JsonObject.from(object).with("added", JSON.stringify(value));
      assert.equal(text, JSON.stringify({ ...object, added: value }));
    }),
  );
});

test("a null member is set in place, whatever the strings beside it contain", async () => {
  await holds(
    fc.property(fc.string(), fc.jsonValue(), (string, value) => {
      const object = { a: `${string}"b":null${string}`, b: null, c: 1 };
      const { text } = JsonObject.from(object).setNull("b", JSON.stringify(value));
      assert.equal(text, JSON.stringify({ ...object, b: value }));
    }),
  );
});

test("the id of a resource is read from its text", () => {
  assert.equal(JsonObject.from({ id: "con_1", name: '"' }).id, "con_1");
});
