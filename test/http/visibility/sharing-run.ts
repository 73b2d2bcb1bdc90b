// Runs random operations of several worlds of sharing-world.ts on one server: anything that leaks from one world
// would be seen in another.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { DEFAULT_SCOPES } from "../../../src/core/people/tokens.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { startOn, type TestApp, type TestUser, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { isLong, scaled } from "../../support/scale.ts";
import { checkPresence } from "./sharing-contacts.ts";
import { checkEach, checkLists, type Operation, perform } from "./sharing-operations.ts";
import { checkRows, leftOver } from "./sharing-rows.ts";
import { type Clock, World } from "./sharing-world.ts";

/** Operations on each engine. */
const WANTED = scaled(250, 10_000);
/** Few, so that groups are sometimes full. */
const MAX_MEMBERS = 5;
/** More than enough sequences; after the wanted number of operations, the others do nothing. */
const RUNS = Math.ceil(WANTED / 20);
/** How long a test may take on a busy machine. */
export const TEST_MS = isLong ? 3_600_000 : 900_000;
/** Shorter than that. */
const SHRINK_MS = isLong ? 3_300_000 : 880_000;
/** Not a divisor of a minute, and short enough that links do not expire within a run. */
const STEP_MS = 17_300;

export interface Worlds {
  /** The users of each. */
  names: readonly string[];
  operations: fc.Arbitrary<Operation>;
  /** Operations per world at most: few enough that each list is one page. */
  length: number;
  /** Concurrent worlds at most. */
  count: number;
  /** Whether a back end acts for the users. */
  hasBackEnd?: true;
  /** Difficult cases that these worlds need not meet. */
  metElsewhere?: readonly string[];
  /** Compare everybody's lists after this many operations; in between, only what the operations return. */
  checkEvery: number;
}

/** Runs until enough operations are done. Shrinks a failure to the few operations that it needs. */
export async function runWorlds(t: TestContext, engine: string, kind: Worlds): Promise<void> {
  const clock: Clock = { now: Date.UTC(2026, 0, 1) };
  const server = await start(t, engine, clock);
  const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`seed ${seed}`);
  let done = 0;
  let sequences = 0;
  const met: Met = {};
  let failing = false;
  const backEnd = kind.hasBackEnd && (await server.user({ scopes: [...DEFAULT_SCOPES, "act_as"] }));
  const plan = fc.array(kind.operations, { maxLength: kind.length, size: "max" });
  const plans = fc.array(plan, { maxLength: kind.count, size: "max" });
  const property = fc.asyncProperty(plans, async (each) => {
    if (done >= WANTED && !failing) return;
    try {
      for (const found of await run(server, clock, kind, each, backEnd)) count(met, found);
      done += each.flat().length;
      sequences += each.length;
    } catch (error) {
      failing = true;
      throw error;
    }
  });
  await fc.assert(property, {
    seed,
    numRuns: RUNS,
    interruptAfterTimeLimit: SHRINK_MS,
  });
  assert.ok(done >= WANTED, `${done} operations are too few`);
  if (backEnd) await deleteUser(server.app.core, null, backEnd.id);
  assert.ok(await eventually(async () => !(await hasRemains(server.app.core.db))));
  assert.deepEqual(await leftOver(server), []);
  t.diagnostic(`${done} operations in ${sequences} sequences: ${JSON.stringify(met)}`);
  // With few operations, some cases may never occur.
  const unmet = Object.keys(met).filter((what) => met[what] === 0 && !kind.metElsewhere?.includes(what));
  if (isLong) assert.deepEqual(unmet, [], "nothing was");
}

/** How often the difficult cases occurred. */
type Met = Record<string, number>;

/** Deletes erase few rows at once, so that most leave some to the background while the next operations run. */
async function start(t: TestContext, engine: string, clock: Clock): Promise<TestApp> {
  const config = await testConfig(t, { erasedRowsAtOnce: 2, maxMembers: MAX_MEMBERS, messagesReadAtOnce: 0 });
  const parts = { clock: () => clock.now };
  if (engine === "sqlite") return startOn(t, config, parts);
  const databaseUrl = await testDatabase(t);
  return startOn(t, { ...config, databaseUrl, secrets: ["s".repeat(32)] }, parts);
}

/** All worlds take steps in turn, so that each knows the time of its operation. */
async function run(
  server: TestApp,
  clock: Clock,
  { names, checkEvery }: Worlds,
  each: Operation[][],
  backEnd: TestUser | undefined,
): Promise<Met[]> {
  const worlds = each.map((plan) => ({ plan, world: new World(server, clock, names, backEnd) }));
  const models = worlds.map(({ world }) => world.model);
  const tick = async (step: (world: World, plan: Operation[]) => Promise<unknown> | undefined) => {
    clock.now += STEP_MS;
    const ended = await Promise.allSettled(worlds.map(({ world, plan }) => step(world, plan)));
    for (const end of ended) if (end.status === "rejected") throw end.reason;
  };
  await tick((world) => world.begin());
  // Most start as contacts, some as strangers.
  for (const [who, target] of meetings(names.length)) {
    const meet: Operation = { kind: "addContact", who, target, spare: 1 };
    await tick((world, plan) => (plan.length % names.length ? perform(world, meet) : undefined));
  }
  if (names.length > 3)
    for (const step of FIRST_GROUP)
      await tick((world, plan) => (plan.length % names.length ? perform(world, step) : undefined));
  const longest = Math.max(0, ...each.map((plan) => plan.length));
  for (let i = 0; i < longest; i++) {
    await tick((world, plan) => plan[i] && perform(world, plan[i]!));
    // The background stores activity once a second, which is many steps here.
    if (i % 8 === 7) await tellPresence(server);
    if (i % checkEvery === 0) await tick(checkLists);
  }
  await toldPresence(server, (check) => tick(check));
  await tick(checkLists);
  await tick(checkEach);
  await checkRows(server, models);
  await tick(async (world) => {
    for (const user of [...world.model.users.values()]) await world.erase(user);
  });
  await checkRows(server, models);
  const isGrouped = models.some(({ groups }) => groups.length > 0);
  return worlds.map(({ world }) => ({
    ...world.model.met,
    ...(isGrouped ? world.groups.met : {}),
    ...world.acted,
  }));
}

function count(sums: Met, met: Met): void {
  for (const [what, times] of Object.entries(met)) sums[what] = (sums[what] ?? 0) + times;
}

/** Two invited users join, and the first becomes an admin, too. */
const FIRST_GROUP: readonly Operation[] = [
  { kind: "createGroup", who: 0, target: 0, spare: 5 * 6 * 4 - 1 },
  { kind: "joinGroup", who: 1, target: 0, spare: 8 },
  { kind: "joinGroup", who: 2, target: 0, spare: 8 },
  { kind: "setRole", who: 0, target: 0, spare: 1 },
];

/** Of three users, two are contacts of each other; of more, each has all others but one. */
function meetings(users: number): [who: number, target: number][] {
  if (users === 3) return [0, 1].map((who) => [who, 2]);
  const targets = Array.from({ length: users - 2 }, (_, i) => users - 1 + i);
  return targets.flatMap((target) =>
    Array.from({ length: users }, (_, who): [number, number] => [who, target]),
  );
}

/** Stores activity as the background would, and waits for what is being stored. */
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
