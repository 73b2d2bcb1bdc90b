// The server under test: the one at PARLEY_TEST_URL, or else one of this project, started like any user would, in a
// new folder.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

interface Target {
  /** Without a trailing slash. */
  url: string;
  token: string;
  /** The token of a second user, if there is one. */
  second: string | undefined;
  /** Whether this process started the server, so that its settings are known. */
  own: boolean;
}

const COMMAND = fileURLToPath(new URL("../../bin/parley", import.meta.url));
const TOKEN = /parley_[A-Za-z0-9_-]{43}/;
const START_MS = 60_000;
const STOP_MS = 15_000;

export const target: Target = process.env.PARLEY_TEST_URL
  ? given(process.env.PARLEY_TEST_URL)
  : await startOwn();

/** The `skip` of tests that need two users. */
export const needsSecond: string | false =
  target.second === undefined
    ? "PARLEY_TEST_TOKEN_2 is not set: there is no second user to test with"
    : false;

/** The `skip` of tests that use a plain socket. */
export const needsPlain: string | false = target.url.startsWith("http:")
  ? false
  : "PARLEY_TEST_URL is not http: a plain socket cannot speak to it";

export function second(): string {
  if (target.second === undefined) throw new Error("a test of two users ran without a second user");
  return target.second;
}

function given(url: string): Target {
  const token = process.env.PARLEY_TEST_TOKEN;
  if (!token) throw new Error("PARLEY_TEST_URL needs PARLEY_TEST_TOKEN, the token of a user on that server");
  return {
    url: url.replace(/\/+$/, ""),
    token,
    second: process.env.PARLEY_TEST_TOKEN_2 || undefined,
    own: false,
  };
}

async function startOwn(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), "parley-acceptance-"));
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PARLEY_DATA: join(folder, "data"),
    PARLEY_HOST: "127.0.0.1",
    PARLEY_PORT: String(port),
    PARLEY_RATE_LIMIT: "0",
  };
  const child = spawn(COMMAND, ["serve"], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  // An aborted run skips the hooks: this ends the server anyway.
  const lastResort = () => child.kill("SIGKILL");
  process.on("exit", lastResort);
  const close = async () => {
    try {
      await stop(child);
    } finally {
      process.off("exit", lastResort);
      await rm(folder, { recursive: true, force: true });
    }
  };
  try {
    const url = `http://127.0.0.1:${port}`;
    const token = await ready(child, url);
    const run = async (...args: string[]) =>
      (await promisify(execFile)(COMMAND, args, { cwd: folder, env, timeout: START_MS })).stdout;
    const name = `second-${randomBytes(4).toString("hex")}`;
    await run("user", "add", name);
    const second = (await run("token", "create", name)).trim();
    if (TOKEN.exec(second)?.[0] !== second)
      throw new Error("token create printed something else than a token");
    after(close);
    return { url, token, second, own: true };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Waits until the server answers and has printed the token of its first user. */
async function ready(child: ChildProcess, url: string): Promise<string> {
  let output = "";
  let errors = "";
  let failure: Error | undefined;
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.on("error", (error) => {
    failure = error;
  });
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline) {
    if (failure) throw failure;
    if (ended(child)) throw new Error(`the server ended at its start:\n${output}\n${errors}`);
    const token = TOKEN.exec(output)?.[0];
    if (token !== undefined && (await healthy(url))) return token;
    await sleep(50);
  }
  throw new Error(`the server was not ready within ${START_MS} ms:\n${output}\n${errors}`);
}

async function healthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (ended(child) || child.pid === undefined) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await gone;
  clearTimeout(late);
  if (child.exitCode !== 0) {
    throw new Error(`the server ended with ${child.exitCode ?? child.signalCode} after SIGTERM, not with 0`);
  }
}

function ended(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Returns a free port outside of the range for outgoing connections. */
async function freePort(): Promise<number> {
  const port = randomInt(10_000, 30_000);
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return freePort();
  }
  server.close();
  await once(server, "close");
  return port;
}
