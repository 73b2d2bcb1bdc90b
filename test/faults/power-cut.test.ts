// F2: the power is cut under load. Only what was synced is there after; kill -9 cannot show that, as the kernel lives on.
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

/** A server on a disk of its own. */
async function start(t: TestContext): Promise<{ disk: Disk; subject: Subject }> {
  const disk = new Disk(t);
  return { disk, subject: await Subject.start(t, { PARLEY_DATA: join(disk.folder, "data") }) };
}

/** Writes for a while and `last`, cuts the power, starts the machine again and asks the oracle. */
async function writeAndCut(
  disk: Disk,
  subject: Subject,
  milliseconds: number,
  last?: () => Promise<unknown>,
): Promise<string[]> {
  const writers = subject.write({ mixed: 8, contacts: 56 });
  await sleep(milliseconds);
  await last?.();
  // Nobody hears an answer once the power goes. Here the kernel lives on, and says of a sync that the cut has hit, whose
  // journal it gave up, that it went well.
  subject.hangUp();
  disk.cutPower();
  await subject.end("SIGKILL");
  await writers.ended;
  disk.unmount();
  disk.mount();
  return subject.begin();
}

test("F2 power cut under load: nothing acknowledged is lost, nothing is left over", { skip }, async (t) => {
  const cycles = scaled(3, 100);
  const { disk, subject } = await start(t);
  for (let i = 0; i < cycles; i++) {
    // Every sixth and the last are long enough for the log to be brought into the database, and begun anew, more than once.
    const after = i % 6 === 5 || i === cycles - 1 ? 4000 : 5 + subject.chance() * 1000;
    assert.deepEqual(await writeAndCut(disk, subject, after), [], `cycle ${i}, cut after ${after} ms`);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
  assert.ok(subject.record.total() > 100 * cycles);
});

// The controls: with some syncs taken away acknowledged writes must be seen to be lost, or the suite above proves nothing.
const NO_SYNC = ["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:retval=0"];

test("F2 control: without the syncs of the log the oracle sees writes lost", {
  skip: skip || noStrace,
}, async (t) => {
  const { disk, subject } = await start(t);
  await trace(t, subject.server, "-P", join(subject.data, "parley.db-wal"), ...NO_SYNC);
  const problems = await writeAndCut(disk, subject, 1000);
  t.diagnostic(`${subject.record}; ${problems.length} problems, such as: ${problems[0]}`);
  assert.ok(problems.some((problem) => /^lost: (con|att)_/.test(problem)));
});

test("F2 control: without the syncs of files and their folders the oracle sees bytes lost", {
  skip: skip || noStrace,
}, async (t) => {
  const { disk, subject } = await start(t);
  await traceFileThreads(t, subject.server, ...NO_SYNC);
  // On a slow machine all files of a second may be small ones, which are in the database, or be deleted by its end.
  const writes = new Writes(subject, subject.record);
  const uploadLarge = () =>
    Promise.all(Array.from({ length: 8 }, () => writes.upload(subject.chance, LARGE_BYTES)));
  const problems = await writeAndCut(disk, subject, 1000, uploadLarge);
  t.diagnostic(`${subject.record}; ${problems.length} problems, such as: ${problems[0]}`);
  assert.ok(problems.some((problem) => /^lost: (the bytes of )?att_/.test(problem)));
  assert.ok(!problems.some((problem) => /^lost: con_/.test(problem)), "the log was synced");
});
