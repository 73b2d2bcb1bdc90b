import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createFuse } from "../../src/util/fuse.ts";
import { aUser } from "../support/rows.ts";
import { threads } from "../support/threads.ts";

// Loaded now, so that it starts the threads that are noted.
const { openSqlite } = await import("../../src/db/engines/sqlite/sqlite.ts");
const { allUsers } = await import("../../src/db/queries/users.ts");

const ROUNDS = 20;

test(`the thread that writes is ended ${ROUNDS} times under load: what was acknowledged is there, and writes go on`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-writer-"));
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError));
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const acknowledged = new Set<string>();
  let unknown = 0;
  let refused = 0;
  async function add(id: string): Promise<void> {
    await db.write("createUser", aUser(id)).then(
      () => acknowledged.add(id),
      (error: Error & { code?: string }) => {
        // A thread that had not even opened the database has done nothing.
        if (error.code === "unavailable") return refused++;
        assert.equal(error.code, "outcome_unknown");
        return unknown++;
      },
    );
  }
  for (let round = 0; round < ROUNDS; round++) {
    const adding = Array.from({ length: 50 }, (_, i) => add(`${round} ${i}`));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    adding.push(...Array.from({ length: 50 }, (_, i) => add(`${round} more ${i}`)));
    await new Promise(setImmediate);
    await threads.at(-1)!.terminate();
    await Promise.all(adding);
    await add(`${round} after`);
    assert.ok(acknowledged.has(`${round} after`), "writes go on");
  }
  const there = new Set((await allUsers(db)).map(({ id }) => id));
  assert.deepEqual(
    [...acknowledged].filter((id) => !there.has(id)),
    [],
  );
  t.diagnostic(
    `${acknowledged.size} acknowledged, none lost; ${unknown} with an unknown outcome, ${refused} refused; ${threads.length} threads`,
  );
  assert.ok(threads.length > ROUNDS / 2);
});
