// What requests cost in CPU time, which holds also where other work slows the machine down.
import { closedLoop, type Loaded, median, percentile, type Requests } from "./load.ts";
import type { Rate } from "./results.ts";
import { cpuTime } from "./servers.ts";
import { settle } from "./subject.ts";

/** Until then code is compiled: the first requests cost up to four times as much. */
const WARM_UP_MS = 2500;
/** Into so many slices the time of each contender is cut: a machine that is slow for a second is so for all of them. */
const SLICES = 6;

export interface Costed {
  requests: Requests;
  /** What to do after each slice, beside the time. */
  tidy?: (() => Promise<void>) | undefined;
}

export async function warmUp(contenders: readonly Costed[], folder: string): Promise<void> {
  for (const each of contenders) await load(each, folder, WARM_UP_MS);
}

/** Microseconds of CPU for each request, in the order of the contenders. `ms`: of each, in all. */
export async function costsOf(contenders: readonly Costed[], folder: string, ms: number): Promise<number[]> {
  return (await measureInTurn(contenders, folder, ms)).map(({ cost }) => cost);
}

/** Microseconds of CPU for each request, those of the database included, and requests per second. */
export async function measureInTurn(
  contenders: readonly Costed[],
  folder: string,
  ms: number,
): Promise<{ cost: number; rate: number }[]> {
  const taken = new Map(contenders.map((each) => [each, { cpu: 0, requests: 0, seconds: 0 }]));
  for (let slice = 0; slice < SLICES; slice++) {
    for (const each of inTurn(contenders, slice)) {
      const { cpu, requests, seconds } = await load(each, folder, ms / SLICES);
      const sum = taken.get(each)!;
      sum.cpu += cpu;
      sum.requests += requests;
      sum.seconds += seconds;
    }
  }
  return [...taken.values()].map(({ cpu, requests, seconds }) => ({
    cost: cpu / requests,
    rate: requests / seconds,
  }));
}

async function load({ requests, tidy }: Costed, folder: string, ms: number) {
  const { rate, latencies, cpu, database } = await costed(requests, () => closedLoop(requests, ms));
  await tidy?.();
  settle(folder);
  return { cpu: cpu + database, requests: latencies.length, seconds: latencies.length / rate };
}

interface Spent {
  /** Microseconds of CPU of the servers and of the database. */
  cpu: number;
  database: number;
}

/** What the processes spend on a load. */
export async function costed(
  { servers, database }: Pick<Requests, "servers" | "database">,
  run: () => Promise<Loaded>,
): Promise<Loaded & Spent> {
  const spent = () => ({
    cpu: servers.reduce((sum, { pid }) => sum + cpuTime(pid), 0),
    database: database === undefined ? 0 : cpuTime(database),
  });
  const before = spent();
  const loaded = await run();
  const after = spent();
  return { ...loaded, cpu: after.cpu - before.cpu, database: after.database - before.database };
}

export function toRate({ rate, latencies, cpu, database }: Loaded & Spent): Rate {
  return {
    rate,
    p50: percentile(latencies, 50),
    p99: percentile(latencies, 99),
    cpu: cpu / latencies.length,
    database: database / latencies.length,
  };
}

export function medianRate(rates: readonly Rate[]): Rate {
  const keys = Object.keys(rates[0]!) as (keyof Rate)[];
  const medians = keys.map((key) => [key, median(rates.map((rate) => rate[key]))]);
  return Object.fromEntries(medians) as Record<keyof Rate, number>;
}

/** Each is first as often as the others: what the one before left to the disk falls to the next. */
export function inTurn<T>(contenders: readonly T[], round: number): T[] {
  const first = round % contenders.length;
  return [...contenders.slice(first), ...contenders.slice(0, first)];
}
