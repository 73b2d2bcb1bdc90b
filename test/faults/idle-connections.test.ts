// F9: very many idle connections cost little memory, and do not slow down the active ones.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../support/client.ts";
import { addPart, beginUpload } from "../support/resuming.ts";
import { isLong, scaled } from "../support/scale.ts";
import { inMib, noProc, openDescriptors, residentBytes } from "../support/usage.ts";
import { Subject } from "./subject.ts";

const HOLDER = fileURLToPath(new URL("./hold-connections.ts", import.meta.url));
const KIB = 1024;
const ACTIVE = 16;

/** Returns the 99th percentile of requests by a few active clients, in milliseconds. */
async function activeP99(client: Client, requests: number): Promise<number> {
  const times: number[] = [];
  const work = async () => {
    while (times.length < requests) {
      const began = performance.now();
      assert.equal((await client.send("GET", "/v1/contacts")).status, 200);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: ACTIVE }, work));
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)]!;
}

/** Returns how many connections a process may hold, with some descriptors left for its files. */
function allowedConnections(pid: number): number {
  const limit = /Max open files\s+(\d+)/.exec(readFileSync(`/proc/${pid}/limits`, "utf8"))!;
  return Number(limit[1]) - 100;
}

test("F9 idle connections cost little memory, and active ones keep working", { skip: noProc }, async (t) => {
  const subject = await Subject.start(t);
  const pid = subject.server.process.pid!;
  const wanted = scaled(1000, 10_000);
  const count = Math.min(wanted, allowedConnections(pid));
  if (count < wanted) t.diagnostic(`${count} connections, not ${wanted}: the limit of open files is too low`);
  const requests = scaled(4000, 40_000);
  await activeP99(subject.client, requests);
  const before = { p99: await activeP99(subject.client, requests), memory: residentBytes(pid) };
  const { upload } = await beginUpload(subject.client, "a", Buffer.alloc(2000));
  assert.equal((await addPart(subject.client, subject.record, upload!, 1000)).status, 204);
  const holder = spawn(process.execPath, [HOLDER, subject.url, String(count)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(holder, "close");
  t.after(() => holder.kill());
  await Promise.race([
    once(holder.stdout, "data"),
    ended.then(() => assert.fail("the connections were not held")),
  ]);
  const bytesEach = (residentBytes(pid) - before.memory) / count;
  assert.ok(openDescriptors(pid) >= count);
  const p99 = await activeP99(subject.client, requests);
  assert.equal((await addPart(subject.client, subject.record, upload!, 2000)).status, 204);
  t.diagnostic(
    `${count} idle connections, ${(bytesEach / KIB).toFixed(1)} KiB each; p99 of active requests ` +
      `${before.p99.toFixed(1)} ms without, ${p99.toFixed(1)} ms with them; RSS ${inMib(residentBytes(pid))}`,
  );
  if (isLong) {
    assert.ok(bytesEach <= 15 * KIB, `${bytesEach} bytes each`);
    assert.ok(p99 < 2 * before.p99, `p99 ${before.p99} ms without, ${p99} ms with them`);
  }
  holder.stdin.end();
  assert.deepEqual(await ended, [0, null], "no connection was closed meanwhile");
});
