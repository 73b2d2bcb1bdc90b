import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { commandLine } from "./command.ts";
import { eventually } from "./files-on-disk.ts";

/** The server under attack. */
export interface Attacked {
  url: string;
  /** With the valid token of a user. */
  headers: { authorization: string };
  /** Its data folder. */
  folder: string;
}

/** Asserts that a valid request is answered. */
export async function answers({ url, headers }: Attacked): Promise<void> {
  const response = await fetch(`${url}/v1/me`, { headers });
  assert.equal(response.status, 200);
  await response.arrayBuffer();
}

/**
 * Asserts that the server answers, no temporary file is left, and `parley check` finds no problem of rows and files.
 */
export async function isSound(t: TestContext, attacked: Attacked): Promise<void> {
  await answers(attacked);
  const isTidy = async () => (await readdir(join(attacked.folder, "tmp"))).length === 0;
  assert.ok(await eventually(isTidy), "files are left in tmp/");
  const command = await commandLine(t, { PARLEY_DATA: attacked.folder });
  let said = "";
  const isClean = async () => {
    const { code, stdout } = await command.run("check", "--json");
    said = stdout;
    return code === 0 && /"tombstones":0,"intents":0/.test(stdout);
  };
  assert.ok(await eventually(isClean), said);
}
