// The thread of background reads. Where the system allows it, all other threads have the processor first.
import { readlinkSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { basename } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
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
lowerPriority();

parentPort!.on("message", (asked: Statement | "close") => {
  if (asked !== "close") return parentPort!.postMessage(read(asked));
  db.close();
  parentPort!.close();
});

/** Only Linux has a priority for each thread. Without it this thread is like all others, and reads none the less. */
function lowerPriority(): void {
  if (process.platform !== "linux") return;
  try {
    const thread = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {}
}

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
