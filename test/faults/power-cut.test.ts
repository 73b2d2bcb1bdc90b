// F2: the power is cut under load, so only synced data remains. kill -9 cannot show that, because the kernel's cache
// survives it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { scaled } from "../support/scale.ts";
import { noStrace, trace, traceFileThreads } from "../support/strace.ts";
import { Writes } from "../support/writers.ts";
import { Disk, whyNotMounted } from "./mounts.ts";
import { Subject } from "./subject.ts";

const LARGE_BYTES = 300_000;
const skip = whyNotMounted("mkfs.ext4", "perl");

/** Starts a server on a separate disk. */
async function start(t: TestContext): Promise<{ disk: Disk; subject: Subject }> {
  const disk = new Disk(t);
  return { disk, subject: await Subject.start(t, { PARLEY_DATA: join(disk.folder, "data") }) };
}

/** Writes for a while and runs `last`, cuts the power, restarts the machine and returns the oracle's findings. */
async function writeAndCut(
  disk: Disk,
  subject: Subject,
  milliseconds: number,
  last?: () => Promise<unknown>,
): Promise<string[]> {
  const writers = subject.write({ mixed: 8, contacts: 56 });
  await sleep(milliseconds);
  await last?.();
  // After a real power cut no client gets an answer. Here the kernel still runs, and reports success for a sync whose
  // journal is aborted by the cut.
  subject.hangUp();
  disk.cutPower();
  await subject.end("SIGKILL");
  await writers.ended;
  disk.unmount();
  disk.mount();
  return subject.begin();
}

test("F2 power cut under load: no acknowledged write is lost, and nothing is left over", {
  skip,
}, async (t) => {
  const cycles = scaled(3, 100);
  const { disk, subject } = await start(t);
  for (let i = 0; i < cycles; i++) {
    // Every sixth cycle and the last are long enough for several checkpoints and restarts of the log.
    const after = i % 6 === 5 || i === cycles - 1 ? 4000 : 5 + subject.chance() * 1000;
    assert.deepEqual(await writeAndCut(disk, subject, after), [], `cycle ${i}, cut after ${after} ms`);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
  assert.ok(subject.record.total() > 100 * cycles);
});

// Without some syncs, acknowledged writes must get lost, or the tests above prove nothing.
const NO_SYNC = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:retval=0"];

test("F2 control: without syncs of the log the oracle finds lost writes", {
  skip: skip || noStrace,
}, async (t) => {
  const { disk, subject } = await start(t);
  await trace(t, subject.server, "-P", join(subject.data, "parley.db-wal"), ...NO_SYNC);
  const problems = await writeAndCut(disk, subject, 1000);
  t.diagnostic(`${subject.record}; ${problems.length} problems, such as: ${problems[0]}`);
  assert.ok(problems.some((problem) => /^lost: (con|att)_/.test(problem)));
});

test("F2 control: without syncs of files and folders the oracle finds lost bytes", {
  skip: skip || noStrace,
}, async (t) => {
  const { disk, subject } = await start(t);
  await traceFileThreads(t, subject.server, ...NO_SYNC);
  // On a slow machine all files of a second may be small ones in the database, or be deleted again.
  const writes = new Writes(subject, subject.record);
  const uploadLarge = () =>
    Promise.all(Array.from({ length: 8 }, () => writes.upload(subject.chance, LARGE_BYTES)));
  const problems = await writeAndCut(disk, subject, 1000, uploadLarge);
  t.diagnostic(`${subject.record}; ${problems.length} problems, such as: ${problems[0]}`);
  assert.ok(problems.some((problem) => /^lost: (the bytes of )?att_/.test(problem)));
  assert.ok(!problems.some((problem) => /^lost: con_/.test(problem)), "the log was synced");
});
