// F12: the delay of the event loop under full load. A delayed loop answers nobody.
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/files-on-disk.ts";
import { isLong, scaled } from "../support/scale.ts";
import { Subject } from "./subject.ts";

const PRELOAD = new URL("./loop-delay.ts", import.meta.url).href;
const MAX_P99_MS = 50;

test("F12 event loop delay under writes, uploads and reads", async (t) => {
  const file = join(tmpdir(), `parley-loop-delay-${process.pid}`);
  t.after(() => rm(file, { force: true }));
  const subject = await Subject.start(t, { NODE_OPTIONS: `--import=${PRELOAD}`, LOOP_DELAY_FILE: file });
  const measure = async () => {
    await rm(file, { force: true });
    subject.server.process.kill("SIGUSR2");
    const text = () => readFile(file, "utf8").catch(() => "");
    assert.ok(await eventually(async () => (await text()) !== ""));
    return JSON.parse(await text()) as Record<string, number>;
  };
  const writers = subject.write({ mixed: 16, contacts: 32 });
  await sleep(1000);
  // Discards the delay of the start and of the first compilation.
  await measure();
  const before = subject.record.total();
  const seconds = scaled(3, 30);
  const readers = Array.from({ length: 16 }, async () => {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) await subject.client.get("/v1/attachments?limit=100");
  });
  await Promise.all(readers);
  const delay = await measure();
  await writers.stop();
  const rate = (subject.record.total() - before) / seconds;
  t.diagnostic(`${rate.toFixed(0)} writes/s; loop delay in ms by percentile: ${JSON.stringify(delay)}`);
  if (isLong) assert.ok(delay["99"]! < MAX_P99_MS);
});
