// F3: the disk runs out of bytes or inodes, and gets some back while the server runs.
import assert from "node:assert/strict";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../support/files-on-disk.ts";
import { scaled } from "../support/scale.ts";
import { WAITING } from "../support/search-index.ts";
import { Writes } from "../support/writers.ts";
import { mountTmpfs, whyNotMounted } from "./mounts.ts";
import { findProblems } from "./oracle.ts";
import { Subject } from "./subject.ts";

const skip = whyNotMounted();

/** Uses up the space that is left, and gives it back. */
interface Ballast {
  take(): void;
  giveBack(): void;
  /** Whether rows can still be written. */
  leavesRows: boolean;
}

/** Keeps writing to a full disk. Resolves once enough writes were refused. */
async function writeOnFullDisk(subject: Subject, ballast: Ballast): Promise<void> {
  const writers = subject.write({ mixed: 8 });
  assert.ok(await eventually(async () => (writers.statuses.get(201) ?? 0) >= 20));
  ballast.take();
  assert.ok(await eventually(async () => (writers.statuses.get(507) ?? 0) >= 20), "the disk was never full");
  const ready = await fetch(`${subject.url}/readyz`);
  assert.deepEqual(await ready.json(), { degraded: ["storage_full"], status: "ready" });
  await writers.stop();
  const odd = [...writers.statuses.keys()].filter((status) => ![200, 201, 204, 503, 507].includes(status));
  assert.deepEqual(odd, [], "answers on a full disk");
}

/** Asserts that nothing partial remains while the disk is full, and that everything works once it has space. */
async function fillAndFree(subject: Subject, ballast: Ballast, cycles: number): Promise<void> {
  const { client, record, chance } = subject;
  const writes = new Writes(subject, record);
  for (let i = 0; i < cycles; i++) {
    await writeOnFullDisk(subject, ballast);
    const rows = [await writes.makeContact(), await writes.remove("attachments", chance)];
    const right = ballast.leavesRows ? [201, 204] : [201, 204, 507];
    assert.ok(
      rows.every(({ status }) => right.includes(status)),
      "writes of rows on the full disk",
    );
    const problems = await findProblems(subject);
    // Tombstones of erased bytes and texts for the index wait until there is space to write.
    const waiting = ["tombstones are left", WAITING];
    const others = problems.filter((problem) => !waiting.includes(problem));
    assert.deepEqual(others, [], "while the disk is full");
    ballast.giveBack();
    assert.equal((await writes.upload(chance)).status, 201);
    assert.equal((await writes.makeContact()).status, 201);
    assert.equal((await writes.remove("attachments", chance)).status, 204);
    assert.equal((await client.send("GET", "/readyz")).status, 200);
    assert.deepEqual(await findProblems(subject), [], "after space was freed");
  }
  await subject.end("SIGKILL");
  assert.deepEqual(await subject.begin(), [], "after a restart");
}

test("F3 without free bytes writes are refused, reads work, and writes work again without a restart once there is space", {
  skip,
}, async (t) => {
  const cycles = scaled(1, 20);
  // Enough for the longest log (1,000 writes, about 33 MiB) and all files, which alone must not fill the disk.
  const disk = mountTmpfs(t, "size=96m,nr_inodes=1000");
  const subject = await Subject.start(t, { PARLEY_DATA: join(disk, "data") });
  const path = join(disk, "ballast");
  const take = () => {
    for (let size = 1024 * 1024; size >= 1; size /= 2) {
      while (!isFull(() => appendFileSync(path, Buffer.alloc(size))));
    }
  };
  await fillAndFree(subject, { take, giveBack: () => rmSync(path), leavesRows: false }, cycles);
  t.diagnostic(`${cycles} times full, ${subject.record}, lost = 0`);
});

test("F3 without free inodes uploads are refused, and everything else works", { skip }, async (t) => {
  const cycles = scaled(1, 20);
  // The server needs about 270 of these inodes to start, most of them for folders of its store. The files of the
  // writers must leave some.
  const disk = mountTmpfs(t, "size=96m,nr_inodes=1000");
  const subject = await Subject.start(t, { PARLEY_DATA: join(disk, "data") });
  let files = 0;
  const take = () => {
    while (!isFull(() => writeFileSync(join(disk, `ballast-${files}`), ""))) files++;
  };
  const giveBack = () => {
    while (files > 0) rmSync(join(disk, `ballast-${--files}`));
  };
  await fillAndFree(subject, { take, giveBack, leavesRows: true }, cycles);
  t.diagnostic(`${cycles} times full, ${subject.record}, lost = 0`);
});

function isFull(write: () => void): boolean {
  try {
    write();
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") return true;
    throw error;
  }
}
