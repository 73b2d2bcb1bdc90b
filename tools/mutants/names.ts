// Searching names of contacts and files: what a search finds, and how much one request scans.
import type { Mutant } from "./mutant.ts";

export const names: readonly Mutant[] = [
  {
    name: "a search by digits finds contacts of all users",
    find: "AND (${isFoundBy(search)})`",
    replace: "AND ${isFoundBy(search)}`",
    tests: ["http/name-search"],
  },
  {
    name: "a search finds files that the caller does not see",
    find: "${findSeen(userId)} AND a.id IN (${list(padded(ids))})",
    replace: "SELECT ${COLUMNS} FROM attachments a WHERE a.id IN (${list(padded(ids))})",
    tests: ["http/name-search"],
  },
];
