// The writer thread. Requests are answered in another thread, so syncs and checkpoints do not delay them.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { ParleyError } from "../../../errors.ts";
import type { Statement } from "../../sql.ts";
import { getWrite } from "../../writes.ts";
import { type Ask, type BatchResult, type Outcome, toFailure } from "./outcome.ts";
import { isDamagedIndex } from "./search.ts";

/** The input that the thread is started with. */
export interface WriterData {
  path: string;
  busyTimeoutMs: number;
}

/**
 * Writes between checkpoints, which keep the log from growing without limit. The more writes, the fewer copies of a page that
 * many of them change. SQLite's automatic checkpoints would run before the answer and hide their errors.
 */
const WRITES_PER_CHECKPOINT = 1000;

/** How soon after a write to empty the log, which contains deleted data until then. */
const CLEAN_AFTER_MS = 2000;
/** How long emptying the log waits for readers. Writes wait meanwhile. */
const CLEAN_BUSY_MS = 50;

// https://sqlite.org/rescode.html, primary codes
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

interface Prepared {
  statement: StatementSync;
  hasRows: boolean;
  /** Set if the statement returns rows that it changes. */
  changesIfRows: boolean;
}

/** A write failed (`cause`) after changing rows, so its transaction has to be rolled back. */
class Tainted extends Error {}

/** Cache for database pages. A message to a large group changes a page of events for each member. */
const CACHE_KIB = 8 * 1024;

const { path, busyTimeoutMs } = workerData as WriterData;
const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
// Set explicitly: some builds of SQLite fall back to NORMAL in WAL mode, which loses commits on a power cut.
db.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
// Otherwise a statement with many rows copies each page that it changes to a file, so that it can be undone.
db.exec("PRAGMA temp_store = MEMORY");
// Overwrite deleted data, including small files.
db.exec("PRAGMA secure_delete = ON");
const statements = new Map<string, Prepared>();

let uncopied = 0;
let cleaning: NodeJS.Timeout | undefined;

parentPort!.on("message", (writes: Ask[] | "close") => {
  if (writes !== "close") {
    parentPort!.postMessage(commit(writes));
    uncopied += writes.length;
    if (uncopied >= WRITES_PER_CHECKPOINT) checkpoint("PASSIVE");
    cleaning ??= setTimeout(clean, CLEAN_AFTER_MS);
    return;
  }
  if (cleaning) clean();
  clearTimeout(cleaning);
  db.close();
  parentPort!.close();
});
parentPort!.postMessage("ready");

/** Copies the log into the database and empties it; retries later if a long read is running. */
function clean(): void {
  db.exec(`PRAGMA busy_timeout = ${CLEAN_BUSY_MS}`);
  clearTimeout(cleaning);
  cleaning = checkpoint("TRUNCATE") ? undefined : setTimeout(clean, CLEAN_AFTER_MS);
  db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
}

/** Runs a checkpoint. Returns false if another process prevented it. */
function checkpoint(mode: "PASSIVE" | "TRUNCATE"): boolean {
  uncopied = 0;
  try {
    return (prepare(`PRAGMA wal_checkpoint(${mode})`).statement.get() as { busy: number }).busy === 0;
  } catch (error) {
    if (primaryCode(error) === SQLITE_IOERR) {
      parentPort!.postMessage({ outcomes: [], damage: toFailure(error) } satisfies BatchResult);
    }
    return false;
  }
}

/**
 * Commits all waiting writes in one transaction with one sync. A failing write does not affect the others. If one finds the search
 * index damaged, empties the index and repeats all writes: otherwise no message could be deleted.
 */
function commit(writes: Ask[], isRepaired = false): BatchResult {
  try {
    try {
      return { outcomes: transaction(writes, runBare) };
    } catch (error) {
      if (!(error instanceof Tainted)) throw error;
      return { outcomes: transaction(writes, runInSavepoint) };
    }
  } catch (error) {
    if (isDamagedIndex(error) && !isRepaired) {
      const repair = commit([{ name: "rebuildIndex", input: undefined }], true);
      if ("result" in repair.outcomes[0]!) return { ...commit(writes, true), damagedIndex: toFailure(error) };
    }
    const failure = toFailure(engineError(error));
    const answer: BatchResult = { outcomes: writes.map(() => ({ failure })) };
    if (primaryCode(error) === SQLITE_IOERR || db.isTransaction) answer.damage = toFailure(error);
    return answer;
  }
}

function transaction(writes: Ask[], runOne: (ask: Ask) => Outcome): Outcome[] {
  run("BEGIN IMMEDIATE");
  try {
    const outcomes = writes.map(runOne);
    run("COMMIT");
    return outcomes;
  } catch (error) {
    // If even the rollback fails, the transaction stays open, and the caller detects it.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Runs a write without a savepoint, which would cost as much as a small write. Most failing writes have changed nothing. */
function runBare({ name, input }: Ask): Outcome {
  let changed = false;
  function rowsOf({ sql, params }: Statement): unknown[] {
    const { statement, hasRows, changesIfRows } = prepare(sql);
    if (!hasRows) {
      changed = Number(statement.run(...params).changes) > 0 || changed;
      return [];
    }
    const rows = statement.all(...params);
    if (changesIfRows) changed ||= rows.length > 0;
    return rows;
  }
  try {
    const steps = getWrite(name)(input);
    let step = steps.next();
    while (!step.done) step = steps.next(step.value.map(rowsOf));
    return { result: step.value };
  } catch (error) {
    // Some errors, such as a full disk, roll the whole transaction back.
    if (!db.isTransaction || primaryCode(error) === SQLITE_IOERR || isDamagedIndex(error)) throw error;
    if (changed) throw new Tainted("", { cause: error });
    return { failure: toFailure(engineError(error)) };
  }
}

function runInSavepoint(ask: Ask): Outcome {
  run("SAVEPOINT one");
  try {
    const outcome = runBare(ask);
    run("RELEASE one");
    return outcome;
  } catch (error) {
    if (!(error instanceof Tainted)) throw error;
    run("ROLLBACK TO one");
    run("RELEASE one");
    return { failure: toFailure(engineError(error.cause)) };
  }
}

function prepare(sql: string): Prepared {
  let prepared = statements.get(sql);
  if (!prepared) {
    const statement = db.prepare(sql);
    prepared = {
      statement,
      hasRows: statement.columns().length > 0,
      changesIfRows: /\bRETURNING\b/i.test(sql),
    };
    statements.set(sql, prepared);
  }
  return prepared;
}

function run(sql: string): void {
  prepare(sql).statement.run();
}

function primaryCode(error: unknown): number {
  return ((error as { errcode?: number }).errcode ?? 0) & 0xff;
}

/** Translates an engine's error; others are returned unchanged and logged as unknown. */
function engineError(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === SQLITE_FULL) return new ParleyError("disk_full", undefined, { cause: error });
  if (code === SQLITE_BUSY || isDamagedIndex(error))
    return new ParleyError("unavailable", undefined, { cause: error });
  return error;
}
