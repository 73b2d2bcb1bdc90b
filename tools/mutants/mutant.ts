import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The service with one defence removed, and the tests that must fail without it. */
export interface Mutant {
  /** The faulty behavior. */
  name: string;
  /** Code that occurs exactly once in `src` and `packages`, in any file and any layout. */
  find: string;
  replace: string;
  /**
   * Folder and name of each test file, in any subject. The fewest and fastest that catch the mutant: each must fail.
   */
  tests: readonly string[];
}

const squeeze = (text: string) => text.replaceAll(/\s+/g, "");

/** Returns the sources in this folder, with and without their layout. */
export function readSources(root: string): Map<string, { text: string; code: string }> {
  const paths = globSync("{src,packages/*/src}/**/*.ts", { cwd: root }).map((file) => join(root, file));
  return new Map(
    paths.map((path) => {
      const text = readFileSync(path, "utf8");
      return [path, { text, code: squeeze(text) }];
    }),
  );
}

/** Finds the one file that contains the mutant's code. Returns it before and after the change. */
export function locate(sources: ReturnType<typeof readSources>, { name, find, replace }: Mutant) {
  const wanted = squeeze(find);
  const holders = [...sources].filter(([, { code }]) => code.includes(wanted));
  const [path, { text, code }] = holders[0] ?? ["", { text: "", code: "" }];
  const pieces = code.split(wanted);
  if (holders.length !== 1 || pieces.length !== 2)
    throw new Error(`${name}: the sources must contain its code exactly once`);
  const places = [...text.matchAll(/\S/g)];
  const start = places[pieces[0]!.length]!.index;
  const last = places[pieces[0]!.length + wanted.length - 1]!.index;
  return { path, text, mutated: text.slice(0, start) + replace + text.slice(last + 1) };
}

/** Returns the path of the test file of that folder and name. */
export function locateTest(root: string, test: string): string {
  const [folder, name] = test.split("/");
  const found = globSync(`test/${folder}/**/${name}{,.all}.test.ts`, { cwd: root });
  if (found.length !== 1)
    throw new Error(`${test}: there are ${found.length} test files of this name, not one`);
  return found[0]!;
}
