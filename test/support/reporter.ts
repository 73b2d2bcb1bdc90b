// The project's reporter for `node --test`: one line per passed file, details of each failure, what was skipped and
// why, and one closing line for people and scripts.
import { relative, resolve } from "node:path";
import type { TestEvent } from "node:test/reporters";
import { inspect } from "node:util";

type Of<T extends TestEvent["type"]> = Extract<TestEvent, { type: T }>["data"];
type Result = Of<"test:pass"> | Of<"test:fail">;
type Failure = Error & { failureType?: string; exitCode?: number | null; signal?: string | null };

// One process of tests, which is one test file with isolation (the default).
type Run = {
  title: string;
  isolated: boolean;
  ended: boolean;
  passed: number;
  failed: number;
  skips: string[];
  /** The duration of the file in seconds, once known. */
  took: string;
  told: number;
  notes: string[];
  output: string;
  tests: Map<number, { name: string; parent: number | undefined }>;
  parents: Set<number | undefined>;
  places: Map<string, string>;
};

const OUTPUT_LIMIT = 20_000;
const RUNNER_TOTALS = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

function indent(text: string, by: string): string {
  return text.replace(/^.*$/gm, (line) => `${by}${line}`.trimEnd());
}

const here = (file: string | undefined) => (file === undefined ? "" : relative(process.cwd(), resolve(file)));
const place = (at: { nesting: number; file?: string; line?: number; column?: number }) =>
  `${at.nesting} ${at.file}:${at.line}:${at.column}`;

// `entryFile` is the file that was run; `file` is the one that contains the test, which may be a shared suite.
function entryOf(data: object): string | undefined {
  return "entryFile" in data && typeof data.entryFile === "string" ? data.entryFile : undefined;
}

function runOf(runs: Map<string, Run>, entry: string | undefined): Run {
  const key = entry === undefined ? "" : resolve(entry);
  let run = runs.get(key);
  if (run === undefined) {
    const title = entry === undefined ? "tests of this process" : here(entry);
    const counts = { passed: 0, failed: 0, told: 0 };
    const seen = { tests: new Map(), parents: new Set<number | undefined>(), places: new Map() };
    run = {
      title,
      isolated: entry !== undefined,
      ended: false,
      ...counts,
      skips: [],
      took: "",
      notes: [],
      output: "",
      ...seen,
    };
    runs.set(key, run);
  }
  return run;
}

function fullName(run: Run, id: number): string {
  const test = run.tests.get(id);
  if (test === undefined) return "";
  const above = test.parent === undefined ? "" : fullName(run, test.parent);
  return above === "" ? test.name : `${above} > ${test.name}`;
}

function describeError(error: Failure): string {
  const cause: unknown = error.cause ?? error.message;
  if (!(cause instanceof Error)) return String(cause);
  // A generated message already shows the difference. With a custom message the values are printed, too.
  const { generatedMessage, operator }: Error & { generatedMessage?: unknown; operator?: unknown } = cause;
  const generated = generatedMessage === true || operator === "fail";
  const lines = (generated ? (cause.stack ?? cause.message) : inspect(cause)).split("\n");
  const own = lines.filter((line) => !/^\s+at .*\bnode:[\w/]+:\d+/.test(line) || line.endsWith("{"));
  const head = cause.message.includes(error.message) ? [] : [error.message];
  return [...head, ...own].join("\n");
}

// Suites and tests with subtests count only if they fail themselves, in a hook or outside of the subtests.
function takeResult(run: Run, data: Result): void {
  const name = fullName(run, data.testId) || data.name;
  const isParent = run.parents.has(data.testId);
  const at = `(${here(data.file)}:${data.line}:${data.column})`;
  const skip = data.skip ?? data.todo;
  if (skip !== undefined && skip !== false) {
    const why = typeof skip === "string" && skip !== "" ? skip : "no reason given";
    if (!isParent) run.skips.push(why);
    run.notes.push(`${data.skip === undefined ? "todo" : "skip"} ${name}: ${why}`);
  } else if ("error" in data.details) {
    const error: Failure = data.details.error;
    if (error.failureType === "subtestsFailed" && isParent) return;
    run.failed += 1;
    run.notes.push(`FAIL ${name} ${at}\n${indent(describeError(error), "    ")}`);
  } else if (!isParent && data.details.type !== "suite") run.passed += 1;
}

// The runner reports a file as failed only if no test did, or if it failed outside its tests.
function takeFile(run: Run, data: Result): void {
  if ("error" in data.details) {
    const { exitCode, signal, message }: Failure = data.details.error;
    const how = signal
      ? `signal ${signal}`
      : typeof exitCode === "number"
        ? `exit code ${exitCode}`
        : message;
    run.failed += 1;
    run.notes.push(`FAIL ${run.title}: the file failed outside its tests (${how})`);
    run.ended = true;
  } else takeEnd(run);
}

