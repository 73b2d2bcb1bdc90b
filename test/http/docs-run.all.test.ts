import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { commandLine, tokenOf } from "../support/command.ts";
import { without } from "../support/engines/packages.ts";
import { testScanner } from "../support/engines/scanner.ts";
import {
  apiPages,
  type Block,
  blocksOf,
  lasting,
  moduleOf,
  OVERVIEW,
  PAGE_MS,
  type Reader,
  ROOT,
  readersFolder,
  requestsOf,
  runShell,
  runTypeScript,
  shape,
  startAsWritten,
} from "./doc-pages.ts";

// With the default rate limit, which an answer shows, and a webhook receiver on this machine.
const SETTINGS = { PARLEY_RATE_LIMIT: "", PARLEY_WEBHOOKS_ALLOW_PRIVATE: "true", PARLEY_LOG_LEVEL: "debug" };
const noCurl = without("/usr/bin/curl");

/**
 * Reports whether a block is not run: those that start and test Parley itself, those of Docker, and the placeholders of
 * URL and token.
 */
const isNotRun = ({ text }: Block) => /^npm |^docker |^export PARLEY_URL=/.test(text);

/**
 * Compares the answers that a page shows with the output of its blocks, for those of `blocks` that are `printing`.
 */
function compareAnswers(blocks: Block[], printing: Block[], outputs: string[]): number {
  let compared = 0;
  let output = "";
  for (const block of blocks) {
    if (printing.includes(block)) output = outputs[printing.indexOf(block)]!;
    if (block.language !== "json") continue;
    const answer = output.slice(output.search(/\{\s?"/));
    assert.deepEqual(shape(JSON.parse(block.text)), shape(JSON.parse(lastLine(answer))), block.text);
    compared++;
  }
  return compared;
}

/** Returns the last answer that a block printed. */
function lastLine(answer: string): string {
  return answer
    .trim()
    .split("\n")
    .at(-1)!
    .split(/(?<=\})(?=\{)/)
    .at(-1)!;
}

for (const page of ["README.md", "docs/tour.md", "docs/cli.md"]) {
  test(`every line of ${page} runs unchanged, with the documented answers`, {
    skip: noCurl,
    timeout: 2 * PAGE_MS,
  }, async (t) => {
    const blocks = await blocksOf(page);
    const runnable = blocks.filter((block) => block.language.startsWith("sh") && !isNotRun(block));
    const start = runnable.find((block) => block.language === "sh server");
    const printing = runnable.filter((block) => block !== start);
    assert.ok(printing.length >= 3);
    const command = await commandLine(t, SETTINGS);
    const token = start ? await startAsWritten(t, start, command) : tokenOf(await command.serve());
    // The command line uses the URL of its login only if PARLEY_URL is not set.
    const url = page === "docs/cli.md" ? "" : command.url;
    const outputs = await runShell(printing, { command, token, url }, await readersFolder(t));
    assert.equal(outputs.length, printing.length);
    let compared = compareAnswers(blocks, printing, outputs);
    for (const [i, block] of blocks.entries()) {
      const output = outputs[printing.indexOf(blocks[i - 1]!)];
      if (block.language !== "text" || output === undefined) continue;
      assert.equal(lasting(output), lasting(block.text), blocks[i - 1]!.text);
      compared++;
    }
    t.diagnostic(`${page}: ${printing.length} blocks run, ${compared} answers compared`);
  });
}

/** Guides whose examples are shown in curl and TypeScript, like those of the API. */
const GUIDES = ["docs/guides/moderation.md", "docs/guides/moving-in.md"];
const PAIRED = [...(await apiPages()), ...GUIDES];

/** Runs `work` on a new server, and returns the requests that reached it. */
async function requestsDuring(
  t: TestContext,
  settings: Record<string, string>,
  work: (reader: Reader) => Promise<unknown>,
): Promise<string[]> {
  const command = await commandLine(t, { ...SETTINGS, ...settings });
  const served = await command.serve();
  await work({ command, token: tokenOf(served) });
  await served.stop();
  return requestsOf(served.stderr());
}

for (const page of PAIRED) {
  test(`every example of ${page} runs, and sends the same requests in curl and TypeScript`, {
    skip: noCurl,
  }, async (t) => {
    const own = await blocksOf(page);
    const setUp = (await blocksOf(OVERVIEW)).slice(0, 3).filter(({ language }) => language !== "text");
    const blocks = page === OVERVIEW ? own : [...setUp, ...own];
    const shell = blocks.filter(({ language }) => language.startsWith("sh"));
    for (const [i, block] of own.entries()) {
      if (block.text.includes("curl "))
        assert.equal(own[i + 1]?.language, "ts", `No TypeScript: ${block.text}`);
    }
    const folder = await readersFolder(t);
    const scanned = page === "docs/guides/moderation.md";
    const settings = scanned ? { PARLEY_SCAN: (await testScanner(t)).url, PARLEY_MAX_FILE_SIZE: "1MiB" } : {};
    let outputs: string[] = [];
    const byShell = await requestsDuring(t, settings, async (reader) => {
      outputs = await runShell(shell, reader, folder);
    });
    const compared = compareAnswers(blocks, shell, outputs);
    const byClient = await requestsDuring(t, settings, (reader) => runTypeScript(blocks, reader, folder));
    assert.ok(byShell.length > 0);
    assert.deepEqual(byClient, byShell);
    t.diagnostic(`${shell.length} blocks run, ${byShell.length} requests, ${compared} answers compared`);
  });
}

for (const [page, printed] of [
  ["add-chat-to-your-app", [/"text":"Your order is packed\."/, /"secret":"whsec_/]],
  ["embed", [/"username":"customer-1".*"display_name":"Ada Lovelace"/]],
  ["sign-in", [/"username":"42".*"display_name":"Ada Lovelace"/, /"subject":"auth0\|42"/]],
] as const) {
  test(`every curl of docs/guides/${page}.md runs`, { skip: noCurl }, async (t) => {
    const command = await commandLine(t, { ...SETTINGS, PARLEY_JWT_SECRET: "s".repeat(32) });
    const token = tokenOf(await command.serve());
    const [setUp] = (await blocksOf(OVERVIEW)).filter(({ language }) => language === "sh");
    const own = (await blocksOf(`docs/guides/${page}.md`)).filter(({ language }) => language === "sh");
    // Nothing listens there.
    const shell = [setUp!, ...own].map(({ language, text }) => ({
      language,
      text: text.replace("https://push.shop.example/", "http://127.0.0.1:9/"),
    }));
    const outputs = await runShell(shell, { command, token }, await readersFolder(t));
    for (const [i, pattern] of printed.entries()) assert.match(outputs.at(i - printed.length)!, pattern);
  });
}

test("the TypeScript of docs/api and these guides is well typed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-docs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const [setUp] = (await blocksOf(OVERVIEW)).filter(({ language }) => language === "ts");
  const files = [];
  for (const page of PAIRED) {
    const own = await blocksOf(page);
    files.push(page.replaceAll("/", "-").replace(".md", ".ts"));
    await writeFile(join(folder, files.at(-1)!), moduleOf(page === OVERVIEW ? own : [setUp!, ...own]));
  }
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const root = fileURLToPath(ROOT);
  const settings = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--allowImportingTsExtensions",
    "--skipLibCheck",
  ];
  const platform = ["--module", "nodenext", "--target", "esnext", "--lib", "esnext", "--types", "node"];
  const types = ["--typeRoots", join(root, "node_modules/@types")];
  const tsc = join(root, "node_modules/.bin/tsc");
  const { stdout } = await promisify(execFile)(tsc, [...settings, ...platform, ...types, ...files], {
    cwd: folder,
  }).catch((error) => error);
  assert.equal(stdout, "");
});
