import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import type { Database } from "../../src/db/database.ts";
import type { BatchResult } from "../../src/db/engines/sqlite/outcome.ts";
import { openSqlite } from "../../src/db/engines/sqlite/sqlite.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { openOnPostgres } from "./databases.ts";
import { addTestWrites, READS } from "./test-writes.ts";

/** Runs a write of this suite and returns its result. */
type Run = (name: "readInWrite" | "failAfterChange", sql: string) => Promise<unknown>;

async function runOnSqlite(t: TestContext): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), "parley-writer-"));
  const path = join(folder, "parley.db");
  await openSqlite(path, createFuse(assert.ifError)).close();
  const writer = new Worker(new URL("./test-writer.ts", import.meta.url), {
    workerData: { path, busyTimeoutMs: 1000 },
  });
  t.after(async () => {
    await writer.terminate();
    await rm(folder, { recursive: true, force: true });
  });
  await once(writer, "message");
  return async (name, sql) => {
    writer.postMessage([{ name, input: { sql } }]);
    const [{ outcomes }] = (await once(writer, "message")) as [BatchResult];
    const [outcome] = outcomes;
    if (outcome && "failure" in outcome) throw new Error(outcome.failure.message);
    return outcome?.result;
  };
}

async function runOnPostgres(t: TestContext): Promise<Run> {
  addTestWrites();
  const db: Database = await openOnPostgres(t);
  return (name, sql) => db.write(name as never, { sql } as never);
}

for (const [engine, open] of Object.entries({ sqlite: runOnSqlite, postgres: runOnPostgres })) {
  test(`${engine}: a write gets the rows of every statement that returns some, even one that begins with WITH`, async (t) => {
    const run = await open(t);
    for (const [what, sql] of Object.entries(READS)) {
      assert.deepEqual(plain(await run("readInWrite", sql)), [{ one: 1 }], what);
    }
  });

  test(`${engine}: a failed write leaves no change of a statement that begins with WITH`, async (t) => {
    const run = await open(t);
    const change = READS["WITH before a change"];
    await assert.rejects(run("failAfterChange", change), /after the change/);
    assert.deepEqual(plain(await run("readInWrite", "SELECT * FROM activity")), []);
  });
}

/** Gives rows of SQLite a prototype, so that they can be compared. */
function plain(rows: unknown): unknown {
  return JSON.parse(JSON.stringify(rows));
}
