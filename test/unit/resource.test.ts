import assert from "node:assert/strict";
import { test } from "node:test";
import { readBack } from "../../src/core/resource/resource.ts";
import { ParleyError } from "../../src/errors.ts";

test("a failed read after a write reports outcome_unknown instead of unavailable", async () => {
  assert.equal(await readBack(Promise.resolve(1)), 1);
  const code = (error: ParleyError) => readBack(Promise.reject(error)).catch((thrown) => thrown.code);
  assert.equal(await code(new ParleyError("unavailable")), "outcome_unknown");
  assert.equal(await code(new ParleyError("message_not_found")), "message_not_found");
});
