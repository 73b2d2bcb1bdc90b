import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { access, cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readConfig, settingsReference } from "../../src/config.ts";
import { catalogue } from "../../src/errors.ts";
import { allOperations } from "../../src/http/operations.ts";
import { type CommandLine, commandLine, freePort, PARLEY, tokenOf } from "./command.ts";
import { scopesReference } from "./scopes.ts";

const ROOT = new URL("../../", import.meta.url);
const MARK = "=== block ===";
const sh = promisify(execFile);

interface Block {
  language: string;
  text: string;
}

async function blocksOf(page: string): Promise<Block[]> {
  const text = await readFile(new URL(page, ROOT), "utf8");
  return [...text.matchAll(/^```(\w[\w ]*)\n(.*?)^```$/gms)].map((match) => ({
    language: match[1]!,
    text: match[2]!,
  }));
}

/** A shell in which a request that fails ends the block, and one that is said to fail must fail. */
function script(block: Block): string {
  const lines =
    block.language === "sh"
      ? `set -euo pipefail\n${block.text}set +euo pipefail\n`
      : `if ( set -e; ${block.text.trim()} ); then echo "did not fail" >&2; exit 1; fi\n`;
  return `${lines}echo "${MARK}"\n`;
}

/** Runs the blocks of a page in one shell, on a server of its own; returns what each printed. */
async function runBlocks(t: TestContext, blocks: Block[]): Promise<string[]> {
  // With the default rate limit, which an answer tells; and with a receiver of webhooks on this machine.
  const command = await commandLine(t, { PARLEY_RATE_LIMIT: "", PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true" });
  const receiver = String(await freePort());
  const start = blocks.find((block) => block.language === "sh server");
  const token = start ? await startAsWritten(t, start, command) : tokenOf(await command.serve());
  const folder = await mkdtemp(join(tmpdir(), "parley-docs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const name of ["README.md", "LICENSE"]) await cp(new URL(name, ROOT), join(folder, name));
  const setup = `curl() { command curl -sS --fail-with-body "$@"; }\nnpx() { "${PARLEY}" "\${@:2}"; }\n`;
  const text = (
    setup +
    blocks
      .filter((block) => block !== start)
      .map(script)
      .join("")
  )
    .replaceAll("http://127.0.0.1:8080", command.url)
    .replaceAll("8090", receiver);
  const { stdout } = await sh("bash", ["-c", text], {
    cwd: folder,
    env: {
      ...process.env,
      ...command.env,
      HOME: folder,
      XDG_CONFIG_HOME: "",
      PARLEY_URL: start ? command.url : "",
      PARLEY_TOKEN: token,
    },
  });
  return stdout.split(`${MARK}\n`).slice(0, -1);
}

/** Runs the block that starts the server in a terminal of its own, and resolves with the token that it prints. */
async function startAsWritten(t: TestContext, block: Block, command: CommandLine): Promise<string> {
  // What `npm ci` does has been done, or this test would not run.
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

/** What is printed without what differs each time: ids, times, and sizes of files that are edited. */
function lasting(text: string): string {
  return text
    .replaceAll(/\b(\w{3})_[0-9a-z]{26}\b/g, "$1_")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "TIME")
    .replaceAll(/[\d.]+ KiB/g, "SIZE")
    .trim();
}

/** The shape of a JSON value: names in their order, and types; of a list its first item. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shape);
  if (value === null || typeof value !== "object") return typeof value;
  return Object.entries(value).map(([name, each]) => [name, each === null ? "null" : shape(each)]);
}

const noCurl = spawnSync("curl", ["--version"]).error ? "curl is not installed" : false;

for (const page of ["README.md", "docs/tour.md", "docs/api.md", "docs/cli.md"]) {
  test(`every line of ${page} runs as it stands, and answers as it says`, { skip: noCurl }, async (t) => {
    const blocks = await blocksOf(page);
    // The commands that start and test Parley itself, and the placeholder of the token, are run by other tests.
    const own = (block: Block) =>
      block.text.startsWith("npm ") || block.text.startsWith("export PARLEY_TOKEN=");
    const runnable = blocks.filter(
      (block) => block.language === "sh server" || (block.language.startsWith("sh") && !own(block)),
    );
    assert.ok(runnable.length >= 3);
    const outputs = await runBlocks(t, runnable);
    const printing = runnable.filter((block) => block.language !== "sh server");
    assert.equal(outputs.length, printing.length);
    let compared = 0;
    for (const [i, block] of blocks.entries()) {
      const output = outputs[printing.indexOf(blocks[i - 1]!)];
      if (block.language === "text" && page === "docs/tour.md") {
        assert.equal(lasting(output!), lasting(block.text), blocks[i - 1]!.text);
        compared++;
      }
      if (block.language !== "json") continue;
      const answer = output!.slice(output!.search(/\{"/));
      assert.deepEqual(shape(JSON.parse(block.text)), shape(JSON.parse(answer)), blocks[i - 1]!.text);
      compared++;
    }
    t.diagnostic(`${page}: ${runnable.length} blocks run, ${compared} answers compared`);
  });
}

test("docs/api.md names every request of the source document", async () => {
  const text = await readFile(new URL("docs/api.md", ROOT), "utf8");
  for (const family of ["contacts", "attachments"]) {
    assert.match(text, new RegExp(`curl "?http://127.0.0.1:8080/v1/${family}`));
    for (const method of ["PUT", "DELETE"]) {
      assert.match(text, new RegExp(`curl -X ${method} http://127.0.0.1:8080/v1/${family}/\\$`));
    }
  }
});

test("docs/api.md lists every code that the API can answer", async () => {
  const text = await readFile(new URL("docs/api.md", ROOT), "utf8");
  const table = text.slice(text.indexOf("| status | codes |"));
  const listed = [...table.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]!);
  assert.deepEqual(listed.sort(), Object.keys(catalogue).sort());
});

test("the reference of the settings in docs/operate.md is what the code says", async () => {
  const text = await readFile(new URL("docs/operate.md", ROOT), "utf8");
  assert.ok(text.includes(settingsReference()), `It must be:\n${settingsReference()}`);
});

test("the table of the scopes in docs/api.md is what the code says", async () => {
  const text = await readFile(new URL("docs/api.md", ROOT), "utf8");
  const table = scopesReference(allOperations(readConfig({}).limits));
  assert.ok(text.includes(table), `It must be:\n${table}`);
});

test("docs/security.md names tests that are there, and all that are about attacks alone", async () => {
  const text = await readFile(new URL("docs/security.md", ROOT), "utf8");
  const named = new Set([...text.matchAll(/`(test\/[^`]+)`/g)].map((match) => match[1]!));
  for (const path of named) await access(new URL(path, ROOT));
  for (const name of await readdir(new URL("test/attacks/", ROOT)))
    if (name.endsWith(".test.ts")) assert.ok(named.has(`test/attacks/${name}`), name);
});

test("every relative link in README and docs leads to a file", async () => {
  for (const page of [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "client/README.md",
    ...[
      "tour",
      "api",
      "cli",
      "operate",
      "scaling",
      "sharing",
      "security",
      "architecture",
      "decisions",
      "dependencies",
      "performance",
      "security",
    ].map((name) => `docs/${name}.md`),
  ]) {
    const text = await readFile(new URL(page, ROOT), "utf8");
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)/g))
      await access(new URL(target!, new URL(page, ROOT)));
  }
});
