// Compares this Parley with another checkout of it by CPU time per request, in rounds that alternate, on the same core.
// The other checkout runs twice: what its two servers differ by is what this machine cannot tell apart.
import { join, resolve } from "node:path";
import { costsOf, inTurn, warmUp } from "./cost.ts";
import { median } from "./load.ts";
import { PARLEY } from "./servers.ts";
import { fillSubject, startSubject, type Users } from "./subject.ts";
import { allWorks, type Work } from "./works.ts";

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

/** A Parley with its own data. */
interface Side {
  folder: string;
  command: string;
  users: Users;
}

/** Microseconds of CPU for each request in a round. */
type Costs = [here: number, there: number, again: number];

/** Prints, for each work, the CPU time of this Parley over that of the other, the median of the rounds, beside that of the other over itself. */
export async function holdAgainst(
  folder: string,
  other: string,
  rounds: number,
  ms: number,
  only: readonly string[],
): Promise<void> {
  const names = Object.keys(PARLEY_IN).filter((name) => only.includes(name));
  const otherCommand = join(resolve(other), "bin/parley");
  const sides: Side[] = [];
  for (const command of [PARLEY, otherCommand, otherCommand]) {
    const own = join(folder, String(sides.length));
    sides.push({ folder: own, command, users: await fillSubject(own, command) });
  }
  const measured: Record<string, Costs>[] = [];
  for (let round = 0; round < rounds; round++)
    measured.push(await measureRound(sides, round, folder, names, ms));
  for (const name of names)
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
  names: string[],
  ms: number,
): Promise<Record<string, Costs>> {
  await using servers = new AsyncDisposableStack();
  const started: Record<string, Work>[] = [];
  for (const side of inTurn(sides, round)) {
    const subject = await startSubject(servers, side.folder, side.users, side.command);
    started[sides.indexOf(side)] = await allWorks(subject);
  }
  const costs: Record<string, Costs> = {};
  for (const name of names) {
    const contenders = started.map((works) => ({
      requests: works[name]!.contenders[PARLEY_IN[name]!]!,
      tidy: works[name]!.tidy,
    }));
    await warmUp(contenders, folder);
    costs[name] = (await costsOf(contenders, folder, ms)) as Costs;
  }
  return costs;
}

function report(name: string, rounds: readonly Costs[]): void {
  // Within a round: the machine's speed changes from one to the next. Either server of the other checkout is as good as the other.
  const ratio = median(rounds.map(([here, there, again]) => (2 * here) / (there + again)));
  const itself = median(rounds.map(([, there, again]) => there / again));
  const spread = Math.max(itself, 1 / itself);
  const verdict = ratio <= Math.max(BOUND, spread) ? "kept" : "NOT KEPT";
  const cells = [0, 1, 2].map((side) =>
    median(rounds.map((costs) => costs[side]!))
      .toFixed(1)
      .padStart(9),
  );
  console.log(
    `${name.padEnd(12)} ${cells.join(" ")} us a request: here, there, there again; ` +
      `${ratio.toFixed(3)} (there against itself ${spread.toFixed(3)}) ${verdict}`,
  );
}
