// F3: the disk has no more room, of bytes or of inodes, and gets some again while the server runs.
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

/** Something beside the server takes what room is left, and gives it back. */
interface Ballast {
  take(): void;
  giveBack(): void;
  /** Whether rows need nothing of what it takes. */
  leavesRows: boolean;
}

/** Writes on beyond what there is room for; resolves once enough was refused. */
async function writeOnFullDisk(subject: Subject, ballast: Ballast): Promise<void> {
  const writers = subject.write({ mixed: 8 });
  assert.ok(await eventually(async () => (writers.statuses.get(201) ?? 0) >= 20));
  ballast.take();
  assert.ok(await eventually(async () => (writers.statuses.get(507) ?? 0) >= 20), "the disk was never full");
  await writers.stop();
  const odd = [...writers.statuses.keys()].filter((status) => ![200, 201, 204, 503, 507].includes(status));
  assert.deepEqual(odd, [], "answers on a full disk");
}

/** Nothing half-done stays while the disk is full, and once it is not all works again. */
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
    // Tombstones of bytes that are gone, and texts for the index, wait until there is room for a write.
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

test("F3 no bytes are left: writes are refused, reads go on, and with room again it works without a restart", {
  skip,
}, async (t) => {
  const cycles = scaled(1, 20);
  // Room for the log at its longest (1,000 writes, some 33 MiB) and all files: else these alone fill the disk.
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

test("F3 no inodes are left: uploads are refused, all else goes on", { skip }, async (t) => {
  const cycles = scaled(1, 20);
  // Of these the server needs about 270 to start, most of them for the folders of its store; the files that the writers
  // leave must not take the rest.
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
