// What was deleted and is still being erased: who sees it, who counts it, and that none of it is forgotten.
import type { Mutant } from "./mutant.ts";

const ATTACHMENTS = "src/db/queries/files/attachments.ts";
const LEAVING = "src/db/queries/people/conversation-leaving.ts";
const DEPARTURES = ["contract/upkeep/erasing"];
const RESTARTS = ["attacks/erasing.all"];

export const erasing: readonly Mutant[] = [
  {
    name: "still erasing: who left a conversation goes on seeing its files",
    file: LEAVING,
    find: "    sql`DELETE FROM members WHERE ${isOwn}`,\n",
    replace: "",
    tests: DEPARTURES,
  },
  {
    name: "still erasing: what is left of a departure is not marked",
    file: LEAVING,
    find: "if (erased < limit) return erased + 1;",
    replace: "if (erased <= limit) return erased + 1;",
    tests: [...DEPARTURES, ...RESTARTS],
  },
  {
    name: "still erasing: the mark of a departure goes with the first step",
    file: LEAVING,
    find: "(yield* eraseDeparture(departure, now, limit)) < limit;",
    replace: "(yield* eraseDeparture(departure, now, limit)) <= limit;",
    tests: [...DEPARTURES, ...RESTARTS],
  },
  {
    name: "still erasing: a deleted user is not marked",
    file: "src/db/queries/upkeep/erasing.ts",
    find: "if (yield* eraseRowsOf(user, step)) return;",
    replace: "if ((yield* eraseRowsOf(user, step)) || step.limit > 0) return;",
    tests: [...DEPARTURES, ...RESTARTS],
  },
  {
    name: "still erasing: a file goes while its uploader, who left, still counts it",
    file: "src/db/queries/storage/file-erase.ts",
    find: "    ...returnStorage(file),\n",
    replace: "",
    tests: DEPARTURES,
  },
  {
    name: "still erasing: a link shows a file that nobody sees since its last member left",
    file: ATTACHMENTS,
    find: "    AND NOT EXISTS (SELECT 1 FROM departing WHERE conversation_id = a.conversation_id)\n",
    replace: "",
    tests: DEPARTURES,
  },
  {
    name: "still erasing: a link shows a file of a deleted user alone",
    file: ATTACHMENTS,
    find: "NOT EXISTS (SELECT 1 FROM erasing)",
    replace: "TRUE",
    tests: [...DEPARTURES, ...RESTARTS],
  },
  {
    name: "still erasing: a new file is hidden with those of before",
    file: LEAVING,
    find: "a.id = g.attachment_id), '') <= ${until_id}",
    replace: "a.id = g.attachment_id), '') <= '~'",
    tests: DEPARTURES,
  },
  {
    name: "still erasing: a deleted user uploads to a conversation",
    file: ATTACHMENTS,
    find: "FROM members s JOIN users u ON u.id = s.user_id\n",
    replace: "FROM members s\n",
    tests: DEPARTURES,
  },
  {
    name: "still erasing: how far a deleted user has read is shown",
    file: "src/db/queries/messages/inbox.ts",
    find: "SELECT 1 FROM erasing WHERE user_id = o.user_id",
    replace: "SELECT 1 FROM erasing WHERE user_id = '' AND o.user_id = ''",
    tests: ["contract/messages/marks"],
  },
  {
    name: "still erasing: webhooks get events of a deleted user",
    file: "src/db/queries/webhooks/deliveries.ts",
    find: " AND recipient_id NOT IN (SELECT user_id FROM erasing)",
    replace: "",
    tests: DEPARTURES,
  },
  {
    name: "still erasing: a deleted user takes the peer from the new user of the name",
    file: "src/db/queries/people/peers.ts",
    find: "AND peer_id = ${userId}`",
    replace: "AND (peer_id = ${userId} OR TRUE)`",
    tests: DEPARTURES,
  },
  {
    name: "a contact is erased in one transaction, whatever it has",
    file: "src/core/people/contacts.ts",
    find: "const limit = core.limits.erasedRowsAtOnce;",
    replace: "const limit = Number.MAX_SAFE_INTEGER;",
    tests: RESTARTS,
  },
  {
    name: "a user is erased in one transaction, whatever they have",
    file: "src/core/people/users.ts",
    find: "const limit = core.limits.erasedRowsAtOnce",
    replace: "const limit = Number.MAX_SAFE_INTEGER",
    tests: RESTARTS,
  },
];
