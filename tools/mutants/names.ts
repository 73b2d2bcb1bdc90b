// Search in names of contacts and files: what it finds, and how much of it one request looks at.
import type { Mutant } from "./mutant.ts";

export const names: readonly Mutant[] = [
  {
    name: "find everybody's contacts by digits",
    find: "AND (${isFoundBy(search)})`",
    replace: "AND ${isFoundBy(search)}`",
    tests: ["http/name-search"],
  },
  {
    name: "find files that the caller does not see",
    find: "${findSeen(userId)} AND a.id IN (${list(padded(ids))})",
    replace: "SELECT ${COLUMNS} FROM attachments a WHERE a.id IN (${list(padded(ids))})",
    tests: ["http/name-search"],
  },
];
