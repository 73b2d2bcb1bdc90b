// Runs a property on a real server for its share of the time, and checks what it leaves.
import { randomInt } from "node:crypto";
import type { TestContext } from "node:test";
import fc from "fast-check";
import { SCOPES } from "../../src/core/people/tokens.ts";
import { startApp, type TestUser } from "../support/app.ts";
import { type Joined, joinedServer } from "../support/joined.ts";
import { type Attacked, isSound } from "../support/sound.ts";

/** How the suites divide the time. */
const SHARES = {
  forms: 4,
  messages: 3,
  ranges: 1,
  links: 1,
  pages: 1,
  searches: 1,
  words: 1,
  conditions: 1,
  retries: 2,
  tokens: 1,
  bytes: 5,
  framing: 3,
  contract: 8,
};

/** The time of all suites. */
const SECONDS = Number(process.env.PARLEY_FUZZ_SECONDS ?? 15);
const SHARE_MS = (SECONDS * 1000) / Object.values(SHARES).reduce((sum, share) => sum + share);

/** A server, and three clients: two users and one with all scopes. */
export interface Subject extends Attacked {
  user: Joined["user"];
  mine: TestUser;
  theirs: TestUser;
  admin: TestUser;
}

/** Returns the server that all attacks share if there is one, otherwise starts one. */
export async function startSubject(t: TestContext): Promise<Subject> {
  const { url, folder, user } = joinedServer() ?? (await startOwn(t));
  const [mine, theirs] = [await user(), await user()];
  return { url, folder, user, headers: mine.headers, mine, theirs, admin: await user({ scopes: SCOPES }) };
}

/** Starts a server as in production, but with much shorter timeouts. */
async function startOwn(t: TestContext) {
  const { url, user, config } = await startApp(t, {
    headersTimeoutMs: 500,
    bodyIdleTimeoutMs: 500,
    keepAliveTimeoutMs: 500,
    socketIdleTimeoutMs: 3000,
    maxFileBytes: 200_000,
    webhooksAllowPrivate: true,
    webhookTimeoutMs: 1000,
  });
  return { url, user, folder: config.dataFolder };
}

/** The least number of inputs, however long they take: a property without inputs shows nothing. */
const MIN_INPUTS = 3;

/**
 * Checks a property with `MIN_INPUTS` inputs and then until its share of the time is used up, `cases` of earlier
 * failures first. Prints the number of inputs unless it is one. PARLEY_FUZZ_SEED repeats a run. Afterwards the server
 * must be as before.
 */
export async function fuzz<T>(
  t: TestContext,
  subject: Subject,
  suite: keyof typeof SHARES,
  inputs: fc.Arbitrary<T>,
  holds: (input: T) => Promise<unknown>,
  cases: readonly T[] = [],
): Promise<void> {
  const seed = Number(process.env.PARLEY_FUZZ_SEED ?? randomInt(2 ** 31));
  const begun = performance.now();
  let done = 0;
  let running: Promise<void> = Promise.resolve();
  const property = fc.asyncProperty(inputs, (input) => {
    running = (async () => {
      const count = await holds(input);
      done += typeof count === "number" ? count : 1;
    })();
    return running;
  });
  try {
    const examples = cases.map((each): [T] => [each]);
    await fc.assert(property, { seed, numRuns: examples.length + MIN_INPUTS, examples });
    const more = await fc.check(property, {
      seed: seed + 1,
      numRuns: 2 ** 31,
      interruptAfterTimeLimit: SHARES[suite] * SHARE_MS,
    });
    // The time may end during a run, which then finishes.
    await running;
    // The time may also end before the first run.
    if (more.failed && more.counterexample !== null)
      throw new Error(await fc.asyncDefaultReportMessage(more), { cause: more.errorInstance });
  } finally {
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    t.diagnostic(`${suite}: ${done} inputs in ${seconds} s, PARLEY_FUZZ_SEED=${seed}`);
  }
  await isSound(t, subject);
}
