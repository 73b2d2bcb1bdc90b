// How long the server takes from the start of its Node process to its first answer, and what it holds when idle.
// usage: runtime/node bench/start.ts [ROUNDS]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
/** As `bin/parley` sets it. */
const NODE_COMPILE_CACHE = fileURLToPath(new URL("../node_modules/.cache/parley", import.meta.url));
const PORT = 18_431;
const IDLE_MS = 2000;

function answers(): Promise<boolean> {
  return new Promise((resolve) => {
    request({ port: PORT, host: "127.0.0.1", path: "/healthz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .on("error", () => resolve(false))
      .end();
  });
}

async function round(folder: string): Promise<{ ms: number; rss: number }> {
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE,
    PARLEY_DATA: join(folder, "data"),
    PARLEY_PORT: String(PORT),
  };
  const begun = performance.now();
  const server = spawn(process.execPath, [MAIN, "serve"], { env, stdio: "ignore" });
  while (!(await answers())) await new Promise((resolve) => setTimeout(resolve, 2));
  const ms = performance.now() - begun;
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))![1]) / 1024;
  server.kill();
  await once(server, "close");
  return { ms, rss };
}

const median = (numbers: number[]) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

const folder = mkdtempSync(join(tmpdir(), "parley-start-"));
try {
  const rounds = [];
  for (let i = 0; i < Number(process.argv[2] ?? 5); i++) rounds.push(await round(folder));
  const ms = rounds.map((each) => each.ms);
  const rss = rounds.map((each) => each.rss);
  console.log(
    `start to first answer: first ${ms[0]!.toFixed(0)} ms, median ${median([...ms]).toFixed(0)} ms`,
  );
  console.log(`idle RSS: median ${median(rss).toFixed(0)} MiB`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
