import { findMessages } from "../../../src/db/queries/messages/messages.ts";
import {
  findMessagesOfBodies,
  indexKey,
  listConversationEnds,
  listIdsBetween,
  listTexts,
  listUnindexed,
} from "../../../src/db/queries/search/search.ts";
import type { QuickReader, Statement } from "../../../src/db/sql.ts";
import type { Lookup } from "../../../src/util/words.ts";

const CONVERSATIONS = ["cnv_7", "cnv_8", "cnv_9"];

/** Returns the queries of a search on the tables. */
export async function searchQueries(): Promise<Statement[]> {
  const asked: Statement[] = [];
  const note = async (statement: Statement) => {
    asked.push(statement);
    return [];
  };
  const nothing = async () => undefined;
  const db: QuickReader = { all: note, allValues: note, get: nothing, getValues: nothing };
  for (const id of [undefined, "cnv_7"]) await listConversationEnds(db, "usr_x", id);
  for (const to of ["msg_9", "msg_~"])
    await listIdsBetween(db, "usr_x", CONVERSATIONS, { from: "msg_1", to, limit: 2001 });
  await listUnindexed(db, "usr_x", { after: 7, limit: 500 });
  await findMessagesOfBodies(db, [7, 8, 9]);
  await listTexts(db, ["msg_7", "msg_8"], { newer: false, bytes: 1 });
  await findMessages(db, "usr_x", ["msg_7", "msg_8"]);
  return asked;
}

/** Returns the queries of a search on the index. */
export function lookups(
  bodiesQuery: (keys: readonly string[], lookup: Lookup, limit: number) => Statement,
): Statement[] {
  return [true, false].map((isPrefix) =>
    bodiesQuery(CONVERSATIONS.map(indexKey), { entry: "the", isPrefix }, 2001),
  );
}
