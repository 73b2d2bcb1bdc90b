import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { startJob } from "../../src/jobs/job.ts";
import { holds } from "../support/property.ts";

const NEVER = 2 ** 30;

/** Starts a job whose runs last until the test ends them. */
function controlled(t: TestContext, intervalMs = NEVER) {
  const ends: (() => void)[] = [];
  const fails: ((error: Error) => void)[] = [];
  const errors: unknown[] = [];
  const work = () =>
    new Promise<void>((resolve, reject) => {
      ends.push(resolve);
      fails.push(reject);
    });
  const job = startJob(work, intervalMs, (error) => errors.push(error));
  t.after(() => {
    for (const end of ends) end();
    return job.stop();
  });
  return {
    job,
    errors,
    runs: () => ends.length,
    end: async () => {
      ends.at(-1)!();
      await turn();
    },
    fail: async (error: Error) => {
      fails.at(-1)!(error);
      await turn();
    },
  };
}

test("a job runs at once, and then only when woken", async (t) => {
  const { job, runs, end } = controlled(t);
  assert.equal(runs(), 1);
  await end();
  assert.equal(runs(), 1);
  job.wake();
  assert.equal(runs(), 2);
});

test("a job woken several times during a run runs once more after it", async (t) => {
  const { job, runs, end } = controlled(t);
  for (let i = 0; i < 3; i++) job.wake();
  await turn();
  assert.equal(runs(), 1);
  await end();
  assert.equal(runs(), 2);
  await end();
  assert.equal(runs(), 2);
});

test("a job runs again at its interval", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { runs, end } = controlled(t, 1000);
  await end();
  t.mock.timers.tick(999);
  assert.equal(runs(), 1);
  t.mock.timers.tick(1);
  assert.equal(runs(), 2);
  await end();
  t.mock.timers.tick(1000);
  assert.equal(runs(), 3);
});

test("a run longer than the interval is followed by one run and never overlaps another", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { runs, end } = controlled(t, 1000);
  t.mock.timers.tick(5000);
  await turn();
  assert.equal(runs(), 1);
  await end();
  assert.equal(runs(), 2);
});

test("runs of a job never overlap, and no wake is lost", () =>
  holds(
    fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 20 }), async (waits) => {
      let running = 0;
      let lastSeen = 0;
      let wakes = 0;
      const work = async () => {
        const seen = wakes;
        running++;
        assert.equal(running, 1);
        await turn();
        running--;
        lastSeen = seen;
      };
      const job = startJob(work, NEVER, (error) => assert.fail(error as Error));
      for (const wait of waits) {
        for (let i = 0; i < wait; i++) await turn();
        wakes++;
        job.wake();
      }
      for (let i = 0; i < 5; i++) await turn();
      await job.stop();
      assert.equal(lastSeen, waits.length);
    }),
    100,
  ));

test("a stop waits for the current run", async (t) => {
  const { job, end } = controlled(t);
  let stopped = false;
  const stopping = job.stop().then(() => {
    stopped = true;
  });
  await turn();
  assert.equal(stopped, false);
  await end();
  await stopping;
  assert.equal(stopped, true);
});

test("stopping an idle or stopped job returns", async (t) => {
  const { job, end } = controlled(t);
  await end();
  await job.stop();
  await job.stop();
});

test("a stopped job does not run again, whether woken before or after", async (t) => {
  const { job, runs, end } = controlled(t);
  job.wake();
  const stopping = job.stop();
  await end();
  await stopping;
  job.wake();
  await turn();
  assert.equal(runs(), 1);
});

test("a stopped job does not run at its interval", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { job, runs, end } = controlled(t, 1000);
  await end();
  await job.stop();
  t.mock.timers.tick(5000);
  assert.equal(runs(), 1);
});

test("a failed run is reported, and the next wake runs again", async (t) => {
  const { job, runs, errors, fail, end } = controlled(t);
  const failure = new Error("no disk");
  await fail(failure);
  assert.deepEqual(errors, [failure]);
  assert.equal(runs(), 1);
  job.wake();
  assert.equal(runs(), 2);
  await end();
  assert.deepEqual(errors, [failure]);
});

test("a repeated failure is reported once, until a run succeeds or fails differently", async (t) => {
  const { job, errors, fail, end } = controlled(t);
  const again = async (error?: Error) => {
    await (error ? fail(error) : end());
    job.wake();
  };
  const [away, full] = [new Error("the database is away"), new Error("the disk is full")];
  for (const error of [away, new Error(away.message), full, away, undefined, away]) await again(error);
  assert.deepEqual(errors, [away, full, away, away]);
});

test("a wake during a failing run is not lost", async (t) => {
  const { job, runs, fail } = controlled(t);
  job.wake();
  await fail(new Error("no disk"));
  assert.equal(runs(), 2);
});

test("a failed run is retried at the interval", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { runs, fail } = controlled(t, 1000);
  await fail(new Error("no disk"));
  t.mock.timers.tick(1000);
  assert.equal(runs(), 2);
});

test("a stop does not reject if the current run fails", async (t) => {
  const { job, errors, fail } = controlled(t);
  const stopping = job.stop();
  const failure = new Error("no disk");
  await fail(failure);
  await stopping;
  assert.deepEqual(errors, [failure]);
});

test("a job that wakes itself synchronously runs again and never overlaps", async () => {
  let [running, most, runs] = [0, 0, 0];
  const job = startJob(
    async () => {
      runs++;
      most = Math.max(most, ++running);
      // The first run begins within startJob itself.
      if (runs === 2 || runs === 3) job.wake();
      await Promise.resolve();
      running--;
    },
    60_000,
    assert.ifError,
  );
  await new Promise((resolve) => setTimeout(resolve, 20));
  job.wake();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await job.stop();
  assert.deepEqual([most, runs], [1, 4]);
});

test("work that throws synchronously is reported to onError", async () => {
  const reported: unknown[] = [];
  const job = startJob(
    () => {
      throw new Error("at once");
    },
    60_000,
    (error) => reported.push(error),
  );
  await job.stop();
  assert.deepEqual(
    reported.map((error) => (error as Error).message),
    ["at once"],
  );
});
