// Deleted data that is still being erased: who sees it, who is charged for it, and that all of it is erased.
import type { Mutant } from "./mutant.ts";

export const erasing: readonly Mutant[] = [
  {
    name: "still erasing: a member who left a conversation still sees its files",
    find: "sql`DELETE FROM members WHERE ${isOwn}`,",
    replace: "",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: a link opens a file after the last member left",
    find: "AND NOT EXISTS (SELECT 1 FROM departing WHERE conversation_id = a.conversation_id)",
    replace: "",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: a link opens a file that only a deleted user sees",
    find: "NOT EXISTS (SELECT 1 FROM erasing)",
    replace: "TRUE",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: a deleted user can upload to a conversation",
    find: "OR EXISTS (SELECT 1 FROM members s JOIN users u ON u.id = s.user_id",
    replace: "OR EXISTS (SELECT 1 FROM members s",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: the read position of a deleted user is shown",
    find: "SELECT 1 FROM erasing WHERE user_id = o.user_id",
    replace: "SELECT 1 FROM erasing WHERE user_id = '' AND o.user_id = ''",
    tests: ["contract/marks"],
  },
  {
    name: "still erasing: a deleted user unlinks the contact of the name's new user",
    find: "AND peer_id = ${userId}`",
    replace: "AND (peer_id = ${userId} OR TRUE)`",
    tests: ["contract/erasing"],
  },
  {
    name: "still erasing: webhooks get events of a deleted user",
    find: "AND next_at <= ${now} AND recipient_id NOT IN (SELECT user_id FROM erasing)",
    replace: "AND next_at <= ${now}",
    tests: ["contract/erasing"],
  },
];
