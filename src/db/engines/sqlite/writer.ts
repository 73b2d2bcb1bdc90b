// The writer thread. Another thread answers requests, so no sync and no checkpoint delays them.
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
 * Writes between checkpoints, which keep the log from growing without limit. With more writes, a page that many of them
 * change is copied once for all. SQLite's automatic checkpoints run before the answer and hide their errors.
 */
const WRITES_PER_CHECKPOINT = 1000;

/** How soon after a write the log is emptied: until then it contains deleted data. */
const CLEAN_AFTER_MS = 2000;
/** How long that waits for readers; writes wait meanwhile. */
const CLEAN_BUSY_MS = 50;

// https://sqlite.org/rescode.html, primary codes
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

interface Prepared {
  statement: StatementSync;
  hasRows: boolean;
  /** The only way to get rows from a statement that changes rows. */
  changesIfRows: boolean;
}

/** A write failed (`cause`) after changing rows: its transaction has to be rolled back. */
class Tainted extends Error {}

/** Cache for database pages: a message to a large group changes a page of the events of each member. */
const CACHE_KIB = 8 * 1024;

const { path, busyTimeoutMs } = workerData as WriterData;
const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
// Set explicitly: some builds of SQLite fall back to NORMAL in WAL mode, which loses commits on a power cut.
db.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
// Otherwise a statement with many rows copies each page that it changes into a file, to be able to undo itself.
db.exec("PRAGMA temp_store = MEMORY");
// Deleted data is overwritten, also small files.
db.exec("PRAGMA secure_delete = ON");
const statements = new Map<string, Prepared>();

let uncopied = 0;
let cleaning: NodeJS.Timeout | undefined;

parentPort!.on("message", (asked: Ask[] | "close") => {
  if (asked !== "close") {
    parentPort!.postMessage(commit(asked));
    uncopied += asked.length;
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

/** Returns false if another process prevented it. */
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
 * Commits all waiting writes in one transaction with one sync. A write that fails fails alone. If one meets damage in the index
 * of the search, all are done again on an empty one: otherwise no message could be deleted.
 */
function commit(asked: Ask[], isRepaired = false): BatchResult {
  try {
    try {
      return { outcomes: transaction(asked, runBare) };
    } catch (error) {
      if (!(error instanceof Tainted)) throw error;
      return { outcomes: transaction(asked, runInSavepoint) };
    }
  } catch (error) {
    if (isDamagedIndex(error) && !isRepaired) {
      const repair = commit([{ name: "rebuildIndex", input: undefined }], true);
      if ("result" in repair.outcomes[0]!) return { ...commit(asked, true), damagedIndex: toFailure(error) };
    }
    const failure = toFailure(engineError(error));
    const answer: BatchResult = { outcomes: asked.map(() => ({ failure })) };
    if (primaryCode(error) === SQLITE_IOERR || db.isTransaction) answer.damage = toFailure(error);
    return answer;
  }
}

function transaction(asked: Ask[], runOne: (ask: Ask) => Outcome): Outcome[] {
  run("BEGIN IMMEDIATE");
  try {
    const outcomes = asked.map(runOne);
    run("COMMIT");
    return outcomes;
  } catch (error) {
    // If even the rollback fails, the transaction stays open, and the caller detects it.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Savepoints cost as much as the rows of a small write, and usually a write fails before it changes anything. */
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
    // Some errors, such as a full disk, end the whole transaction: then nothing of it is kept.
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
