import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { BackgroundReader } from "../../src/db/engines/postgres/background.ts";
import { sql } from "../../src/db/sql.ts";
import { createFuse } from "../../src/util/fuse.ts";
import { addUser } from "../support/rows.ts";
import { threads } from "../support/threads.ts";
import { onEachDatabase, openOnPostgres, openOnSqlite } from "./databases.ts";

// Loaded only now, so that the threads it starts are recorded.
const { openSqlite } = await import("../../src/db/engines/sqlite/sqlite.ts");

const ids = sql<[id: string]>`SELECT id FROM users ORDER BY id`;
const broken = sql<[id: string]>`SELECT no_function()`;

onEachDatabase(
  "a background read sees every acknowledged write, and its failure fails no other read",
  async (db) => {
    const expected: [string][] = [];
    for (let i = 0; i < 30; i++) {
      await addUser(db, `u${String(i).padStart(2, "0")}`);
      expected.push([`u${String(i).padStart(2, "0")}`]);
      const refused = assert.rejects(db.background.allValues(broken), /no such function|does not exist/);
      assert.deepEqual(await db.background.allValues(ids), expected);
      await refused;
    }
  },
);

onEachDatabase("a background read changes nothing", async (db) => {
  await addUser(db, "a");
  await assert.rejects(db.background.allValues(sql<[]>`DELETE FROM users`));
  assert.deepEqual(await db.background.allValues(ids), [["a"]]);
});

test("sqlite: closing waits for background reads and refuses new ones", async (t) => {
  const db = await openOnSqlite(t);
  await addUser(db, "a");
  const reads = Promise.all(Array.from({ length: 20 }, () => db.background.allValues(ids)));
  const closed = db.close();
  for (let i = 0; ; i++) {
    const refused = await db.background.allValues(ids).then(
      () => false,
      ({ code }) => code === "unavailable",
    );
    if (refused) break;
    assert.ok(i < 1000, "refused at last");
  }
  for (const rows of await reads) assert.deepEqual(rows, [["a"]]);
  await closed;
});

test("postgres: two background reads run at once, the others in order", async (t) => {
  const db = await openOnPostgres(t);
  const begun: unknown[] = [];
  let underWay = 0;
  let most = 0;
  const background = new BackgroundReader({
    async allValues(statement) {
      begun.push(statement.params[0]);
      most = Math.max(most, ++underWay);
      return await db.allValues(statement).finally(() => underWay--);
    },
  });
  const asked = Array.from({ length: 20 }, (_, i) => i);
  const reads = asked.map((i) =>
    background.allValues(sql<[value: string]>`SELECT ${i === 7 ? "\0" : String(i)}`),
  );
  const settled = await Promise.allSettled(reads);
  assert.deepEqual(
    settled.flatMap(({ status }, i) => (status === "rejected" ? [i] : [])),
    [7],
    "PostgreSQL has no text with NUL",
  );
  assert.equal(most, 2);
  assert.deepEqual(
    begun,
    asked.map((i) => (i === 7 ? "\0" : String(i))),
  );
});

test("sqlite: background reads run after other work, and continue after their thread ends", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-background-"));
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  threads.length = 0;
  await addUser(db, "a");
  assert.equal(threads.length, 1, "the thread that writes");
  assert.deepEqual(await db.background.allValues(ids), [["a"]]);
  assert.equal(threads.length, 2);
  if (process.platform === "linux") assert.equal((await priorities()).filter((nice) => nice > 0).length, 1);

  // The read may have been answered before the thread ended.
  const lost = db.background.allValues(ids).catch((error) => assert.equal(error.code, "unavailable"));
  await threads.at(-1)!.terminate();
  await lost;
  assert.deepEqual(await db.background.allValues(ids), [["a"]]);
  assert.equal(threads.length, 3);
});

/** Returns the nice value of each thread of this process (proc_pid_stat(5), field 19). */
async function priorities(): Promise<number[]> {
  const tasks = await readdir("/proc/self/task");
  return Promise.all(
    tasks.map(async (task) => {
      const text = await readFile(`/proc/self/task/${task}/stat`, "utf8");
      return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[16]);
    }),
  );
}
