import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { startOn, testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { startProxy } from "../../support/engines/postgres-proxy.ts";
import type { Row } from "./matrix-rows.ts";
import { ask, makeScene, ROWS } from "./matrix-scene.ts";

test("every route refuses another user's resource by the same statements as a missing one", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const config = { ...(await testConfig(t)), databaseUrl: proxy.url, secrets: ["s".repeat(32)] };
  const scene = await makeScene(await startOn(t, config));
  const none = { roundTrips: Number.POSITIVE_INFINITY, statements: Number.POSITIVE_INFINITY };
  const counted = async (row: Row, known: boolean, least: typeof none) => {
    await sleep(10);
    proxy.takeCounts();
    assert.equal((await ask(row, scene, scene.stranger.headers, known)).status, 404);
    const { roundTrips, statements } = proxy.takeCounts();
    return {
      roundTrips: Math.min(least.roundTrips, roundTrips),
      statements: Math.min(least.statements, statements),
    };
  };
  for (const row of ROWS.filter(({ expected }) => expected.stranger === 404)) {
    let [foreign, missing] = [none, none];
    // Other traffic on the connection only adds round trips, never removes any: repeat until both are equal, more
    // often on a slow machine.
    for (let round = 0; round < 5 || (round < 60 && !isDeepStrictEqual(foreign, missing)); round++) {
      foreign = await counted(row, true, foreign);
      missing = await counted(row, false, missing);
    }
    assert.deepEqual(foreign, missing, `${row.route} ${row.path}`);
  }
});
