// What people send by mistake for a username.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blockedUsername, newUsername, readFields } from "../../src/core/resource/fields.ts";
import { usernames } from "../../src/core/resource/list-fields.ts";

const fields = (given: Record<string, unknown>) => new Map(Object.entries(given));

test("a refused username says what was probably meant", () => {
  const id = "usr_01h455vb4pex5vsknk084sn02q";
  const CASES: [value: unknown, mistake?: RegExp][] = [
    ["@ada", /Leave out the "@" of "@ada"\.$/],
    ["＠ada", /Leave out the "@" of "＠ada"\.$/],
    [id, new RegExp(`${id} is the id of a user: send the username`)],
    [".."],
    [" @ada"],
    [7],
  ];
  for (const [value, mistake] of CASES) {
    const explains = ({ message }: Error) =>
      mistake ? mistake.test(message) : !/Leave out|send the username/.test(message);
    assert.throws(() => readFields({ username: newUsername }, fields({ username: value })), explains);
    assert.throws(() => readFields({ usernames }, fields({ usernames: ["ada", value] })), explains);
  }
  for (const name of ["a@b", "ada@", "usr_ada", `${id}x`, id.toUpperCase()])
    assert.equal(newUsername.parse(name), name);
  for (const name of ["@ada", id]) assert.equal(blockedUsername.parse(name), undefined);
  assert.equal(blockedUsername.parse("\u200b"), "\u200b", "that of an existing user");
});
