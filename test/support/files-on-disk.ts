import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../src/config/settings.ts";

/** Paths of all files below `blobs/` and `tmp/` of a data folder: what the store holds. */
export async function storedFiles(config: Pick<Config, "dataFolder">): Promise<string[]> {
  const found: string[] = [];
  for (const folder of ["blobs", "tmp"]) {
    const path = join(config.dataFolder, folder);
    for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) found.push(join(entry.parentPath, entry.name));
    }
  }
  return found.sort();
}

/** Waits, for at most five seconds, until a condition holds; false where it never did. */
export async function eventually(condition: () => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < 200; i++) {
    if (await condition()) return true;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return false;
}
