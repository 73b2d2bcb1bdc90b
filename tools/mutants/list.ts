import { access } from "./access.ts";
import { acting } from "./acting.ts";
import { administration } from "./administration.ts";
import { archives } from "./archives.ts";
import { avatars } from "./avatars.ts";
import { chat } from "./chat.ts";
import { clientIds } from "./client-ids.ts";
import { conversations } from "./conversations.ts";
import { erasing } from "./erasing.ts";
import { events } from "./events.ts";
import { files } from "./files.ts";
import { groups } from "./groups.ts";
import { messages } from "./messages.ts";
import type { Mutant } from "./mutant.ts";
import { names } from "./names.ts";
import { outside } from "./outside.ts";
import { pausing } from "./pausing.ts";
import { previews } from "./previews.ts";
import { profiles } from "./profiles.ts";
import { push } from "./push.ts";
import { reactions } from "./reactions.ts";
import { reads } from "./reads.ts";
import { requests } from "./requests.ts";
import { search } from "./search.ts";
import { signIn } from "./sign-in.ts";
import { snapshot } from "./snapshot.ts";
import { sockets } from "./sockets.ts";
import { sync } from "./sync.ts";
import { typing } from "./typing.ts";
import { upgrades } from "./upgrades.ts";
import { uploads } from "./uploads.ts";
import { visibility } from "./visibility.ts";

export const mutants: readonly Mutant[] = [
  ...access,
  ...acting,
  ...administration,
  ...archives,
  ...avatars,
  ...chat,
  ...clientIds,
  ...conversations,
  ...erasing,
  ...events,
  ...files,
  ...groups,
  ...messages,
  ...names,
  ...outside,
  ...pausing,
  ...previews,
  ...profiles,
  ...push,
  ...reactions,
  ...reads,
  ...requests,
  ...search,
  ...signIn,
  ...snapshot,
  ...sockets,
  ...sync,
  ...typing,
  ...upgrades,
  ...uploads,
  ...visibility,
];
