import assert from "node:assert/strict";
import { test } from "node:test";
import {
  displayName,
  groupName,
  newUsername,
  optional,
  phoneNumber,
  readFields,
  readNewFields,
  TextFields,
  trueOrFalse,
  username,
} from "../../src/core/resource/fields.ts";

const fields = (given: Record<string, unknown>) => new Map(Object.entries(given));
const contact = { username, phone_number: phoneNumber, display_name: optional(displayName) };

test("a null optional field of a new resource is left out", () => {
  const given = { username: "ada", phone_number: "123", blocked: null, display_name: null };
  const shape = { ...contact, blocked: optional(trueOrFalse) };
  const read = readNewFields(shape, fields(given));
  assert.deepEqual(read, { username: "ada", phone_number: "123", display_name: null });
  for (const name of ["username", "nothing"])
    assert.throws(() => readNewFields(shape, fields({ ...given, [name]: null })), { param: name });
  assert.throws(() => readFields(shape, fields(given)), { code: "invalid_parameter", param: "blocked" });
});

test("a space in a form counts as + only before the digits of a phone number", () => {
  const sent = (phone_number: string) =>
    readFields({ phone_number: phoneNumber }, new TextFields([["phone_number", phone_number]])).phone_number;
  for (const [text, read] of [
    [" 1555", "+1555"],
    [" ۹۸۲۱", "+۹۸۲۱"],
    ["  1555", "  1555"],
    [" (1) 555", " (1) 555"],
    ["1 555", "1 555"],
  ])
    assert.equal(sent(text!), read);
  assert.equal(phoneNumber.parse(" 1555"), " 1555", "JSON has no such spaces");
});

test("no new username may be one that URLs drop, in any form", () => {
  for (const name of [".", "..", "．", "․․", "‥"]) {
    assert.equal(newUsername.parse(name), undefined, name);
    assert.equal(username.parse(name), name);
    assert.equal(groupName.parse(name), name);
  }
  for (const name of ["...", ".a", "a."]) assert.equal(newUsername.parse(name), name);
});
