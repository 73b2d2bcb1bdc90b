// The thread that writes. Requests are answered by another one, which no sync and no checkpoint holds up.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { ParleyError } from "../errors.ts";
import { type Answer, type Ask, type Outcome, toFailure } from "./outcome.ts";
import type { Statement, Write } from "./sql.ts";
import { writes } from "./writes.ts";

/** What the thread is started with. */
export interface WriterData {
  path: string;
  busyTimeoutMs: number;
}

/**
 * Writes after which the log is copied into the database, so that it does not grow without end. The more they are, the
 * more often a page that many of them touch is copied once for all. SQLite's own checkpoints, after so many pages,
 * come before the answer and hide their errors.
 */
const WRITES_PER_CHECKPOINT = 1000;

/** How soon after a write the log is emptied: until then it has what was deleted. */
const CLEAN_AFTER_MS = 2000;
/** How long that waits for readers: writes wait meanwhile. */
const CLEAN_BUSY_MS = 50;

// https://sqlite.org/rescode.html, primary codes
const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

/** What a statement is told by: whether it changed rows is asked after each. */
const READS = /^SELECT/;
const RETURNS = /\bRETURNING\b/;

interface Prepared {
  statement: StatementSync;
  reads: boolean;
  returns: boolean;
}

/** A write failed (`cause`) after it had changed rows: its transaction cannot be kept as it is. */
class Tainted extends Error {}

const { path, busyTimeoutMs } = workerData as WriterData;
const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
// FULL is set in words: some builds of SQLite fall back to NORMAL in WAL mode, which loses commits on a power cut.
db.exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
// What is deleted is overwritten, also small files.
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

/** Copies the log into the database and empties it, unless a reader that takes long is at work: then later. */
function clean(): void {
  db.exec(`PRAGMA busy_timeout = ${CLEAN_BUSY_MS}`);
  clearTimeout(cleaning);
  cleaning = checkpoint("TRUNCATE") ? undefined : setTimeout(clean, CLEAN_AFTER_MS);
  db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
}

/** False where another process was in the way. */
function checkpoint(mode: "PASSIVE" | "TRUNCATE"): boolean {
  uncopied = 0;
  try {
    return (prepare(`PRAGMA wal_checkpoint(${mode})`).statement.get() as { busy: number }).busy === 0;
  } catch (error) {
    if (primaryCode(error) === SQLITE_IOERR) {
      parentPort!.postMessage({ outcomes: [], damage: toFailure(error) } satisfies Answer);
    }
    return false;
  }
}

/** One transaction, and one sync, for all that wait together. One that fails fails alone. */
function commit(asked: Ask[]): Answer {
  try {
    try {
      return { outcomes: transaction(asked, runBare) };
    } catch (error) {
      if (!(error instanceof Tainted)) throw error;
      return { outcomes: transaction(asked, runInSavepoint) };
    }
  } catch (error) {
    const failure = toFailure(engineError(error));
    const answer: Answer = { outcomes: asked.map(() => ({ failure })) };
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
    // Where even that fails the transaction stays open, and is seen by the caller.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Savepoints cost as much as the rows of a small write, and writes check before they change anything. */
function runBare({ name, input }: Ask): Outcome {
  const write = writes[name] as (input: unknown) => Write<unknown>;
  let changed = false;
  function rowsOf({ sql, params }: Statement): unknown[] {
    const { statement, reads, returns } = prepare(sql);
    if (!reads && !returns) {
      changed = Number(statement.run(...params).changes) > 0 || changed;
      return [];
    }
    const rows = statement.all(...params);
    if (returns) changed ||= rows.length > 0;
    return rows;
  }
  try {
    const steps = write(input);
    let step = steps.next();
    while (!step.done) step = steps.next(step.value.map(rowsOf));
    return { result: step.value };
  } catch (error) {
    // Some faults, a full disk among them, end the whole transaction: then none of it is kept.
    if (!db.isTransaction || primaryCode(error) === SQLITE_IOERR) throw error;
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
    prepared = { statement: db.prepare(sql), reads: READS.test(sql), returns: RETURNS.test(sql) };
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

/** What the service knows of an engine's error; others stay as they are and are logged as unknown. */
function engineError(error: unknown): unknown {
  const code = primaryCode(error);
  if (code === SQLITE_FULL) return new ParleyError("disk_full", undefined, { cause: error });
  if (code === SQLITE_BUSY) return new ParleyError("unavailable", undefined, { cause: error });
  return error;
}
