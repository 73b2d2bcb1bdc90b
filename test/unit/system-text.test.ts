import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "../../packages/parley-client/src/index.ts";
import { systemText } from "../../src/cli/people/messages.ts";

test("the commands say who was added to a group, even if all of them were deleted", () => {
  const sender = { id: "usr_ann", username: "ann" };
  const say = (data: object | null) => systemText({ type: "joined", sender, data } as Message);
  assert.equal(say(null), "ann joined");
  assert.equal(say({ users: [{ username: "bob" }, { username: "eve" }] }), "ann added bob, eve");
  assert.equal(say({ users: [] }), "ann added (deleted users)");
});
