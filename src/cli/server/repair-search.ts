import { readConfig } from "../../config/settings.ts";
import { INDEXED_AT_ONCE } from "../../core/search/search.ts";
import { getIndexState, lastBody } from "../../db/queries/search/search.ts";
import { OperatorError, ParleyError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { withDataAccess } from "./data.ts";

/** Rebuilds the search index, also while a server runs. If this command is interrupted, the server continues. */
export async function repairSearch(io: Io, options: { json?: boolean }): Promise<void> {
  await withDataAccess(readConfig(io.env), async ({ db }) => {
    await db.write("rebuildIndex", undefined).catch((error: Error) => {
      if (error instanceof ParleyError) throw error;
      throw new OperatorError(
        `The search index cannot be rebuilt: ${error.message}. The database is damaged: restore a backup.`,
        { cause: error },
      );
    });
    const progress = startProgress(io, "indexing messages", await lastBody(db), String);
    try {
      for (;;) {
        const { rebuilt } = await getIndexState(db);
        if (rebuilt === null) break;
        progress.at(rebuilt);
        if (io.stop.aborted)
          throw new OperatorError("Stopped before completion. A running server continues.");
        await db.write("indexMessages", INDEXED_AT_ONCE);
      }
    } finally {
      progress.end();
    }
  });
  if (options.json) io.print(JSON.stringify({ kind: "summary", rebuilt: "search" }));
  else io.print("Rebuilt the search index.");
}
