import { randomInt } from "node:crypto";
import fc from "fast-check";

/** Checks a property with a new seed each time. A failure names its seed; PARLEY_TEST_SEED runs it again. */
export async function holds<T>(property: fc.IRawProperty<T>, runs = 300): Promise<void> {
  const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
  await fc.assert(property, { seed, numRuns: runs });
}
