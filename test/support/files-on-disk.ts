import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../src/config/settings.ts";

/** Returns the paths of all files in `blobs/` and `tmp/` of a data folder, which are all files of the store. */
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

/** Waits until a condition holds. Returns false after a minute, which is long enough for a busy machine. */
export async function eventually(condition: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
