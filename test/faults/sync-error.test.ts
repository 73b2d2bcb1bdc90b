// F4: a sync fails with EIO. The disk is then in an unknown state, which a second sync would not reveal.
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/files-on-disk.ts";
import { scaled } from "../support/scale.ts";
import { noStrace, ONE_FILE_THREAD, trace, traceFileThreads } from "../support/strace.ts";
import type { Writers } from "../support/writers.ts";
import { Disk, whyNotMounted } from "./mounts.ts";
import { Subject } from "./subject.ts";

const WRITERS = { mixed: 8, contacts: 24 };

function failing(nth: number): string[] {
  return ["-e", "trace=fsync,fdatasync", "-e", `inject=fsync,fdatasync:error=EIO:when=${nth}`];
}

function hasFailed(writers: Writers): boolean {
  return [...writers.statuses.keys()].some((status) => status >= 500);
}

/** After a failed sync nothing is written until a restart, and afterwards all acknowledged writes are there. */
async function failAndRestart(subject: Subject, detach: () => Promise<void>, when: string): Promise<void> {
  const writers = subject.write(WRITERS);
  const failed = await eventually(async () => hasFailed(writers));
  await sleep(200);
  await writers.stop();
  await detach();
  assert.ok(failed, `no write failed: ${when}`);
  assert.equal(writers.late(), 0, `acknowledged after the error: ${when}`);
  const { client } = subject;
  assert.equal((await client.send("GET", "/readyz")).status, 503);
  assert.equal((await client.upload("after", Buffer.from("12345"))).status, 503);
  const fields = { username: "after", phone_number: "+1555" };
  assert.equal((await client.sendFields("POST", "/v1/contacts", fields)).status, 503);
  assert.equal((await client.send("GET", "/v1/contacts")).status, 200, "reads go on");
  // A stop and a kill must have the same result.
  await subject.end(subject.chance() < 0.5 ? "SIGKILL" : "SIGTERM");
  assert.deepEqual(await subject.begin(), [], when);
  assert.equal((await subject.client.send("GET", "/readyz")).status, 200);
}

test("F4 EIO on the n-th sync of files and folders: no write is acknowledged until a restart", {
  skip: noStrace,
}, async (t) => {
  const cycles = scaled(2, 30);
  const subject = await Subject.start(t, ONE_FILE_THREAD);
  for (let nth = 1; nth <= cycles; nth++) {
    const detach = await traceFileThreads(t, subject.server, ...failing(nth));
    await failAndRestart(subject, detach, `sync ${nth} of files and folders`);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
});

test("F4 EIO on the n-th sync of the log: no write is acknowledged until a restart", {
  skip: noStrace,
}, async (t) => {
  const cycles = scaled(2, 30);
  const subject = await Subject.start(t);
  for (let nth = 1; nth <= cycles; nth++) {
    const log = join(subject.data, "parley.db-wal");
    const detach = await trace(t, subject.server, "-P", log, ...failing(nth));
    await failAndRestart(subject, detach, `sync ${nth} of the log`);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
});

test("F4 EIO on a sync of the database file, then a power cut: no write is acknowledged after it, and none before is lost", {
  skip: noStrace || whyNotMounted("mkfs.ext4", "perl"),
}, async (t) => {
  const cycles = scaled(1, 20);
  const disk = new Disk(t);
  const subject = await Subject.start(t, { PARLEY_DATA: join(disk.folder, "data") });
  const calls = join(tmpdir(), `parley-calls-${process.pid}`);
  t.after(() => rm(calls, { force: true }));
  for (let i = 0; i < cycles; i++) {
    const database = join(subject.data, "parley.db");
    const detach = await trace(t, subject.server, "-o", calls, "-P", database, ...failing(1));
    const writers = subject.write(WRITERS);
    const met = await eventually(async () => (await readFile(calls, "utf8")).includes("INJECTED"));
    // The checkpoint follows writes that were already acknowledged from the log: those are durable, and no more may be
    // acknowledged.
    const failed = await eventually(async () => hasFailed(writers));
    await sleep(subject.chance() * 300);
    disk.cutPower();
    await subject.end("SIGKILL");
    await Promise.all([writers.ended, detach()]);
    assert.ok(met, "the database file was never synced");
    assert.ok(failed, "no write failed after it");
    assert.equal(writers.late(), 0, "acknowledged after the error");
    disk.unmount();
    disk.mount();
    assert.deepEqual(await subject.begin(), [], `cycle ${i}`);
  }
  t.diagnostic(`${cycles} cycles, ${subject.record}, lost = 0`);
});
