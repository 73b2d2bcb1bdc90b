// The thread of background reads. It has the lowest priority for the CPU.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { lowerThreadPriority } from "../../../util/thread-priority.ts";
import type { Statement } from "../../sql.ts";
import { type ReadResult, toFailure } from "./outcome.ts";
import { isDamagedIndex } from "./search.ts";

/** The input that the thread is started with. */
export interface ReaderData {
  path: string;
  busyTimeoutMs: number;
  cacheKib: number;
}

const { path, busyTimeoutMs, cacheKib } = workerData as ReaderData;
const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
db.exec(`PRAGMA query_only = ON; PRAGMA cache_size = -${cacheKib}`);
const statements = new Map<string, StatementSync>();
lowerThreadPriority();

parentPort!.on("message", (request: Statement | "close") => {
  if (request !== "close") return parentPort!.postMessage(read(request));
  db.close();
  parentPort!.close();
});

function read({ sql, params }: Statement): ReadResult {
  try {
    let statement = statements.get(sql);
    if (!statement) {
      statement = db.prepare(sql);
      statement.setReturnArrays(true);
      statements.set(sql, statement);
    }
    return { rows: statement.all(...params) };
  } catch (error) {
    return { failure: toFailure(error), isDamagedIndex: isDamagedIndex(error) };
  }
}