function takeEnd(run: Run): void {
  if (!run.isolated || run.ended) return;
  run.ended = true;
  run.failed += 1;
  run.notes.push(`FAIL ${run.title}: it ended before its tests were done, or holds none`);
}

// Yields the lines of a run since the last call.
function* tell(run: Run): Generator<string> {
  const { passed, failed, skips, took } = run;
  const tests = passed + failed + skips.length;
  const skipped = skips.length > 0 ? `, ${skips.length} skipped` : "";
  if (tests > run.told)
    yield `${failed > 0 ? "FAIL" : "ok  "} ${run.title}: ${counted(run)}${skipped}${took}\n`;
  run.told = tests;
  for (const note of run.notes.splice(0)) yield `${indent(note, "  ")}\n`;
  if (run.failed === 0 || run.output === "") return;
  const cut = run.output.length >= OUTPUT_LIMIT ? `, its last ${OUTPUT_LIMIT} characters` : "";
  yield `  what the file wrote${cut}:\n${indent(run.output.trimEnd(), "  | ")}\n`;
  run.output = "";
}

function counted({ passed, failed }: { passed: number; failed: number }): string {
  return `${passed} passed, ${failed} failed`;
}

/** Returns each reason once, with the number of tests it skipped. */
function reasons(skips: string[]): string {
  const times = Map.groupBy(skips, (why) => why);
  return [...times].map(([why, { length }]) => (length > 1 ? `${why} (${length})` : why)).join("; ");
}

// Returns the run that now has final results to print.
function takeEvent(runs: Map<string, Run>, event: TestEvent): Run | undefined {
  const { type, data } = event;
  if (type === "test:stdout" || type === "test:stderr") {
    const run = runOf(runs, entryOf(data) ?? data.file);
    run.output = (run.output + data.message).slice(-OUTPUT_LIMIT);
  } else if (type === "test:diagnostic") {
    const run = runOf(runs, entryOf(data));
    const test = run.places.get(place(data));
    if (test === undefined && RUNNER_TOTALS.test(data.message)) return;
    run.notes.push(`note ${test === undefined ? "" : `${test}: `}${data.message}`);
  } else if (type === "test:interrupted") {
    for (const test of data.tests)
      runOf(runs, entryOf(test) ?? test.file).notes.push(`still running: ${test.name}`);
  } else if (type === "test:summary" && entryOf(data) !== undefined) {
    const run = runOf(runs, entryOf(data));
    run.ended = true;
    run.took = ` (${(data.duration_ms / 1000).toFixed(1)} s)`;
    // A file that failed without a failed test: the runner reports the file next.
    if (data.success || run.failed > 0) return run;
  } else if (type === "test:start" || type === "test:pass" || type === "test:fail") {
    const file = data.file ?? "";
    const ofFile = entryOf(data) === undefined && data.nesting === 0 && resolve(data.name) === file;
    const run = runOf(runs, ofFile ? file : entryOf(data));
    if (type === "test:start" && !ofFile) {
      run.tests.set(data.testId, { name: data.name, parent: data.parentId });
      run.parents.add(data.parentId);
      run.places.set(place(data), fullName(run, data.testId));
    } else if (type !== "test:start") {
      (ofFile ? takeFile : takeResult)(run, data);
      if (ofFile) return run;
    }
  }
  return;
}

function* close(runs: Map<string, Run>): Generator<string> {
  const total = { passed: 0, failed: 0 };
  const skips: string[] = [];
  for (const run of runs.values()) {
    takeEnd(run);
    yield* tell(run);
    total.passed += run.passed;
    total.failed += run.failed;
    skips.push(...run.skips);
  }
  if (total.passed + total.failed + skips.length === 0) total.failed = 1;
  // Node exits with 0 if a file ended early or no test ran.
  if (total.failed > 0) process.exitCode = 1;
  if (skips.length > 0) yield `${skips.length} skipped: ${reasons(skips)}\n`;
  yield `${counted(total)}\n`;
}

export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const runs = new Map<string, Run>();
  let interrupted = false;
  for await (const event of source) {
    // The process may die now, but if this loop ended, the exit code would change.
    if (interrupted) continue;
    const finished = takeEvent(runs, event);
    if (finished !== undefined) yield* tell(finished);
    interrupted = event.type === "test:interrupted";
    if (interrupted) yield* close(runs);
  }
  if (!interrupted) yield* close(runs);
}
