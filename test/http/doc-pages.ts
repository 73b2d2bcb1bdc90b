// Runs the examples of the documentation like a reader: shell blocks in one shell, TypeScript blocks as one file.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type CommandLine, freePort } from "../support/command.ts";

export const ROOT = new URL("../../", import.meta.url);
export const OVERVIEW = "docs/api/README.md";
const MARK = "=== block ===";
const CLIENT = fileURLToPath(new URL("packages/parley-client/src/index.ts", ROOT));
const execute = promisify(execFile);

export interface Block {
  language: string;
  text: string;
}

/** A reader who follows a page. */
export interface Reader {
  command: CommandLine;
  token: string;
  /** The value of PARLEY_URL; the server's address by default. */
  url?: string;
}

export function readPage(page: string): Promise<string> {
  return readFile(new URL(page, ROOT), "utf8");
}

export async function blocksOf(page: string): Promise<Block[]> {
  return [...(await readPage(page)).matchAll(/^```(\w[\w ]*)\n(.*?)^```$/gms)].map((match) => ({
    language: match[1]!,
    text: match[2]!,
  }));
}

/** The pages of the API, by path. */
export async function apiPages(): Promise<string[]> {
  const names = await readdir(new URL("docs/api/", ROOT));
  return names.filter((name) => name.endsWith(".md")).map((name) => `docs/api/${name}`);
}

/**
 * Creates a reader's folder, with the files that the pages upload, and the `parley` command in the place that a
 * checkout has.
 */
export async function readersFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-docs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["README.md", "LICENSE"]) await cp(new URL(name, ROOT), join(folder, name));
  await symlink(fileURLToPath(new URL("bin", ROOT)), join(folder, "bin"));
  // A failed request ends the block.
  await writeFile(join(folder, ".curlrc"), "silent\nshow-error\nfail-with-body\n");
  return folder;
}

/** Returns a shell script in which a failed request ends the block, and a request documented as an error must fail. */
function script(block: Block): string {
  const lines =
    block.language === "sh fails"
      ? `if ( set -e; ${block.text.trim()} ); then echo "did not fail" >&2; exit 1; fi\n`
      : `set -euo pipefail\n${block.text}set +euo pipefail\n`;
  return `${lines}echo "${MARK}"\n`;
}

/** The port of the webhook receiver, which the pages call 8090; the same for all examples of a page. */
const RECEIVER = String(await freePort());

function environment({ command, token, url = command.url }: Reader, folder: string): NodeJS.ProcessEnv {
  const reader = { HOME: folder, XDG_CONFIG_HOME: "", PARLEY_URL: url, PARLEY_TOKEN: token };
  return { ...process.env, ...command.env, ...reader };
}

/** Runs shell blocks one after another. Returns the output of each. */
export async function runShell(blocks: Block[], reader: Reader, folder: string): Promise<string[]> {
  const text = blocks
    .map(script)
    .join("")
    .replaceAll("http://127.0.0.1:8080", reader.command.url)
    .replaceAll("8090", RECEIVER);
  const { stdout } = await run("bash", ["-c", text], reader, folder);
  return stdout.split(`${MARK}\n`).slice(0, -1);
}

/** Joins TypeScript blocks into one module that uses the client of this checkout. */
export function moduleOf(blocks: Block[]): string {
  const code = blocks.filter(({ language }) => language === "ts").map(({ text }) => text);
  return code.join("\n").replaceAll('"parley-client"', JSON.stringify(CLIENT));
}

export async function runTypeScript(blocks: Block[], reader: Reader, folder: string): Promise<void> {
  const file = join(folder, "page.ts");
  await writeFile(file, moduleOf(blocks).replaceAll("8090", RECEIVER));
  await run(process.execPath, [file], reader, folder);
}

/** The page of the command line starts about fifty processes. */
export const PAGE_MS = 240_000;

function run(command: string, args: string[], reader: Reader, folder: string) {
  const env = environment(reader, folder);
  return execute(command, args, { cwd: folder, env, timeout: PAGE_MS });
}

/** Runs the block that starts the server in another terminal, and resolves with the token that it prints. */
export async function startAsWritten(t: TestContext, block: Block, command: CommandLine): Promise<string> {
  // Skips `npm ci`: the packages are already installed, since this test runs.
  const setup = `npm() { if [ "$1" != ci ]; then command npm --prefix "${fileURLToPath(ROOT)}" "$@"; fi; }\n`;
  const env = { ...process.env, ...command.env };
  const terminal = spawn("bash", ["-c", setup + block.text], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const closed = once(terminal, "close");
  t.after(async () => {
    process.kill(-terminal.pid!, "SIGTERM");
    await closed;
  });
  let printed = "";
  for await (const chunk of terminal.stdout.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    if (/^or sign in/m.test(printed)) break;
  }
  return /export PARLEY_TOKEN=(\S+)/.exec(printed)![1]!;
}

/** Returns each request in a `debug` log once, as method and path, without the parts that differ each time. */
export function requestsOf(log: string): string[] {
  const lines = log.split("\n").flatMap((line) => (line.includes('"answered"') ? [JSON.parse(line)] : []));
  return [...new Set(lines.map(({ method, path }) => lasting(`${method} ${path}`)))].sort();
}

/** Removes ids, times and sizes of edited files, which differ each time. */
export function lasting(text: string): string {
  return text
    .replaceAll(/\b(\w{3})_[0-9a-z]{26}\b/g, "$1_")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "TIME")
    .replaceAll(/[\d.]+ KiB/g, "SIZE")
    .trim();
}

/** Returns the shape of a JSON value: names in order, types, and the first item of a list. */
export function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shape);
  if (value === null || typeof value !== "object") return typeof value;
  return Object.entries(value).map(([name, each]) => [name, each === null ? "null" : shape(each)]);
}
