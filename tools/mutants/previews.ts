import type { Mutant } from "./mutant.ts";

/** What decodes the pictures of strangers, what keeps it in, and what is kept of it. */
export const previews: readonly Mutant[] = [
  {
    name: "previews: the process has all rights",
    find: '"--permission",',
    replace: "",
    tests: ["previews/walls"],
  },
  {
    name: "previews: the process knows the variables of the server",
    find: "env: {},",
    replace: "",
    tests: ["previews/walls"],
  },
  {
    name: "previews: the kernel sets no limits",
    find: "[prlimit, ...LIMITS,",
    replace: "[prlimit,",
    tests: ["previews/walls"],
  },
];
