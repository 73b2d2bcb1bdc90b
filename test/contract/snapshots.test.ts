// Reads of one state of the database, while others write.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type QuickReader, sql } from "../../src/db/sql.ts";
import { addUser } from "../support/rows.ts";
import { onEachDatabase, openOnPostgres } from "./databases.ts";

const ids = sql<[id: string]>`SELECT id FROM users ORDER BY id`;
const rows = sql<{ id: string }>`SELECT id FROM users ORDER BY id`;
const broken = sql<[id: string]>`SELECT no_function()`;

onEachDatabase("a snapshot sees every acknowledged write and none of later ones", async (db) => {
  await addUser(db, "a");
  const seen = await db.snapshot(async (state) => {
    const before = await state.allValues(ids);
    await addUser(db, "b");
    assert.deepEqual(await db.allValues(ids), [["a"], ["b"]]);
    await sleep(1);
    return [
      before,
      await state.allValues(ids),
      (await state.all(rows)).map(({ id }) => id),
      (await state.get(rows))?.id,
      await state.getValues(ids),
    ];
  });
  assert.deepEqual(seen, [[["a"]], [["a"]], ["a"], "a", ["a"]]);
  assert.deepEqual(await db.snapshot((state) => state.allValues(ids)), [["a"], ["b"]]);
});

onEachDatabase("a failed snapshot fails no later one, and snapshots change nothing", async (db) => {
  await addUser(db, "a");
  for (let i = 0; i < 12; i++) {
    const failing = db.snapshot((state) =>
      Promise.all([state.allValues(ids), state.allValues(broken), sleep(1).then(() => state.allValues(ids))]),
    );
    await assert.rejects(failing, /no such function|does not exist/);
    await assert.rejects(db.snapshot((state) => state.allValues(sql<[]>`DELETE FROM users`)));
    const thrown = db.snapshot(async () => {
      throw new Error("by the work");
    });
    await assert.rejects(thrown, /by the work/);
    // SQLite ends a transaction after some errors, such as a failed read of the file.
    const ended = db.snapshot(async (state) => {
      await state.all(sql`ROLLBACK`);
      throw new Error("of the file");
    });
    await assert.rejects(ended, /of the file/);
  }
  const all = Array.from({ length: 30 }, () => db.snapshot((state) => state.allValues(ids)));
  for (const found of await Promise.all(all)) assert.deepEqual(found, [["a"]]);
});

test("postgres: a read after the end of its snapshot is refused, because its connection has other users", async (t) => {
  const db = await openOnPostgres(t);
  let kept: QuickReader | undefined;
  await db.snapshot(async (state) => {
    kept = state;
    await state.allValues(ids);
  });
  await assert.rejects(kept!.allValues(ids), { code: "unavailable" });
});

onEachDatabase("closing waits for running snapshots and refuses new ones", async (db) => {
  await addUser(db, "a");
  const running = db.snapshot(async (state) => {
    const found = await state.allValues(ids);
    await sleep(5);
    return found;
  });
  await sleep(1);
  const closed = db.close();
  await assert.rejects(
    db.snapshot((state) => state.allValues(ids)),
    { code: "unavailable" },
  );
  assert.deepEqual(await running, [["a"]]);
  await closed;
});
