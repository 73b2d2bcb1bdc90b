import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createFuse } from "../../src/util/fuse.ts";
import { aUser } from "../support/rows.ts";
import { threads } from "../support/threads.ts";
import { uploadInParts } from "../support/tus.ts";

// Loaded only now, so that the threads it starts are recorded.
const { openSqlite } = await import("../../src/db/engines/sqlite/sqlite.ts");
const { startApp } = await import("../support/app.ts");
const { allUsers } = await import("../../src/db/queries/people/users.ts");

const ROUNDS = 20;

test(`the writer thread is terminated ${ROUNDS} times under load: acknowledged writes are stored, and writing continues`, async (t) => {
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
        // The thread ended before it opened the database, so nothing was written.
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

test("the writer thread is terminated during resumable uploads: each file has all its bytes, and is stored once", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const files = Array.from({ length: 4 }, () => randomBytes(100_000));
  const cuts = Array.from({ length: 20 }, (_, i) => (i + 1) * 5000);
  let isOver = false;
  const uploads = Promise.all(files.map((bytes) => uploadInParts(server, user, bytes, cuts))).finally(() => {
    isOver = true;
  });
  const canWrite = (id: string) =>
    server.app.core.db.write("createUser", aUser(id)).then(
      () => true,
      () => false,
    );
  for (let i = 0; !isOver; i++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
    // Includes threads that have already ended, and maybe one that reads.
    await Promise.all(threads.map((thread) => thread.terminate()));
    // Two of three threads may be terminated while they start. The third one works, so that the uploads progress.
    for (let n = 0; i % 3 === 0 && !(await canWrite(`usr_${i}_${n}`)); n++);
  }
  const done = await uploads;
  const refused = done.reduce((sum, each) => sum + each.refused, 0);
  t.diagnostic(`${refused} requests were refused; ${threads.length} threads`);
  assert.ok(refused > 0, "no write was hit");
  const list = await fetch(`${server.url}/v1/attachments`, { headers: user.headers });
  const { data } = (await list.json()) as { data: { id: string; file_url: string }[] };
  assert.deepEqual(data.map(({ id }) => id).sort(), done.map(({ id }) => id).sort());
  for (const { id, file_url } of data) {
    const file = Buffer.from(await (await fetch(file_url)).arrayBuffer());
    assert.ok(file.equals(files[done.findIndex((each) => each.id === id)]!), "it has other bytes");
  }
});
