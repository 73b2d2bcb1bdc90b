import { randomInt } from "node:crypto";
import fc from "fast-check";

/** A few seconds less than the timeout of a test (package.json). */
const LIMIT_MS = process.env.PARLEY_FAULTS ? 3_500_000 : 280_000;

/**
 * Checks a property with a new seed each time. A failure prints its seed, even if a run never ends or the time is up
 * while a counterexample is being shrunk; PARLEY_TEST_SEED repeats it.
 */
export async function holds<T>(property: fc.IRawProperty<T>, runs = 300): Promise<void> {
  const seed = Number(process.env.PARLEY_TEST_SEED ?? randomInt(2 ** 31));
  await fc.assert(property, {
    seed,
    numRuns: runs,
    interruptAfterTimeLimit: LIMIT_MS,
    markInterruptAsFailure: true,
  });
}
