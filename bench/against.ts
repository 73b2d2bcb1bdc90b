// Holds this Parley against another checkout of it, in rounds that alternate, each on the same core.
import { join, resolve } from "node:path";
import { startSubject } from "./subject.ts";
import { allWorks, measure, type Work } from "./works.ts";

/** The contender of each work that is Parley. */
const PARLEY_IN: Record<string, string> = {
  retrieve: "parley",
  list: "few",
  create: "ascending",
  upload4k: "parley",
  download4k: "parley",
  upload64m: "parley",
  download64m: "parley",
};

/** Prints, for each work, the median rate of this Parley over that of the other. */
export async function holdAgainst(
  stack: AsyncDisposableStack,
  folder: string,
  other: string,
  rounds: number,
  ms: number,
  only: readonly string[],
): Promise<void> {
  const here = await allWorks(await startSubject(stack, join(folder, "here")));
  const there = await allWorks(
    await startSubject(stack, join(folder, "there"), join(resolve(other), "bin/parley")),
  );
  for (const [name, contender] of Object.entries(PARLEY_IN)) {
    if (!only.includes(name)) continue;
    const tidy = async () => {
      await here[name]!.tidy?.();
      await there[name]!.tidy?.();
    };
    const work: Work = {
      contenders: {
        there: there[name]!.contenders[contender]!,
        here: here[name]!.contenders[contender]!,
      },
      ratios: [],
      tidy,
    };
    const rates = await measure(work, folder, rounds, ms);
    const quotient = (rates.here!.rate / rates.there!.rate).toFixed(3);
    console.log(
      `${name.padEnd(12)} ${quotient}   ${rates.here!.rate.toFixed(0)}/s against ${rates.there!.rate.toFixed(0)}/s`,
    );
  }
}
