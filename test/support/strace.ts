import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { TestContext } from "node:test";
import type { Served } from "./command.ts";
import { without } from "./engines/packages.ts";
import { eventually } from "./files-on-disk.ts";

/** Why no faults can be injected into system calls here; false if they can. */
export const noStrace = whyNotTraced();

function whyNotTraced(): string | false {
  const missing = without("/usr/bin/strace");
  if (missing) return missing;
  const tried = spawnSync("strace", ["-qq", "-e", "trace=none", "true"]);
  return tried.status === 0 ? false : `processes may not be traced here: ${tried.stderr}`;
}

/** Settings of a server with one thread for files, because strace counts `when=` separately for each thread. */
export const ONE_FILE_THREAD = { UV_THREADPOOL_SIZE: "1" };

/** Traces all threads of a server with these options. The returned function stops the trace. */
export function trace(t: TestContext, server: Served, ...options: string[]): Promise<() => Promise<void>> {
  return attach(t, server, /./, ["-f", ...options, "-p", String(server.process.pid)]);
}

/** Traces only the threads for files and folders, not those of the database. */
export async function traceFileThreads(
  t: TestContext,
  server: Served,
  ...options: string[]
): Promise<() => Promise<void>> {
  const threads = await threadsOf(server, FILE_THREADS);
  return attach(t, server, FILE_THREADS, [...options, ...threads.flatMap((thread) => ["-p", thread])]);
}

const STUCK_MS = 2000;
const FILE_THREADS = /^libuv-worker$/m;

async function threadsOf(server: Served, names: RegExp): Promise<string[]> {
  const tasks = `/proc/${server.process.pid}/task`;
  const found: string[] = [];
  for (const thread of await readdir(tasks)) {
    if (names.test(await readFile(`${tasks}/${thread}/comm`, "utf8"))) found.push(thread);
  }
  return found;
}

async function attach(
  t: TestContext,
  server: Served,
  names: RegExp,
  options: string[],
): Promise<() => Promise<void>> {
  const tracer = spawn("strace", ["-qq", ...options], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  tracer.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-2000);
  });
  const gone = once(tracer, "close");
  const detach = async () => {
    tracer.kill("SIGINT");
    // If the traced process was killed, strace sometimes waits for a thread that no longer exists.
    const stuck = setTimeout(() => tracer.kill("SIGKILL"), STUCK_MS);
    await gone;
    clearTimeout(stuck);
  };
  t.after(detach);
  const traced = async () => {
    for (const thread of await threadsOf(server, names)) {
      const status = await readFile(`/proc/${server.process.pid}/task/${thread}/status`, "utf8");
      if (!/TracerPid:\s+[1-9]/.test(status)) return false;
    }
    return true;
  };
  // The fault may strike as soon as the last thread is traced, and the process is already gone.
  const isTraced = await eventually(() => traced().catch(() => true));
  if (!isTraced) throw new Error(`the server cannot be traced: ${said}`);
  return detach;
}
