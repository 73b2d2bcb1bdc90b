// What was deleted and is still being erased: who sees it, who counts it, and that none of it is forgotten.
import type { Mutant } from "./mutant.ts";

export const erasing: readonly Mutant[] = [
  {
    name: "still erasing: who left a conversation goes on seeing its files",
    find: "sql`DELETE FROM members WHERE ${isOwn}`,",
    replace: "",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: a link shows a file that nobody sees since its last member left",
    find: "AND NOT EXISTS (SELECT 1 FROM departing WHERE conversation_id = a.conversation_id)",
    replace: "",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: a link shows a file of a deleted user alone",
    find: "NOT EXISTS (SELECT 1 FROM erasing)",
    replace: "TRUE",
    tests: ["contract/erasing", "attacks/erasing"],
  },
  {
    name: "still erasing: a deleted user uploads to a conversation",
    find: "OR EXISTS (SELECT 1 FROM members s JOIN users u ON u.id = s.user_id",
    replace: "OR EXISTS (SELECT 1 FROM members s",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: how far a deleted user has read is shown",
    find: "SELECT 1 FROM erasing WHERE user_id = o.user_id",
    replace: "SELECT 1 FROM erasing WHERE user_id = '' AND o.user_id = ''",
    tests: ["contract/marks"],
  },
  {
    name: "still erasing: a deleted user takes the peer from the new user of the name",
    find: "AND peer_id = ${userId}`",
    replace: "AND (peer_id = ${userId} OR TRUE)`",
    tests: ["contract/erasing"],
  },
];
