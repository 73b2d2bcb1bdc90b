// How much a fault suite does, and its random numbers.
import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";

const asked = process.env.PARLEY_FAULTS ?? "";

/** Whether this is the long version, as in `npm run faults`. Only that asserts times. */
export const isLong = asked === "long";

/**
 * Returns the number of cycles, uploads or connections: few in `npm test` and CI, many in the long version, or
 * PARLEY_FAULTS.
 */
export function scaled(short: number, long: number): number {
  if (isLong) return long;
  return asked === "" ? short : Number(asked);
}

/** Returns numbers from 0 to below 1, the same for the same seed. */
export type Chance = () => number;

/** Prints its seed at the first use. PARLEY_TEST_SEED repeats it. */
export function seededChance(t: TestContext): Chance {
  let chance: Chance | undefined;
  return () => {
    if (chance === undefined) {
      const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
      t.diagnostic(`seed ${seed}`);
      chance = chanceFrom(seed);
    }
    return chance();
  };
}

/** Mulberry32, by Tommy Ettinger. */
export function chanceFrom(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
