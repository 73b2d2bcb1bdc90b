// Counting downloads if the log is full or cannot be written.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Core } from "../../../src/core/node/core.ts";
import { DownloadLog } from "../../../src/core/node/download-log.ts";
import { sql } from "../../../src/db/sql.ts";
import { startDownloads } from "../../../src/jobs/downloads.ts";
import type { Job } from "../../../src/jobs/job.ts";
import { startApp } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";

const ROOM = 5000;

test("a full download log counts known pairs of file and address, and drops new ones", () => {
  let full = 0;
  const log = new DownloadLog(() => full++);
  for (let i = 0; i < ROOM - 1; i++) log.note(`att_${i}`, "::1");
  assert.equal(full, 0);
  log.note("att_0", "192.0.2.1");
  assert.equal(full, 1);
  log.note("att_0", "::1");
  for (let i = 0; i < 3; i++) log.note("att_0", "192.0.2.2");
  const { counted, lost } = log.take();
  assert.equal(counted.length, ROOM);
  assert.deepEqual(counted[0], { attachmentId: "att_0", address: "::1", count: 2 });
  assert.equal(lost, 3);
  assert.deepEqual(log.take(), { counted: [], lost: 0 });
});

test("a failed write of counted downloads is retried unchanged, before newer ones", async (t) => {
  const { core } = (await startApp(t)).app;
  let failing = true;
  const asked: string[][] = [];
  const write = async (name: string, input: { downloads: { entry: { id: string } }[] }) => {
    asked.push(input.downloads.map(({ entry }) => entry.id));
    if (failing) throw new Error("lost");
    return core.db.write(name as "recordDownloads", input as never);
  };
  const lossy = { ...core, db: { write }, downloadLog: new DownloadLog(() => {}) } as unknown as Core;
  const [errors, lost]: [unknown[], number[]] = [[], []];
  lossy.downloadLog.note("att_1", "::1");
  const job = startDownloads(
    lossy,
    (error) => errors.push(error),
    (count) => lost.push(count),
  );
  assert.ok(await eventually(async () => errors.length === 1));
  lossy.downloadLog.note("att_1", "::1");
  lossy.downloadLog.note("att_2", "::1");
  failing = false;
  await job.stop();
  assert.deepEqual(asked.at(-2), asked[0], "the same lines, by the same ids");
  assert.equal(asked.at(-1)!.length, 2);
  assert.deepEqual(lost, []);
  const told = await core.db.all<{ object_id: string; details: string }>(
    sql`SELECT object_id, details FROM audit WHERE action = 'attachment.downloaded' ORDER BY id`,
  );
  assert.deepEqual(
    told.map(({ object_id, details }) => [object_id, JSON.parse(details).count]),
    [
      ["att_1", 1],
      ["att_1", 1],
      ["att_2", 1],
    ],
  );
});

test("a full download log is written at once, and losses are reported, also at the stop", async (t) => {
  const { core } = (await startApp(t)).app;
  const here = { ...core, downloadLog: new DownloadLog(() => job.wake()) };
  const [errors, lost]: [unknown[], number[]] = [[], []];
  const job: Job = startDownloads(
    here,
    (error) => errors.push(error),
    (count) => lost.push(count),
  );
  await new Promise(setImmediate);
  for (let i = 0; i <= ROOM; i++) here.downloadLog.note(`att_${i}`, "::1");
  const count = async () =>
    (await core.db.get<{ count: number }>(
      sql`SELECT COUNT(*) AS count FROM audit WHERE object_id LIKE 'att%'`,
    ))!.count;
  assert.ok(await eventually(async () => (await count()) >= ROOM));
  core.fuse.blow(new Error("EIO"));
  for (let i = 0; i < 4; i++) here.downloadLog.note("att_0", "::1");
  assert.deepEqual(errors, []);
  await job.stop();
  assert.equal(errors.length, 1);
  assert.equal(lost.length, 1, "there was room all the time");
  assert.equal(lost[0]! + (await count()), ROOM + 5);
});
