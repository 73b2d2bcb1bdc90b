// The lifetime of the process that makes previews, what ends it, and what happens to the waiting pictures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PreviewMaker } from "../../src/previews/maker.ts";
import { eventually } from "../support/files-on-disk.ts";
import {
  endless,
  interrupted,
  isAlive,
  makeOf,
  noise,
  pictureOf,
  testMaker,
  twoColours,
} from "./pictures.ts";

const picture = () => twoColours(400, 300).png().toBuffer();
const isUnavailable = { name: "ParleyError", code: "unavailable", header: "10" };

test("one process makes many previews, in the order of the requests", async (t) => {
  const { maker } = testMaker(t);
  assert.equal(maker.pid, undefined);
  const bytes = await picture();
  await makeOf(maker, bytes);
  const pid = maker.pid;
  const order: number[] = [];
  await Promise.all(
    [0, 1, 2, 3].map(async (number) => {
      assert.ok(await makeOf(maker, bytes));
      order.push(number);
    }),
  );
  assert.deepEqual([order, maker.pid], [[0, 1, 2, 3], pid]);
});

test("a picture whose process is killed has no preview, and the next one does", async (t) => {
  const { maker, failures } = testMaker(t);
  const bytes = await noise(1200, 900).png().toBuffer();
  const read = async () => interrupted(bytes, () => void process.kill(maker.pid!, "SIGKILL"));
  const killed = maker.make(pictureOf(read, bytes.length), 320);
  const next = makeOf(maker, bytes);
  assert.equal(await killed, null);
  assert.ok(await next);
  assert.deepEqual(failures, []);
});

test("a picture that takes too long is given up, and the next one is made", async (t) => {
  const { maker, failures } = testMaker(t, { timeLimitMs: 5000 });
  const bytes = await picture();
  assert.ok(await makeOf(maker, bytes));
  const pid = maker.pid!;
  const slow = async () => interrupted(bytes, () => void process.kill(pid, "SIGSTOP"));
  assert.equal(await maker.make(pictureOf(slow, bytes.length), 320), null);
  assert.equal(maker.pid, undefined);
  assert.ok(await makeOf(maker, bytes));
  assert.notEqual(maker.pid, pid);
  assert.deepEqual(failures, []);
});

test("a preview can be requested again if the process was stopped from outside", async (t) => {
  const { maker } = testMaker(t);
  const bytes = await noise(1200, 900).png().toBuffer();
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    const read = async () => interrupted(bytes, () => void process.kill(maker.pid!, signal));
    await assert.rejects(maker.make(pictureOf(read, bytes.length), 320), isUnavailable);
  }
  assert.ok(await makeOf(maker, bytes));
});

test("an idle process that ends is replaced", async (t) => {
  const { maker } = testMaker(t, { idleMs: 600_000 });
  await makeOf(maker, await picture());
  const pid = maker.pid!;
  process.kill(pid, "SIGKILL");
  assert.ok(await eventually(async () => maker.pid === undefined));
  assert.ok(await makeOf(maker, await picture()));
  assert.notEqual(maker.pid, pid);
});

test("the process is replaced after some pictures or when it uses much memory, and ends when idle", async (t) => {
  const bytes = await picture();
  for (const [life, lives] of [
    [{ pictures: 3 }, 3],
    [{ memory: 1 }, 1],
  ] as const) {
    const { maker } = testMaker(t, life);
    const pids = new Set<number | undefined>();
    for (let i = 1; i < lives; i++) {
      await makeOf(maker, bytes);
      pids.add(maker.pid);
    }
    assert.equal(pids.size, lives - 1 > 0 ? 1 : 0);
    await makeOf(maker, bytes);
    assert.equal(maker.pid, undefined);
    for (const pid of pids) assert.ok(await eventually(async () => !isAlive(pid!)));
  }
  const { maker } = testMaker(t, { idleMs: 50 });
  await makeOf(maker, bytes);
  const pid = maker.pid!;
  assert.ok(await eventually(async () => maker.pid === undefined && !isAlive(pid)));
  assert.ok(await makeOf(maker, bytes));
});

test("an error of reading a picture is thrown, and does not count as having no preview", async (t) => {
  const { maker } = testMaker(t);
  const bytes = await picture();
  const broken = () => {
    throw new Error("The disk failed.");
  };
  for (const [read, size, expected] of [
    [async () => interrupted(bytes, broken), bytes.length, /The disk failed/],
    [async () => bytes, bytes.length + 1, /more or fewer bytes/],
    [async () => bytes, bytes.length - 1, /more or fewer bytes/],
    [broken, bytes.length, /The disk failed/],
  ] as const)
    await assert.rejects(maker.make(pictureOf(read, size), 320), expected);
  assert.ok(await makeOf(maker, bytes));
});

test("thirty pictures of one uploader may wait, and three hundred in all; closing rejects them", async (t) => {
  const { maker, failures } = testMaker(t);
  const bytes = await picture();
  const { read, isReading } = endless(bytes);
  const waiting = [maker.make(pictureOf(read, bytes.length), 320)];
  const add = (uploader: string) =>
    maker.make(
      pictureOf(async () => bytes, bytes.length, uploader),
      320,
    );
  for (let uploader = 0; uploader < 10; uploader++) {
    for (let i = 0; i < 30; i++) waiting.push(add(`uploader ${uploader}`));
    await assert.rejects(add(`uploader ${uploader}`), isUnavailable);
  }
  await assert.rejects(add("uploader 10"), isUnavailable);
  await isReading;
  const pid = maker.pid!;
  const settled = Promise.allSettled(waiting);
  await maker.close();
  assert.ok(!isAlive(pid));
  for (const each of await settled)
    assert.equal(each.status === "rejected" && (each.reason as { code?: string }).code, "unavailable");
  await assert.rejects(makeOf(maker, bytes), isUnavailable);
  assert.deepEqual([maker.pid, failures], [undefined, []]);
});

test("uploaders take turns", async (t) => {
  const { maker } = testMaker(t);
  const bytes = await picture();
  const order: string[] = [];
  const add = async (uploader: string) => {
    await maker.make(
      pictureOf(async () => bytes, bytes.length, uploader),
      320,
    );
    order.push(uploader);
  };
  await Promise.all([..."aaaaabb", "c"].map(add));
  // The first has started before the others arrive.
  assert.equal(order.join(""), "aabcabaa");
});

test("a process that fails to start is reported, and previews are unavailable", async (t) => {
  for (const [command, reported] of [
    [["/does/not/exist"], /ENOENT/],
    [
      [process.execPath, "-e", "console.error('no such library'); process.exit(3)"],
      /ended with 3. no such library/,
    ],
    [[process.execPath, "-e", "console.log('x'.repeat(16))"], /too large/],
  ] as const) {
    const failures: Error[] = [];
    const maker = new PreviewMaker(command, (error) => failures.push(error as Error));
    t.after(() => maker.close());
    await assert.rejects(makeOf(maker, await picture()), isUnavailable);
    assert.match(failures.map(({ message }) => message).join(), reported);
  }
});
