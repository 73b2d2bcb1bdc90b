import assert from "node:assert/strict";
import { test } from "node:test";
import { Rate } from "../../src/util/rate.ts";

function start(perSecond: number, burst: number, now = Date.UTC(2026, 0, 1)) {
  const clock = { now };
  const rate = new Rate(perSecond, burst, () => clock.now);
  /** Uses the key if it is allowed. */
  const use = (key: string): boolean => {
    const used = rate.next(key);
    if (rate.isTooMuch(used)) return false;
    rate.note(key, used);
    return true;
  };
  const useAll = (key: string): number => {
    for (let count = 0; ; count++) if (!use(key)) return count;
  };
  return { rate, clock, use, useAll };
}

for (const perSecond of [1, 3, 7, 500, 1_000_000]) {
  test(`${perSecond} a second: a burst of twice as many, then as many each second`, () => {
    const { clock, useAll } = start(perSecond, 2 * perSecond);
    assert.equal(useAll("a"), 2 * perSecond);
    for (let second = 0; second < 3; second++) {
      clock.now += 1000;
      assert.equal(useAll("a"), perSecond);
    }
    clock.now += 3_600_000;
    assert.equal(useAll("a"), 2 * perSecond);
    assert.equal(useAll("b"), 2 * perSecond);
  });
}

test("a use reports what is left, when all is restored, and when one is", () => {
  const { rate, clock, use } = start(2, 4);
  assert.deepEqual([rate.left(rate.next("a")), rate.secondsUntilWhole(rate.next("a"))], [3, 1]);
  for (let count = 0; count < 4; count++) use("a");
  const used = rate.next("a");
  assert.deepEqual([rate.left(used), rate.secondsUntilFree(used)], [0, 1]);
  clock.now += 499;
  assert.equal(use("a"), false);
  clock.now += 1;
  assert.equal(use("a"), true);
});

test("a debt lasts at most as long as one burst takes to refill", () => {
  const { rate, clock, use } = start(10, 100);
  for (let count = 0; count < 1000; count++) rate.note("a", rate.next("a"));
  assert.equal(rate.secondsUntilFree(rate.next("a")), 11);
  // Clients learn the size of one burst only.
  assert.equal(rate.secondsUntilWhole(rate.next("a")), 10);
  clock.now += 10_099;
  assert.equal(use("a"), false);
  clock.now += 1;
  assert.equal(use("a"), true);
});

test("a clock set back locks nobody out", () => {
  const { clock, useAll } = start(10, 20);
  assert.equal(useAll("a"), 20);
  clock.now -= 3_600_000;
  assert.equal(useAll("a"), 20);
  assert.equal(useAll("a"), 0);
  assert.equal(useAll("new"), 20);
});

test("a key in use is remembered among many others, and idle ones are forgotten", () => {
  const { use, useAll } = start(1, 1_000_000);
  assert.ok(use("in use"));
  assert.equal(useAll("once"), 1_000_000);
  for (let count = 0; count < 15_000; count++) {
    use(`other ${count}`);
    if (count % 1000 === 0) use("in use");
  }
  assert.equal(useAll("in use"), 1_000_000 - 16);
  // After two generations the key is dropped: memory is bounded for any number of clients.
  for (let count = 0; count < 20_000; count++) use(`more ${count}`);
  assert.equal(useAll("once"), 1_000_000);
});
