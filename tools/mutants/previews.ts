import type { Mutant } from "./mutant.ts";

/** Decoding of untrusted pictures: its sandbox, its limits, and the previews that are kept. */
export const previews: readonly Mutant[] = [
  {
    name: "previews: the process has all rights",
    find: '"--permission",',
    replace: "",
    tests: ["previews/walls"],
  },
  {
    name: "previews: the process has the server's environment variables",
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
  {
    name: "previews: all decoders run",
    find: 'sharp.block({ operation: ["VipsForeignLoad"] });',
    replace: "",
    tests: ["previews/hostile"],
  },
  {
    name: "previews: pictures of any number of pixels are decoded",
    find: "limitInputPixels: maxPixels }",
    replace: "limitInputPixels: false as const }",
    tests: ["previews/hostile"],
  },
];
