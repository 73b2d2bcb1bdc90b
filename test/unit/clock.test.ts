import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock, toSeconds } from "../../src/util/clock.ts";

test("a time is truncated to whole seconds", () => {
  assert.equal(toSeconds(0), 0);
  assert.equal(toSeconds(999), 0);
  assert.equal(toSeconds(1000), 1);
  assert.equal(toSeconds(1_700_000_000_999), 1_700_000_000);
  assert.equal(toSeconds(-1), -1);
});

test("the system's clock counts milliseconds since the Unix epoch", () => {
  const before = Date.now();
  const now = systemClock();
  assert.ok(before <= now && now <= Date.now());
});
