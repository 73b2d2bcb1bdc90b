// The servers that are measured: each has one core for itself and those it needs, and the load has another.
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Answer, Order } from "./bare.ts";
import type { Delay } from "./delay.ts";
import type { Server } from "./load.ts";

export const SERVER_CORE = "0";
export const LOAD_CORE = "1";
const STOP_MS = 15_000;
const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** The command of this Parley. */
export const PARLEY = fileOf("../bin/parley");

/** What a command is started by, so that it has these cores, as in "0,1". */
export const onCores = (cores: string): readonly string[] => ["taskset", "-c", cores];
export const onServerCore = onCores(SERVER_CORE);

/** Gives this process the core of the load. */
export function pinLoad(): void {
  execFileSync("taskset", ["-acp", LOAD_CORE, String(process.pid)], { stdio: "ignore" });
}

/** Starts a command on the servers' core, or on others; it ends with the stack. */
export function startPinned(
  stack: AsyncDisposableStack,
  command: string[],
  { cores = SERVER_CORE, ...options }: SpawnOptions & { cores?: string },
  signal: NodeJS.Signals = "SIGTERM",
): ChildProcess {
  const [program, ...args] = [...onCores(cores), ...command];
  const child = spawn(program!, args, options);
  const closed = new Promise((resolve) => child.once("close", resolve));
  stack.defer(async () => {
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await closed;
    clearTimeout(late);
  });
  return child;
}

/** What the child says first; throws where it ends without a word. */
export async function firstWord(child: ChildProcess, what: Promise<unknown[]>): Promise<unknown> {
  const ended = once(child, "close").then(([code]) => {
    throw new Error(`${child.spawnargs.join(" ")} ended with ${code} before it was ready.`);
  });
  return (await Promise.race([what, ended]))[0];
}

/** Bytes. */
export function memory(pid: number): { now: number; peak: number } {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(text)![1]) * 1024;
  return { now: of("VmRSS"), peak: of("VmHWM") };
}

/** The CPU time of a process and its children so far, in microseconds (proc_pid_schedstat(5), proc_tid_children(5)). */
export function cpuTime(pid: number): number {
  let spent = cpuTimeOfEnded(pid);
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const of = (file: string) => readFileSync(`/proc/${pid}/task/${thread}/${file}`, "utf8");
    spent += Number(of("schedstat").split(" ")[0]) / 1000;
    for (const child of of("children").split(" ").filter(Boolean)) spent += cpuTimeOfChild(Number(child));
  }
  return spent;
}

/** A child may end meanwhile. */
function cpuTimeOfChild(pid: number): number {
  try {
    return cpuTime(pid);
  } catch {
    return 0;
  }
}

/** In the kernel's ticks of 10 ms. */
const TICK_US = 10_000;

/** The CPU time of children that have ended (proc_pid_stat(5)). */
function cpuTimeOfEnded(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[13]) + Number(fields[14])) * TICK_US;
}

/** From now on `peak` is that of what comes (proc_pid_clear_refs(5)). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

export interface ParleyServer extends Server {
  startDelay(): Promise<void>;
  /** What the event loop was delayed by since the start of the measure. */
  stopDelay(): Promise<Delay>;
}

type Settings = Record<string, string>;

function environment(dataFolder: string, settings: Settings): Record<string, string> {
  return {
    PATH: process.env.PATH!,
    PARLEY_DATA: dataFolder,
    PARLEY_PORT: "0",
    PARLEY_LOG_LEVEL: "warn",
    PARLEY_RATE_LIMIT: "0",
    ...settings,
  };
}

/** Runs a command of Parley, of this one or of another, and returns what it printed. */
export function parley(
  dataFolder: string,
  args: string[],
  settings: Settings = {},
  command: string = PARLEY,
): string {
  return execFileSync(command, args, { env: environment(dataFolder, settings), encoding: "utf8" });
}

/** The server with its default settings but for `settings`, without rate limits, and with `delay` what measures its event loop. */
export async function startParley(
  stack: AsyncDisposableStack,
  dataFolder: string,
  {
    delay = false,
    settings = {},
    command = PARLEY,
    cores = SERVER_CORE,
  }: { delay?: boolean; settings?: Settings; command?: string; cores?: string } = {},
): Promise<ParleyServer> {
  const preload = delay ? { NODE_OPTIONS: `--import ${fileOf("delay.ts")}` } : {};
  const child = startPinned(stack, [command, "serve"], {
    env: { ...environment(dataFolder, settings), ...preload },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    cores,
  });
  const text = String(await firstWord(child, once(child.stdout!, "data")));
  const ask = async (order: "start" | "stop") => {
    child.send(order);
    return (await once(child, "message"))[0];
  };
  return {
    port: Number(/listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)![1]),
    pid: child.pid!,
    startDelay: () => ask("start"),
    stopDelay: () => ask("stop"),
  };
}

export interface BareServer extends Server {
  set(path: string, answer: Answer): Promise<void>;
  /** Deletes the files that were uploaded. */
  clear(): Promise<void>;
}

export async function startBare(stack: AsyncDisposableStack, folder: string): Promise<BareServer> {
  mkdirSync(folder, { recursive: true });
  const child = startPinned(stack, [process.execPath, fileOf("bare.ts"), folder], {
    env: { PATH: process.env.PATH!, NODE_COMPILE_CACHE: join(folder, "cache") },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const port = (await firstWord(child, once(child, "message"))) as number;
  const order = async (what: Order) => {
    child.send(what);
    await once(child, "message");
  };
  return {
    port,
    pid: child.pid!,
    set: (path, answer) => order({ path, answer }),
    clear: () => order("clear"),
  };
}
