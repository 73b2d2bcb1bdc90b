// Compares this Parley with another checkout of it by CPU time per request, in rounds that alternate, on the same core.
// The other checkout runs twice: what its two servers differ by is what this machine cannot tell apart.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Costed, inTurn, measureInTurn, warmUp } from "./cost.ts";
import { median } from "./load.ts";
import { fillPostgres } from "./postgres.ts";
import { PARLEY } from "./servers.ts";
import { fillSubject, startSubject } from "./subject.ts";
import { allWorks } from "./works.ts";

/** The contender of each work that is Parley. */
const PARLEY_IN: Record<string, string> = {
  retrieve: "parley",
  list: "few",
  create: "ascending",
  send: "parley",
  upload4k: "parley",
  download4k: "parley",
  upload64m: "parley",
  download64m: "parley",
};
/** A change may cost so much, or as much as two servers of the same commit differ by. */
const BOUND = 1.05;

/** Starts a Parley on separate data, and returns the requests for each work. */
type Side = (stack: AsyncDisposableStack) => Promise<Record<string, Costed>>;

/** Fills the data of a side in a folder. `command`: of the Parley that is measured. */
type FillSide = (folder: string, command: string) => Promise<Side>;

interface Measured {
  /** Microseconds of CPU for each request, on PostgreSQL also those of the database. */
  cost: number;
  rate: number;
}

/** What each side took in a round. */
type Round = [here: Measured, there: Measured, again: Measured];

/** Prints, for each work, the CPU time of this Parley over that of the other, the median of the rounds, beside that of the other over itself. */
export async function holdAgainst(
  folder: string,
  other: string,
  rounds: number,
  ms: number,
  only: readonly string[],
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const names = Object.keys(PARLEY_IN).filter((name) => only.includes(name));
  const fills: [name: string, FillSide][] = [];
  if (names.length > 0) fills.push(["sqlite", (own, command) => fillSqlite(own, command, names)]);
  if (only.includes("postgres"))
    fills.push(["postgres", (own, command) => fillOnPostgres(stack, own, command)]);
  for (const [name, fill] of fills) await compare(join(folder, name), other, rounds, ms, fill);
}

async function fillSqlite(folder: string, command: string, names: readonly string[]): Promise<Side> {
  const users = await fillSubject(folder, command);
  return async (stack) => {
    const works = await allWorks(await startSubject(stack, folder, users, command));
    const costed = (name: string) => ({
      requests: works[name]!.contenders[PARLEY_IN[name]!]!,
      tidy: works[name]!.tidy,
    });
    return Object.fromEntries(names.map((name) => [name, costed(name)]));
  };
}

/** Each side has its own PostgreSQL, on the core of all servers. */
async function fillOnPostgres(stack: AsyncDisposableStack, folder: string, command: string): Promise<Side> {
  const database = await fillPostgres(stack, folder, undefined, command);
  return async (servers) => {
    const works = Object.entries(await database.start(servers));
    return Object.fromEntries(works.map(([name, requests]) => [`${name}, PostgreSQL`, { requests }]));
  };
}

async function compare(
  folder: string,
  other: string,
  rounds: number,
  ms: number,
  fill: FillSide,
): Promise<void> {
  const otherCommand = join(resolve(other), "bin/parley");
  const sides: Side[] = [];
  for (const command of [PARLEY, otherCommand, otherCommand]) {
    const own = join(folder, String(sides.length));
    mkdirSync(own, { recursive: true });
    sides.push(await fill(own, command));
  }
  const measured: Record<string, Round>[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await measureRound(sides, round, folder, ms));
  for (const name of Object.keys(measured[0]!))
    report(
      name,
      measured.map((round) => round[name]!),
    );
}

/** One process may be a tenth slower than another of the same code for as long as it runs, so that each round starts its own. */
async function measureRound(
  sides: readonly Side[],
  round: number,
  folder: string,
  ms: number,
): Promise<Record<string, Round>> {
  await using servers = new AsyncDisposableStack();
  const started: Record<string, Costed>[] = [];
  for (const side of inTurn(sides, round)) started[sides.indexOf(side)] = await side(servers);
  const taken: Record<string, Round> = {};
  for (const name of Object.keys(started[0]!)) {
    const contenders = started.map((works) => works[name]!);
    await warmUp(contenders, folder);
    taken[name] = (await measureInTurn(contenders, folder, ms)) as Round;
  }
  return taken;
}

function report(name: string, rounds: readonly Round[]): void {
  // Within a round: the machine's speed changes from one to the next. Either server of the other checkout is as good as the other.
  const over = (key: keyof Measured) =>
    median(rounds.map(([here, there, again]) => (2 * here[key]) / (there[key] + again[key])));
  const itself = median(rounds.map(([, there, again]) => there.cost / again.cost));
  const spread = Math.max(itself, 1 / itself);
  const ratio = over("cost");
  const verdict = ratio <= Math.max(BOUND, spread) ? "kept" : "NOT KEPT";
  const cells = [0, 1, 2].map((side) =>
    median(rounds.map((round) => round[side]!.cost))
      .toFixed(1)
      .padStart(9),
  );
  const [here, there] = [0, 1].map((side) => median(rounds.map((round) => round[side]!.rate)).toFixed(0));
  console.log(
    `${name.padEnd(24)} ${cells.join(" ")} us a request: here, there, there again; ` +
      `${ratio.toFixed(3)} (there against itself ${spread.toFixed(3)}) ${verdict}; ` +
      `${here}/s here, ${there}/s there, ${over("rate").toFixed(3)}`,
  );
}
