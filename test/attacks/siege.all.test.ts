// All attacks on one server, one after another. Afterwards the server works as before.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { fields } from "../corpora/cases/fields.ts";
import { urlencoded } from "../corpora/cases/forms.ts";
import { mediaTypes, pictures } from "../corpora/cases/images.ts";
import { bodies, prototypes, values } from "../corpora/cases/json.ts";
import { forms, parameters, partHeaders, parts } from "../corpora/cases/multipart.ts";
import { besideFiles, names } from "../corpora/cases/names.ts";
import { fieldNames, headers, idempotencyKeys, paths, queries } from "../corpora/cases/places.ts";
import { avatars, webhooks } from "../corpora/cases/urls.ts";
import { PICTURES } from "../siege/pictures.ts";
import { RESOURCES } from "../siege/resources.ts";
import { SEARCHES } from "../siege/searches.ts";
import { Target } from "../siege/target.ts";
import { join } from "../support/joined.ts";
import { isLong, scaled } from "../support/scale.ts";
import { inMib, noProc } from "../support/usage.ts";

const ATTACKS = { ...RESOURCES, ...PICTURES, ...SEARCHES };

/** The corpora that need only a running server. */
const CORPORA = [
  ...[fields, names, besideFiles, queries, paths, fieldNames, headers, idempotencyKeys],
  ...[bodies, values, prototypes, forms, parts, parameters, partHeaders, urlencoded],
  ...[avatars, webhooks, pictures, mediaTypes],
];

/** Runs the fuzzing suites in another process, for PARLEY_FUZZ_SECONDS and at least four seconds each. */
async function fuzz(t: TestContext, target: Target): Promise<void> {
  const { NODE_TEST_CONTEXT: _, PARLEY_FUZZ_SECONDS = "120", ...env } = process.env;
  const how = ["--test", "--test-concurrency=1", "--test-reporter=./test/support/reporter.ts"];
  const suites = spawn(process.execPath, [...how, ...globSync("test/fuzz/*.test.ts")], {
    env: { ...env, PARLEY_FUZZ_SECONDS, PARLEY_TEST_SERVER: target.joined },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  suites.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const [code] = await once(suites, "close");
  for (const line of output.trim().split("\n")) t.diagnostic(line.trim());
  assert.equal(code, 0);
}

test("under siege the server answers others, and memory returns to normal afterwards", {
  skip: noProc,
  timeout: 3_600_000,
}, async (t) => {
  const target = await Target.start(t);
  t.diagnostic(`RSS ${inMib(await target.kept())} when it has just begun`);
  // Modules and caches that the first use loads are no leak, nor are buffers that grew for many connections.
  const first = (short: number, long: number) => (isLong ? long : Math.ceil(short / 2));
  for (const attack of Object.values(ATTACKS)) {
    await attack(target, first);
    await target.kept();
  }
  const before = await target.kept();
  for (const [name, attack] of Object.entries(ATTACKS)) {
    const begun = performance.now();
    const tried = await attack(target, scaled);
    const took = ((performance.now() - begun) / 1000).toFixed(1);
    await target.answers();
    t.diagnostic(`${tried} ${name}: ${took} s, RSS ${inMib(await target.kept())}`);
  }
  if (isLong) {
    const joined = join(target.joined);
    for (const cases of CORPORA) t.diagnostic(await cases(joined));
    await fuzz(t, target);
  }
  await target.isAsBefore(t, before);
});
