// Bob's observations do not depend on what others do in secret: see docs/sharing.md.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { startOn, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { receiver } from "../../support/receiver.ts";
import { isLong, scaled } from "../../support/scale.ts";
import { ASKS, doAsk, look, lookAtAll } from "./sharing-asks.ts";
import { type Act, doOpenly, doSecretly, OPEN, SECRETS } from "./sharing-secrets.ts";
import { OTHERS, PUBLIC_URL, TWIN_LIMITS, Twin, Twins } from "./sharing-two-worlds.ts";
import type { Clock } from "./sharing-world.ts";

/** Steps on each engine. */
const WANTED = scaled(100, 10_000);
const TEST_MS = isLong ? 3_600_000 : 900_000;
/** Steps per run at most: few enough that links do not expire. */
const LENGTH = 90;

type Step = Act & { by: "bob" | "open" | "secret"; kind: string };

function stepsBy(by: Step["by"], kinds: Record<string, number>): fc.Arbitrary<Step> {
  const number = fc.nat(999);
  const weighted = Object.entries(kinds).map(([kind, weight]) => ({ arbitrary: fc.constant(kind), weight }));
  return fc.record({
    ...{ by: fc.constant(by), kind: fc.oneof(...weighted) },
    ...{ who: number, target: number, spare: number },
  });
}

const STEPS = fc.oneof(
  { arbitrary: stepsBy("bob", ASKS), weight: 5 },
  { arbitrary: stepsBy("open", OPEN), weight: 2 },
  { arbitrary: stepsBy("secret", SECRETS), weight: 3 },
);

const KINDS = { bob: ASKS, open: OPEN, secret: SECRETS };
const ALL = Object.entries(KINDS).flatMap(([by, kinds]) => Object.keys(kinds).map((kind) => `${by} ${kind}`));

/** Returns whether it was possible. */
function perform(twins: Twins, step: Step): Promise<boolean> {
  if (step.by === "open") return doOpenly(step.kind, twins, step);
  if (step.by === "secret") return doSecretly(step.kind, twins, step);
  return doAsk(step.kind as keyof typeof ASKS, twins, step);
}

async function startTwin(t: TestContext, engine: string, clock: Clock): Promise<Twin> {
  const config = await testConfig(t, TWIN_LIMITS);
  const databaseUrl = engine === "postgres" ? await testDatabase(t) : null;
  const alike = { databaseUrl, secrets: ["s".repeat(32)], publicUrl: PUBLIC_URL };
  return new Twin(await startOn(t, { ...config, ...alike }, { clock: () => clock.now }), clock);
}

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: nothing that others hide from a user changes any answer to that user`, {
    timeout: TEST_MS,
  }, async (t) => {
    const clock: Clock = { now: Date.UTC(2026, 0, 1) };
    const [plain, hidden] = [await startTwin(t, engine, clock), await startTwin(t, engine, clock)];
    const receivers = [await receiver(t), await receiver(t)];
    const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}`);
    const done = { bob: 0, open: 0, secret: 0 };
    const met: Record<string, number> = {};
    let [runs, failing] = [0, false];
    const count = () => done.bob + done.open + done.secret;

    async function run(steps: Step[]): Promise<void> {
      const twins = new Twins(plain, hidden, clock);
      await begin(twins, ++runs);
      if (runs % 3 === 0) await Promise.all([plain, hidden].map((twin, i) => twin.addHook(receivers[i]!)));
      for (const step of steps) {
        await twins.step();
        const { by, kind } = step;
        if (await perform(twins, step)) met[`${by} ${kind}`] = (met[`${by} ${kind}`] ?? 0) + 1;
        await twins.step();
        await look(twins, step);
        await twins.compareDeliveries();
        done[by]++;
      }
      await twins.step();
      await lookAtAll(twins);
    }

    const plans = fc.array(STEPS, { maxLength: LENGTH, size: "max" });
    const property = fc.asyncProperty(plans, async (steps) => {
      if (count() >= WANTED && !failing) return;
      try {
        await run(steps);
      } catch (error) {
        failing = true;
        throw error;
      }
    });
    await fc.assert(property, {
      seed,
      numRuns: WANTED,
      interruptAfterTimeLimit: TEST_MS - 20_000,
      // Only the long version shrinks a failure, which takes many runs.
      endOnFailure: !isLong,
    });
    assert.ok(count() >= WANTED, `${count()} operations are too few`);
    t.diagnostic(`${count()} operations in ${runs} runs: ${JSON.stringify({ ...done, ...met })}`);
    if (isLong) for (const each of ALL) assert.ok(met[each], `nobody did ${each}`);
  });
}

/** Makes all users contacts of each other and members of a group. */
async function begin(twins: Twins, run: number): Promise<void> {
  await twins.step();
  for (const twin of [twins.plain, twins.hidden]) await twin.makeUsers(run);
  const add: Act = { who: 0, target: 0, spare: 0 };
  for (const [who] of OTHERS.entries()) {
    await twins.step();
    await doAsk("addContact", twins, { ...add, who });
    await doOpenly("addBob", twins, { ...add, who });
  }
  await twins.step();
  await look(twins, add);
  await doAsk("createGroup", twins, add);
  await doOpenly("join", twins, add);
  await twins.step();
}
