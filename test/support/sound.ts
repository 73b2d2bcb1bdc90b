import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { commandLine } from "./command.ts";
import { eventually } from "./files-on-disk.ts";

/** A server that was attacked. */
export interface Attacked {
  url: string;
  /** Of a user, whose token is valid. */
  headers: { authorization: string };
  /** Its data folder. */
  folder: string;
}

/** An honest request is answered. */
export async function answers({ url, headers }: Attacked): Promise<void> {
  const response = await fetch(`${url}/v1/me`, { headers });
  assert.equal(response.status, 200);
  await response.arrayBuffer();
}

/** The server answers, nothing temporary is left, and `parley check` has nothing to say of rows and files. */
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
