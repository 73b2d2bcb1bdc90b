// Measures how fast a command that serves is ready, and its memory at rest: runtime/node tools/release/measure.ts COMMAND…
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const PORT = "18080";
const STARTS = 5;
const REST_MS = 10_000;

/** Returns the resident bytes of all processes of a group. */
function residentBytes(group: number): number {
  let total = 0;
  for (const file of globSync("/proc/[0-9]*/stat")) {
    try {
      // The name, in parentheses, may contain spaces.
      const fields = readFileSync(file, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      if (Number(fields[2]) === group) total += Number(fields[21]) * 4096;
    } catch {
      // The process has ended.
    }
  }
  return total;
}

async function isReady(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${PORT}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function measure(folder: string, [command, ...args]: string[]): Promise<[seconds: number, mb: number]> {
  const env = { ...process.env, PARLEY_PORT: PORT, PARLEY_DATA: join(folder, "data") };
  const start = performance.now();
  const child = spawn(command!, args, { env, stdio: "ignore", detached: true });
  const ended = once(child, "exit");
  try {
    while (!(await isReady())) {
      if (child.exitCode !== null) throw new Error(`The command ended with ${child.exitCode}`);
      await sleep(5);
    }
    const seconds = (performance.now() - start) / 1000;
    await sleep(REST_MS);
    return [seconds, residentBytes(child.pid!) / 1e6];
  } finally {
    process.kill(-child.pid!);
    await ended;
  }
}

const folder = mkdtempSync(join(tmpdir(), "parley-measure-"));
try {
  for (let n = 1; n <= STARTS; n++) {
    const [seconds, mb] = await measure(folder, process.argv.slice(2));
    console.log(`start ${n}: ready after ${seconds.toFixed(2)} s, ${mb.toFixed(0)} MB after 10 s`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
