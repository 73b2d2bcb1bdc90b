// Takes one defence at a time away from a copy of this tree, and runs the tests that must see it:
// `npm run mutants`, or `npm run mutants WORD` for those with the word in their name. Ends with 1 where one is missed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { makeTemplate, startPostgres } from "../test/support/engines/postgres.ts";
import { mutants } from "./mutants/list.ts";
import { locate, locateTest, type Mutant, readSources } from "./mutants/mutant.ts";

const ROOT = join(import.meta.dirname, "..");
/** Copies that are worked in at the same time. */
const AT_ONCE = 2;
const TEST_TIMEOUT_MS = 90_000;
/** A mutant may spin where no timer of its own fires any more: then all that its test has started is ended. */
const RUN_TIMEOUT_MS = 360_000;
const MODULES = ["node_modules", "runtime/node_modules"];

type State = "ok" | "skipped" | "failed";

interface Run {
  passed: number;
  /** The tests that failed, with the first line of why. A file that cannot be run at all, as where the mutant is no program, has none. */
  saw: string[];
  isOk: boolean;
  output: string;
}

function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), "parley-mutants-"));
  const isLeftOut = (path: string) => [".git", "data", ...MODULES].includes(relative(ROOT, path));
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !isLeftOut(path) });
  for (const folder of MODULES) symlinkSync(join(ROOT, folder), join(copy, folder));
  return copy;
}

/** Process groups that are at work: each test file is one, with all that it starts. */
const groups = new Set<number>();
let isStopped = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    isStopped = true;
    for (const group of groups) endGroup(group);
  });
}

function endGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // All of it has ended.
  }
}

async function run(copy: string, test: string): Promise<Run> {
  const child = spawn(
    join(copy, "runtime/node"),
    [
      ...["--test", `--test-timeout=${TEST_TIMEOUT_MS}`, "--test-reporter=./test/support/reporter.ts"],
      locateTest(copy, test),
    ],
    { cwd: copy, stdio: ["ignore", "pipe", "inherit"], detached: true },
  );
  const group = child.pid!;
  groups.add(group);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const limit = setTimeout(endGroup, RUN_TIMEOUT_MS, group);
  const [code] = await once(child, "exit");
  clearTimeout(limit);
  endGroup(group);
  groups.delete(group);
  if (!child.stdout.closed) await once(child.stdout, "close");
  const passed = Number(/(\d+) passed[^\n]*\n$/.exec(output)?.[1] ?? 0);
  const saw = [...output.matchAll(/^ +FAIL (.*) \(\S+:\d+:\d+\)\n +(.*)$/gm)];
  return { passed, saw: saw.map(([, name, why]) => `${name}: ${why}`), isOk: code === 0, output };
}

/** Works through the items, each in a copy that nobody else is in. */
async function each<T>(copies: string[], items: Iterable<T>, work: (copy: string, item: T) => Promise<void>) {
  const rest = [...items];
  const worker = async (copy: string) => {
    for (let item = rest.shift(); item !== undefined && !isStopped; item = rest.shift())
      await work(copy, item);
  };
  await Promise.all(copies.map(worker));
}

/** The tests that say something here: what fails or is skipped without a mutant shows nothing of any. */
async function baseline(copies: string[], chosen: readonly Mutant[]): Promise<Map<string, State>> {
  const found = new Map<string, State>();
  await each(copies, new Set(chosen.flatMap(({ tests }) => tests)), async (copy, test) => {
    const first = await run(copy, test);
    // What else the machine does may make a test too slow once.
    const { passed, isOk, output } = first.isOk ? first : await run(copy, test);
    const state = !isOk ? "failed" : passed > 0 ? "ok" : "skipped";
    found.set(test, state);
    if (state !== "ok") console.log(`${state} without a mutant: ${test}\n${output}`);
  });
  return found;
}

/** What saw it: a test of each file that it names. Undefined where one saw nothing, or could not be run at all. */
async function seenBy(copy: string, mutant: Mutant): Promise<string[] | undefined> {
  const { name, tests } = mutant;
  const { path, text, mutated } = locate(readSources(copy), mutant);
  writeFileSync(path, mutated);
  try {
    const seen: string[] = [];
    for (const test of tests) {
      const { saw, isOk, output } = await run(copy, test);
      if (saw[0] === undefined && !isOk) console.log(`${name}: ${test} cannot be run\n${output}`);
      if (saw[0] === undefined) return;
      seen.push(`${test}: ${saw[0]}${saw.length > 1 ? `, and ${saw.length - 1} more` : ""}`);
    }
    return seen;
  } finally {
    writeFileSync(path, text);
  }
}

const chosen = mutants.filter(({ name }) => name.includes(process.argv[2] ?? ""));
const copies = Array.from({ length: AT_ONCE }, makeCopy);
const postgres = await startPostgres();
process.env.PARLEY_TEST_POSTGRES_URL = postgres.url;
await makeTemplate(postgres.url);
const counts = { caught: 0, MISSED: 0, skipped: 0 };
try {
  const states = await baseline(copies, chosen);
  await each(copies, chosen, async (copy, mutant) => {
    const begun = performance.now();
    const isOk = mutant.tests.every((test) => states.get(test) === "ok");
    const isSkipped = mutant.tests.some((test) => states.get(test) === "skipped");
    const seen = isOk ? await seenBy(copy, mutant) : undefined;
    const outcome = isSkipped ? "skipped" : seen ? "caught" : "MISSED";
    counts[outcome]++;
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    const by = (seen ?? mutant.tests).map((each) => `\n          ${each}`).join("");
    console.log(`${outcome.padEnd(7)} ${seconds.padStart(5)} s  ${mutant.name}${by}`);
  });
} finally {
  await postgres.remove();
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
console.log(
  `${chosen.length} mutants: ${counts.caught} caught, ${counts.MISSED} missed, ${counts.skipped} skipped`,
);
if (counts.MISSED > 0 || counts.caught === 0 || isStopped) process.exitCode = 1;
