import { access } from "./access.ts";
import { connections } from "./connections.ts";
import { erasing } from "./erasing.ts";
import { files } from "./files.ts";
import { messages } from "./messages.ts";
import type { Mutant } from "./mutant.ts";
import { outside } from "./outside.ts";
import { requests } from "./requests.ts";
import { visibility } from "./visibility.ts";

export const mutants: readonly Mutant[] = [
  ...requests,
  ...connections,
  ...access,
  ...messages,
  ...visibility,
  ...files,
  ...erasing,
  ...outside,
];
