import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import fc from "fast-check";
import { startOn, testConfig } from "../support/app.ts";
import { type Engine, postgresConfig } from "../support/on-engines.ts";
import { chanceFrom, isLong, scaled } from "../support/scale.ts";
import { type Faults, NONE, TRANSPORTS } from "./bad-network.ts";
import { operation, World } from "./model.ts";

const [MIN_LENGTH, MAX_LENGTH] = [10, 60];
const LIMIT_MS = isLong ? 3_000_000 : 240_000;

/** Runs operations of devices until enough are done. The long form shrinks a failure to the few operations that it needs. */
export async function runModel(t: TestContext, engine: Engine, short: number, long: number): Promise<void> {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const stored = engine === "SQLite" ? {} : await postgresConfig(t);
  const server = await startOn(t, { ...(await testConfig(t)), ...stored }, { clock: () => clock.now });
  const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`seed ${seed}`);
  const wanted = scaled(short, long);
  let [done, worlds] = [0, 0];
  const transports = Object.fromEntries(TRANSPORTS.map((transport) => [transport, 0]));
  const counts: Record<string, number> = {};
  const met = { ...NONE };
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: MIN_LENGTH, maxLength: MAX_LENGTH, size: "max" }),
    fc.constantFrom(...TRANSPORTS),
    fc.nat(),
    async (operations, transport, luck) => {
      if (done >= wanted) return;
      const world = new World(server, clock, { transport, chance: chanceFrom(luck) });
      transports[transport]!++;
      await world.begin(++worlds);
      try {
        for (const each of operations) await world.run(each);
        await world.check();
      } finally {
        await world.end();
      }
      done += operations.length;
      for (const [what, count] of Object.entries(world.counts)) counts[what] = (counts[what] ?? 0) + count;
      for (const { network } of world.devices)
        for (const fault of Object.keys(met) as (keyof Faults)[]) met[fault] += network.met[fault];
    },
  );
  await fc.assert(property, {
    seed,
    numRuns: Math.ceil(wanted / MIN_LENGTH),
    interruptAfterTimeLimit: LIMIT_MS,
    markInterruptAsFailure: true,
    // Each attempt to shrink waits for quiet that does not come.
    endOnFailure: !isLong,
  });
  t.diagnostic(
    `${done} operations in ${worlds} worlds: ${JSON.stringify({ ...counts, faults: met, transports })}`,
  );
  assert.ok(done >= wanted, `${done} operations`);
  const kinds = Object.values(met).filter((count) => count > 0).length;
  // The short form may miss one by chance.
  assert.ok(kinds >= Object.keys(met).length - (isLong ? 0 : 1), `only ${kinds} kinds of faults happened`);
}
