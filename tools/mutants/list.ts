import { access } from "./access.ts";
import { connections } from "./connections.ts";
import { erasing } from "./erasing.ts";
import { files } from "./files.ts";
import type { Mutant } from "./mutant.ts";
import { outside } from "./outside.ts";
import { requests } from "./requests.ts";

export const mutants: readonly Mutant[] = [
  ...requests,
  ...connections,
  ...access,
  ...files,
  ...erasing,
  ...outside,
];
