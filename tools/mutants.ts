// Removes one defence at a time from a copy of this tree, and runs the tests that must fail: `npm run mutants`, or
// `npm run mutants WORD` for mutants with the word in their name. Exits with 1 if a mutant survives.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { makeTemplate, startPostgres } from "../test/support/engines/postgres.ts";
import { mutants } from "./mutants/list.ts";
import { locate, locateTest, type Mutant, readSources } from "./mutants/mutant.ts";

const ROOT = join(import.meta.dirname, "..");
/** Copies of the tree, each of which runs one mutant at a time. */
const AT_ONCE = 2;
const TEST_TIMEOUT_MS = 90_000;
/** A mutant may block the event loop, so that no timer fires: then the test's whole process group is killed. */
const RUN_TIMEOUT_MS = 360_000;
const MODULES = ["node_modules", "runtime/node_modules"];

type State = "ok" | "skipped" | "failed";

interface Run {
  passed: number;
  /** The tests that failed, with the first line of the reason. None if the file cannot run, as with a syntax error. */
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

/** Running process groups: one for each test file, with all processes that it starts. */
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
    // The group has already ended.
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

/** Works through the items, each in a copy that no other item uses. */
async function each<T>(copies: string[], items: Iterable<T>, work: (copy: string, item: T) => Promise<void>) {
  const rest = [...items];
  const worker = async (copy: string) => {
    for (let item = rest.shift(); item !== undefined && !isStopped; item = rest.shift())
      await work(copy, item);
  };
  await Promise.all(copies.map(worker));
}

/** Returns the state of each test without a mutant: one that fails or is skipped then proves nothing. */
async function baseline(copies: string[], chosen: readonly Mutant[]): Promise<Map<string, State>> {
  const found = new Map<string, State>();
  await each(copies, new Set(chosen.flatMap(({ tests }) => tests)), async (copy, test) => {
    const first = await run(copy, test);
    // Other load on the machine may slow a test down once.
    const { passed, isOk, output } = first.isOk ? first : await run(copy, test);
    const state = !isOk ? "failed" : passed > 0 ? "ok" : "skipped";
    found.set(test, state);
    if (state !== "ok") console.log(`${state} without a mutant: ${test}\n${output}`);
  });
  return found;
}

/** Returns a failed test of each file that the mutant names. Undefined if none failed, or a file could not run. */
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
