import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";

export const PARLEY = fileURLToPath(new URL("../../bin/parley", import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The command line on a temporary data folder, as users start it. */
export interface CommandLine {
  env: Record<string, string>;
  url: string;
  /** Runs a command and waits for its end. */
  run(...args: string[]): Promise<Ended>;
  /** Starts a command. */
  start(...args: string[]): ChildProcess;
  /**
   * Starts the server and resolves once it listens. It is stopped after the test. `under` is a command that starts it,
   * such as `prlimit --nofile=60`.
   */
  serve(...under: string[]): Promise<Served>;
}

export interface Served {
  process: ChildProcess;
  /** The output so far. */
  stdout(): string;
  stderr(): string;
  /** Sends SIGTERM and resolves once the process has ended. */
  stop(): Promise<number | null>;
}

export async function commandLine(
  t: TestContext,
  settings: Record<string, string> = {},
  program = PARLEY,
): Promise<CommandLine> {
  const folder = await mkdtemp(join(tmpdir(), "parley-command-"));
  const served: (() => Promise<unknown>)[] = [];
  t.after(async () => {
    // A running server would write to a folder that is being removed.
    await Promise.all(served.map((end) => end()));
    await rm(folder, { recursive: true, force: true });
  });
  const env = {
    PATH: process.env.PATH!,
    HOME: folder,
    PARLEY_DATA: join(folder, "data"),
    PARLEY_PORT: String(await freePort()),
    PARLEY_RATE_LIMIT: "0",
    ...settings,
  };
  const url = `http://127.0.0.1:${env.PARLEY_PORT}`;
  return {
    env,
    url,
    run: (...args) => ended(start([program, ...args], env)),
    start: (...args) => start([program, ...args], env),
    serve: (...under) => serve(served, env, [...under, program]),
  };
}

function start([command, ...args]: string[], env: Record<string, string>): ChildProcess {
  return spawn(command!, args, { env, stdio: ["ignore", "pipe", "pipe"] });
}

/** Resolves with the exit code, the signal and the output of a process. */
export async function ended(child: ChildProcess): Promise<Ended> {
  const [stdout, stderr] = [collect(child.stdout!), collect(child.stderr!)];
  const [code] = await once(child, "close");
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Starts the server, and adds to `served` a function that stops it. */
async function serve(
  served: (() => Promise<unknown>)[],
  env: Record<string, string>,
  command: string[],
): Promise<Served> {
  const child = start([...command, "serve"], env);
  const [stdout, stderr] = [collect(child.stdout!), collect(child.stderr!)];
  const closed = once(child, "close");
  served.push(() => {
    child.kill();
    return closed;
  });
  while (!stdout().includes("Parley listens on")) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode}: ${stderr()}`);
    await Promise.race([once(child.stdout!, "data"), closed]);
  }
  const stop = async () => {
    child.kill("SIGTERM");
    return (await closed)[0] as number | null;
  };
  return { process: child, stdout, stderr, stop };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.on("data", (chunk) => {
    text += chunk;
  });
  return () => text;
}

/** Returns a free port. Outgoing connections, of which other tests open thousands, never use this range. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(randomInt(10_000, 30_000), "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return freePort();
  }
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

/** Returns the token that the first start of a server printed. */
export function tokenOf(server: Served): string {
  return /export PARLEY_TOKEN=(\S+)/.exec(server.stdout())![1]!;
}

/** Returns the server's public key for push subscriptions. */
export async function pushKeyOf({ url }: CommandLine, headers: Record<string, string>): Promise<string> {
  const me = (await (await fetch(`${url}/v1/me`, { headers })).json()) as { push_public_key: string };
  assert.match(me.push_public_key, /^B[\w-]{86}$/);
  return me.push_public_key;
}
