// Whatever three users do in whatever order, the service answers as the model of docs/sharing.md does, and keeps nothing
// that the model does not know. Several such worlds at once on one server, so that one would be seen in another.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { startOn, type TestApp, testConfig } from "../support/app.ts";
import { testDatabase } from "../support/engines/postgres.ts";
import { isLong, scaled } from "../support/scale.ts";
import { checkPresence } from "./sharing-contacts.ts";
import type { Model } from "./sharing-model.ts";
import { checkEach, checkLists, type Operation, operations, perform } from "./sharing-operations.ts";
import { checkRows, leftOver } from "./sharing-rows.ts";
import { type Clock, World } from "./sharing-world.ts";

/** On each engine. */
const WANTED = scaled(500, 10_000);
const MAX_WORLDS = 16;
/** So few that each list of a world is one page. */
const MAX_OPERATIONS = 90;
/** After so many operations the lists of everybody are compared; in between, only what operations show. */
const CHECK_EVERY = 8;
/** More than enough sequences; those that come after the wanted operations do nothing. */
const RUNS = Math.ceil(WANTED / 20);
/** Less than a test may take. */
const SHRINK_MS = isLong ? 1_800_000 : 110_000;
/** Not a part of a minute, and links do not expire within a world. */
const STEP_MS = 17_300;

const plans = fc.array(fc.array(operations, { maxLength: MAX_OPERATIONS, size: "max" }), {
  maxLength: MAX_WORLDS,
  size: "max",
});

for (const engine of ["sqlite", "postgres"]) {
  test(`${engine}: what three users share is what the rules say`, async (t) => {
    const clock: Clock = { now: Date.UTC(2026, 0, 1) };
    const server = await start(t, engine, clock);
    const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}`);
    let done = 0;
    let sequences = 0;
    const met: Record<string, number> = {};
    let failing = false;
    const property = fc.asyncProperty(plans, async (each) => {
      if (done >= WANTED && !failing) return;
      try {
        count(met, await run(server, clock, each));
        done += each.flat().length;
        sequences += each.length;
      } catch (error) {
        failing = true;
        throw error;
      }
    });
    await fc.assert(property, { seed, numRuns: RUNS, interruptAfterTimeLimit: SHRINK_MS });
    assert.ok(done >= WANTED, `${done} operations are too few`);
    assert.deepEqual(await leftOver(server), []);
    t.diagnostic(`${done} operations in ${sequences} sequences: ${JSON.stringify(met)}`);
    // In few operations something may never come about.
    if (isLong) for (const [what, times] of Object.entries(met)) assert.ok(times > 0, `nothing was ${what}`);
  });
}

/** Deletes erase so few rows at once that most of them leave some to the background, while the next operations come. */
async function start(t: TestContext, engine: string, clock: Clock): Promise<TestApp> {
  const config = await testConfig(t, { erasedRowsAtOnce: 2 });
  const parts = { clock: () => clock.now };
  if (engine === "sqlite") return startOn(t, config, parts);
  const databaseUrl = await testDatabase(t);
  return startOn(t, { ...config, databaseUrl, secrets: ["s".repeat(32)] }, parts);
}

/** All worlds take a step at a time, so that each knows when its operation was. */
async function run(server: TestApp, clock: Clock, each: Operation[][]): Promise<Model["met"][]> {
  const worlds = each.map((plan) => ({ plan, world: new World(server, clock) }));
  const models = worlds.map(({ world }) => world.model);
  const tick = async (step: (world: World, plan: Operation[]) => Promise<unknown> | undefined) => {
    clock.now += STEP_MS;
    const ended = await Promise.allSettled(worlds.map(({ world, plan }) => step(world, plan)));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  };
  await tick((world) => world.begin());
  // Most begin as contacts, some as strangers.
  for (const who of [0, 1]) {
    const meet: Operation = { kind: "addContact", who, target: 2, spare: 1 };
    await tick((world, plan) => (plan.length % 3 ? perform(world, meet) : undefined));
  }
  const longest = Math.max(0, ...each.map((plan) => plan.length));
  for (let i = 0; i < longest; i++) {
    await tick((world, plan) => plan[i] && perform(world, plan[i]!));
    // In the background it is done each second, in which many steps are made.
    if (i % 8 === 7) await tellPresence(server);
    if (i % CHECK_EVERY === 0) await tick(checkLists);
  }
  await toldPresence(server, (check) => tick(check));
  await tick(checkLists);
  await tick(checkEach);
  await checkRows(server, models);
  await tick(async (world) => {
    for (const user of [...world.model.users.values()]) await world.erase(user);
  });
  await checkRows(server, models);
  return models.map((model) => model.met);
}

function count(sums: Record<string, number>, each: Model["met"][]): void {
  for (const met of each) {
    for (const [what, times] of Object.entries(met)) sums[what] = (sums[what] ?? 0) + times;
  }
}

/** The background writes down who was seen; what it has taken and not yet written is waited for. */
async function toldPresence(
  server: TestApp,
  tick: (check: (world: World) => Promise<void>) => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    await tellPresence(server);
    try {
      return await tick(checkPresence);
    } catch (error) {
      if (tries === 20) throw error;
      await sleep(50);
    }
  }
}

async function tellPresence({ app: { core } }: TestApp): Promise<void> {
  await core.db.write("recordActivity", { seen: core.activity.take() });
}
