// F1: the process is killed at random moments under load, and between the steps of an upload, a message and a delete.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/files-on-disk.ts";
import { isLong, scaled } from "../support/scale.ts";
import { noStrace, ONE_FILE_THREAD, trace } from "../support/strace.ts";
import { isCut, Writes } from "../support/writers.ts";
import { Subject } from "./subject.ts";

async function killAndCheck(subject: Subject, when: string): Promise<void> {
  await subject.end("SIGKILL");
  assert.deepEqual(await subject.begin(), [], when);
}

test("F1 kill -9 at random moments under load: no acknowledged write is lost, and nothing is left over", async (t) => {
  const cycles = scaled(2, 200);
  const subject = await Subject.start(t);
  for (let i = 0; i < cycles; i++) {
    const writers = subject.write({ mixed: 8 });
    const after = 5 + subject.chance() * 495;
    await sleep(after);
    // On a busy machine nothing may be acknowledged yet.
    assert.ok(await eventually(async () => subject.record.total() > i + 1));
    subject.server.process.kill("SIGKILL");
    await writers.ended;
    await killAndCheck(subject, `cycle ${i}, killed after ${after} ms`);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
  assert.ok(subject.record.total() > cycles);
});

// The calls that change the disk. The short version tries every `stride`-th one, from a random start. strace counts
// calls by thread, so the n-th sync is first one of files or folders; `onLog` tries those of the log.
const STEPS: { calls: string; onLog?: boolean; stride: number }[] = [
  { calls: "fsync,fdatasync", stride: 3 },
  { calls: "fsync,fdatasync", onLog: true, stride: 3 },
  { calls: "?link,?linkat", stride: 1 },
  { calls: "?unlink,?unlinkat", stride: 1 },
  { calls: "pwrite64", onLog: true, stride: 29 },
];

test("F1 kill -9 before each step of an upload, a message with a file, their changes and erasing", {
  skip: noStrace,
}, async (t) => {
  const subject = await Subject.start(t, ONE_FILE_THREAD);
  let cycles = 0;
  for (const { calls, onLog, stride } of STEPS) {
    const where = onLog ? ["-P", join(subject.data, "parley.db-wal")] : [];
    const tried: number[] = [];
    const step = isLong ? 1 : stride;
    for (let nth = 1 + Math.floor(subject.chance() * step); ; nth += step) {
      const fault = `inject=${calls}:signal=SIGKILL:when=${nth}`;
      const detach = await trace(t, subject.server, ...where, "-e", `trace=${calls}`, "-e", fault);
      const isWhole = await doEach(subject);
      await detach();
      await killAndCheck(subject, fault);
      if (isWhole) break;
      tried.push(nth);
    }
    t.diagnostic(`${calls}${onLog ? " of the log" : ""}: killed before the steps ${tried.join(" ")}`);
    assert.ok(tried.length > 0, `${calls} was never called: the steps have other names here`);
    cycles += tried.length;
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
});

const TOO_LARGE_FOR_THE_DATABASE = 40_000;

/** Runs one write after another. Returns false if the server was killed meanwhile. */
async function doEach(subject: Subject): Promise<boolean> {
  const { record, chance } = subject;
  const writes = new Writes(subject, record);
  const db = new DatabaseSync(join(subject.data, "parley.db"), { readOnly: true });
  const tombstones = db.prepare("SELECT COUNT(*) AS count FROM tombstones");
  try {
    await writes.upload(chance, TOO_LARGE_FOR_THE_DATABASE);
    await writes.remove("attachments", chance);
    assert.ok(await eventually(async () => subject.isGone || tombstones.get()!.count === 0));
    await writes.changeAvatar(chance, TOO_LARGE_FOR_THE_DATABASE);
    await writes.rename("attachments", chance);
    await writes.uploadInParts(chance);
    await writes.sendMessage(chance, { isPeers: false, minBytes: TOO_LARGE_FOR_THE_DATABASE });
    await writes.edit(chance);
    await writes.remove("messages", chance);
    assert.ok(await eventually(async () => subject.isGone || tombstones.get()!.count === 0));
  } catch (error) {
    if (!isCut(error)) throw error;
    assert.ok(await eventually(async () => subject.isGone));
  } finally {
    db.close();
  }
  return !subject.isGone;
}

test("F1 kill -9 during a checkpoint of the log", { skip: noStrace }, async (t) => {
  const cycles = scaled(2, 30);
  const subject = await Subject.start(t);
  const database = join(subject.data, "parley.db");
  for (let i = 0; i < cycles; i++) {
    const nth = 1 + Math.floor(subject.chance() * 60);
    const call = i % 3 === 2 ? "fsync,fdatasync:signal=SIGKILL" : `pwrite64:signal=SIGKILL:when=${nth}`;
    const detach = await trace(t, subject.server, "-P", database, "-e", `inject=${call}`);
    const writers = subject.write({ mixed: 8, contacts: 24 });
    const struck = await Promise.race([writers.ended.then(() => true), sleep(60_000, false, { ref: false })]);
    await writers.stop();
    await detach();
    assert.ok(struck, `the log was never brought into the database: ${call}`);
    await killAndCheck(subject, call);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
});
