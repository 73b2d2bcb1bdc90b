import type { Mutant } from "./mutant.ts";

/** Search: what the index contains and when, and who finds what. */
export const search: readonly Mutant[] = [
  {
    name: "search: words of an erased text stay in the index",
    find: 'if (words === "") return [forget];',
    replace: "if (words.length >= 0) return [forget];",
    tests: ["contract/search-index", "http/search"],
  },
  {
    name: "search: messages that the caller does not see are found",
    find: "sql`m.id IN (${list(padded(ids))}) AND ${sees(sql`m.id`)}`",
    replace: "sql`m.id IN (${list(padded(ids))})`",
    tests: ["http/search", "http/search-pages"],
  },
  {
    name: "search: everybody can search every conversation",
    find: "if (id !== undefined && !(await findSeat(core.db, id, userId)))",
    replace: "if (id === userId && !(await findSeat(core.db, id, userId)))",
    tests: ["acceptance/search"],
  },
  {
    name: "search: messages of other conversations are found",
    find: "|| row.conversation_id !== (conversationId ?? row.conversation_id)",
    replace: "",
    tests: ["http/search-pages"],
  },
];
