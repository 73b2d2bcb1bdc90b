import type { Core } from "../core/node/core.ts";
import { INDEXED_AT_ONCE } from "../core/search/search.ts";
import { getIndexState } from "../db/queries/search/search.ts";
import { type Job, startJob } from "./job.ts";

/** How long new messages wait, so that many are indexed in one write. A search also finds those that still wait. */
const INTERVAL_MS = 1000;

/** Adds the words of new messages to the search index, and those of all messages during a rebuild. */
export function startIndexer(core: Core, onError: (error: unknown) => void): Job {
  async function index(isStopped: () => boolean): Promise<void> {
    const { rebuilt, waiting } = await getIndexState(core.db);
    if ((rebuilt === null && waiting === 0) || core.fuse.blown || !(await core.db.claim("indexer"))) return;
    while (!isStopped() && (await core.db.write("indexMessages", INDEXED_AT_ONCE)));
  }
  return startJob(index, INTERVAL_MS, onError);
}
