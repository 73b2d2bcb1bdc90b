import { randomInt } from "node:crypto";
import fc from "fast-check";

/** Some seconds less than a test may take (package.json). */
const LIMIT_MS = process.env.PARLEY_FAULTS ? 3_500_000 : 280_000;

/**
 * Checks a property with a new seed each time. A failure names its seed, even if a run never ends or a counterexample is
 * still being reduced when the time is up; PARLEY_TEST_SEED runs it again.
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
