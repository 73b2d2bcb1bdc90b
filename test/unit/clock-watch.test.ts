import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Core } from "../../src/core/node/core.ts";
import { startClockWatch } from "../../src/jobs/clock.ts";

test("the watch reports each jump of the clock, and once that it differs from the database server's", async (t) => {
  let ahead = 0;
  const core = { clock: () => Date.now() + ahead, db: { serverTime: () => Date.now() } } as unknown as Core;
  const reports: [string, number][] = [];
  const note = (kind: string) => (ms: number) => reports.push([kind, Math.round(ms / 60_000)]);
  const watch = startClockWatch(core, { onSkew: note("skew"), onJump: note("jump") });
  t.after(() => watch.stop());
  for (const next of [0, 600_000, 600_000, 0, -600_000]) {
    ahead = next;
    watch.wake();
    await setImmediate();
  }
  assert.deepEqual(reports, [
    ["jump", 10],
    ["skew", 10],
    ["jump", -10],
    ["jump", -10],
    ["skew", -10],
  ]);
});
