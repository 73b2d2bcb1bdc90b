// Ways to install Parley: how long a new user waits for the first message, and what the server costs then.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, chromium } from "playwright-core";
import { freePort } from "../test/support/command.ts";
import { median } from "./load.ts";
import { onCores, startParley } from "./servers.ts";
import { timeStarts } from "./whole.ts";

const ROUNDS = 3;
const POLL_MS = 10;
const BOTH_CORES = "0,1";
const MB = 1_000_000;
const ROOT = join(import.meta.dirname, "..");

/** Makes and measures the npm package and the single file. */
export async function installs(folder: string): Promise<Record<string, number>> {
  const releases = join(folder, "releases");
  const npm = (args: string[], cwd = ROOT) => execFileSync("npm", args, { cwd, encoding: "utf8" });
  npm(["run", "release:server", "--", join(releases, "package")]);
  npm(["run", "release:file", "--", releases]);
  const pack = ["pack", "--silent", "--pack-destination", releases];
  const archive = join(releases, npm(pack, join(releases, "package")).trim());
  const messages = await timeMessages(folder, archive);
  const file = join(releases, `parley-linux-${process.arch}`);
  const [installed] = globSync("warm/npm/_npx/*/node_modules", { cwd: folder });
  const command = join(folder, installed!, ".bin/parley");
  const starts = await timeStarts({
    package: (stack) => startParley(stack, join(folder, "start-package"), { command }),
    file: (stack) => startParley(stack, join(folder, "start-file"), { command: file }),
  });
  return {
    ...messages,
    packageSize: sizeOf(join(folder, installed!, "parley-server")) / MB,
    packageStart: starts.package.ms,
    packageIdle: starts.package.mb,
    fileSize: statSync(file).size / MB,
    fileStart: starts.file.ms,
    fileIdle: starts.file.mb,
  };
}

function sizeOf(folder: string): number {
  const files = globSync("**", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** Times `npx … dev` until a browser shows a message, with an empty cache of npm and with a filled one. */
async function timeMessages(
  folder: string,
  archive: string,
): Promise<{ installCold: number; installWarm: number }> {
  await using stack = new AsyncDisposableStack();
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium-headless-shell" });
  stack.defer(() => browser.close());
  const [cold, warm]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const place = mkdtempSync(join(folder, "cold-"));
    cold.push(await timeMessage(place, archive, browser));
    rmSync(place, { recursive: true });
  }
  const place = join(folder, "warm");
  mkdirSync(place);
  for (let round = -1; round < ROUNDS; round++) {
    const ms = await timeMessage(place, archive, browser);
    if (round >= 0) warm.push(ms);
  }
  return { installCold: median(cold), installWarm: median(warm) };
}

async function timeMessage(place: string, archive: string, browser: Browser): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const port = String(await freePort());
  const hello = `http://127.0.0.1:${port}/hello`;
  const page = await browser.newPage();
  stack.defer(() => page.close());
  copyFileSync(archive, join(place, "parley.tgz"));
  const begun = performance.now();
  const [program, ...args] = [...onCores(BOTH_CORES), "npx", "--yes", "./parley.tgz", "dev"];
  const child = spawn(program!, args, {
    cwd: place,
    env: { ...process.env, npm_config_cache: join(place, "npm"), PARLEY_PORT: port },
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  });
  const closed = once(child, "close");
  stack.defer(async () => {
    // npx passes no signal on, so all processes get it.
    process.kill(-child.pid!, "SIGINT");
    await closed;
  });
  while (!(await isServed(hello))) await sleep(POLL_MS);
  await page.goto(hello);
  await page.getByText("Hi Bob, are you in for Sunday?").first().waitFor();
  return performance.now() - begun;
}

async function isServed(url: string): Promise<boolean> {
  const answer = await fetch(url).catch(() => undefined);
  return answer?.ok ?? false;
}
