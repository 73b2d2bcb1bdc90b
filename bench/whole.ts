// Measurements of the server as a whole: reads beside writes, full load, the start, and the longest tables.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { closedLoop, median, openLoop, percentile, type Requests } from "./load.ts";
import { forgetPeak, memory, PARLEY, startBare, startParley } from "./servers.ts";
import { addFilledUser, MANY, type Subject, settle } from "./subject.ts";
import type { Work } from "./works.ts";

type Works = Record<string, Work>;
/** Values of rows, by name. */
type Values = Record<string, number>;

const MB = 1_000_000;
const READS_PER_SECOND = 2000;
const CREATES_PER_SECOND = 1000;
const FIXED_RATE_ROUNDS = 5;
const FIXED_RATE_MS = 3000;
const START_ROUNDS = 5;
const IDLE_MS = 2000;
/** After it what was uploaded is deleted, so that the disk does not fill up. */
const SLICE_MS = 10_000;
/** How many of everything go on at once under full load. */
const FULL_LOAD: [work: string, contender: string, connections: number][] = [
  ["retrieve", "parley", 16],
  ["list", "many", 16],
  ["create", "random", 16],
  ["upload4k", "parley", 8],
  ["download4k", "parley", 8],
  ["upload64m", "parley", 1],
  ["download64m", "parley", 1],
];

function requestsOf(works: Works, work: string, contender: string): Requests {
  return works[work]!.contenders[contender]!;
}

/** Reads at a fixed rate, in rounds alone and beside creates. */
export async function readsBesideCreates(works: Works, folder: string): Promise<Values> {
  const reads = requestsOf(works, "retrieve", "parley");
  const creates = requestsOf(works, "create", "random");
  const taken = { alone: [] as number[], reads: [] as number[], creates: [] as number[] };
  for (let round = -1; round < FIXED_RATE_ROUNDS; round++) {
    settle(folder);
    const alone = await openLoop(reads, READS_PER_SECOND, FIXED_RATE_MS);
    settle(folder);
    const [beside, made] = await Promise.all([
      openLoop(reads, READS_PER_SECOND, FIXED_RATE_MS),
      openLoop(creates, CREATES_PER_SECOND, FIXED_RATE_MS),
    ]);
    if (round < 0) continue;
    taken.alone.push(percentile(alone, 99));
    taken.reads.push(percentile(beside, 99));
    taken.creates.push(percentile(made, 99));
  }
  const [readsAlone, readsBeside] = [median(taken.alone), median(taken.reads)];
  const readsTimes = readsBeside / readsAlone;
  return { readsAlone, readsBeside, readsTimes, createsBeside: median(taken.creates) };
}

/** Everything at once for a while; returns the resident memory at the end of each slice, in MB. */
async function load(subject: Subject, works: Works, ms: number): Promise<number[]> {
  const sizes = [];
  for (let left = ms; left > 0; left -= SLICE_MS) {
    await Promise.all(
      FULL_LOAD.map(([work, contender, connections]) =>
        closedLoop({ ...requestsOf(works, work, contender), connections }, Math.min(left, SLICE_MS)),
      ),
    );
    sizes.push(memory(subject.parley.pid).now / MB);
    await works.upload64m!.tidy!();
  }
  return sizes;
}

/** `growth`, where it lasts for minutes: the memory of the last third of the time against that of the second. */
export async function fullLoad(subject: Subject, works: Works, minutes: number): Promise<Values> {
  forgetPeak(subject.parley.pid);
  await subject.parley.startDelay();
  const sizes = await load(subject, works, minutes * 60_000);
  const { p50, p99, max } = await subject.parley.stopDelay();
  const values = { delayMedian: p50, delay: p99, delayMax: max, peak: memory(subject.parley.pid).peak / MB };
  const third = Math.floor(sizes.length / 3);
  if (third === 0) return values;
  return { ...values, growth: median(sizes.slice(-third)) / median(sizes.slice(third, 2 * third)) };
}

/** Brings the table to ten times the rows, of other users. */
export function fillTable(subject: Subject): void {
  for (let i = 1; i < 10; i++) addFilledUser(subject.dataFolder, `other ${i}`, i * 2 * MANY, MANY, PARLEY);
  settle(subject.folder);
}

interface Started {
  port: number;
  pid: number;
}

/** Times the start of servers whose data folders are there already, and their memory when they are left alone. */
export async function timeStarts<Name extends string>(
  starters: Record<Name, (stack: AsyncDisposableStack) => Promise<Started>>,
): Promise<Record<Name, { ms: number; mb: number }>> {
  const names = Object.keys(starters) as Name[];
  const rounds: Record<Name, { ms: number; mb: number }>[] = [];
  for (let round = -1; round < START_ROUNDS; round++) {
    const taken = {} as Record<Name, { ms: number; mb: number }>;
    for (const name of names) {
      await using stack = new AsyncDisposableStack();
      const begun = performance.now();
      const { port, pid } = await starters[name](stack);
      await fetch(`http://127.0.0.1:${port}/readyz`);
      const ms = performance.now() - begun;
      await sleep(IDLE_MS);
      taken[name] = { ms, mb: memory(pid).now / MB };
    }
    if (round >= 0) rounds.push(taken);
  }
  const medianOf = (name: Name, what: "ms" | "mb") => median(rounds.map((taken) => taken[name][what]));
  return Object.fromEntries(
    names.map((name) => [name, { ms: medianOf(name, "ms"), mb: medianOf(name, "mb") }]),
  ) as Record<Name, { ms: number; mb: number }>;
}

/** The start and the memory of Parley and of the yardstick. */
export async function starts(folder: string): Promise<Values> {
  const { bare, parley } = await timeStarts({
    bare: (stack) => startBare(stack, join(folder, "start-bare")),
    parley: (stack) => startParley(stack, join(folder, "start")),
  });
  return { start: parley.ms, startBare: bare.ms, idle: parley.mb, idleBare: bare.mb };
}
