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

/** Waits until a condition holds, for a minute, because machines can be busy; false if it did not. */
export async function eventually(condition: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
