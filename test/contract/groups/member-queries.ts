import { listMuted } from "../../../src/db/queries/messages/conversation-state.ts";
import { listSeeing } from "../../../src/db/queries/visibility/visibility.ts";
import type { Reader, Statement } from "../../../src/db/sql.ts";

/** Returns the queries with which rendering events reads some members of a conversation. */
export async function memberQueries(): Promise<Statement[]> {
  const asked: Statement[] = [];
  const db: Reader = {
    all: async (statement) => {
      asked.push(statement);
      return [];
    },
    get: async () => undefined,
  };
  await listSeeing(db, "cnv_7", "msg_7", ["usr_x", "usr_y"]);
  await listMuted(db, ["usr_x", "usr_y"], ["cnv_7", "cnv_8"], 1);
  return asked;
}
