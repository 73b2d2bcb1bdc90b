import { access } from "./access.ts";
import { archives } from "./archives.ts";
import { connections } from "./connections.ts";
import { conversations } from "./conversations.ts";
import { erasing } from "./erasing.ts";
import { events } from "./events.ts";
import { files } from "./files.ts";
import { groups } from "./groups.ts";
import { messages } from "./messages.ts";
import type { Mutant } from "./mutant.ts";
import { names } from "./names.ts";
import { outside } from "./outside.ts";
import { pictures } from "./pictures.ts";
import { plans } from "./plans.ts";
import { previews } from "./previews.ts";
import { push } from "./push.ts";
import { reactions } from "./reactions.ts";
import { requests } from "./requests.ts";
import { search } from "./search.ts";
import { typing } from "./typing.ts";
import { upgrades } from "./upgrades.ts";
import { uploads } from "./uploads.ts";
import { visibility } from "./visibility.ts";

export const mutants: readonly Mutant[] = [
  ...requests,
  ...connections,
  ...access,
  ...messages,
  ...reactions,
  ...search,
  ...visibility,
  ...conversations,
  ...events,
  ...typing,
  ...files,
  ...uploads,
  ...archives,
  ...pictures,
  ...previews,
  ...names,
  ...groups,
  ...erasing,
  ...plans,
  ...outside,
  ...push,
  ...upgrades,
];
