// Examples as a developer starts them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { openBrowser } from "../support/engines/chromium.ts";

const ROOT = join(import.meta.dirname, "../..");
const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));

/** Starts an example by its command, which is stopped after the test. Returns the rest of each line that begins with one of these names. */
export async function startExample(
  t: TestContext,
  name: string,
  names: readonly string[],
): Promise<string[]> {
  const child = spawn("npm", ["run", "--silent", `example:${name}`], { cwd: ROOT, detached: true });
  const closed = once(child, "close");
  t.after(() => {
    process.kill(-child.pid!, "SIGTERM");
    return closed;
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const find = (each: string) => new RegExp(`^${each}: (.+)\n`, "m").exec(output)?.[1];
  while (!names.every(find)) {
    if (child.exitCode !== null) assert.fail(output);
    await Promise.race([once(child.stdout, "data"), closed]);
  }
  return names.map((each) => find(each)!);
}

/** Opens a page in a separate browser session. `errors` gets what the page reports. */
export async function openPage(t: TestContext, url: string, errors: string[] = []): Promise<Page> {
  const page = await (await (await openBrowser(t)).newContext()).newPage();
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("Failed to load")) errors.push(message.text());
  });
  await page.goto(url);
  return page;
}

/** Asserts that axe-core finds no problem on the page. */
export async function checkAccessibility(page: Page): Promise<void> {
  await page.addScriptTag({ path: AXE });
  const found = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].html))`;
  assert.deepEqual(await page.evaluate(found), []);
}
