import { existsSync, readdirSync, readFileSync } from "node:fs";

/** The root of the checkout, or of the package, which has its code in one folder of the root, too. */
const ROOT = new URL("../", import.meta.url);

/** Returns the address of a file that Parley brings. The path starts at the root. */
export function assetUrl(path: string): URL {
  return new URL(path, ROOT);
}

export function hasAsset(path: string): boolean {
  return existsSync(assetUrl(path));
}

export function readAsset(path: string): Buffer {
  return readFileSync(assetUrl(path));
}

/** Returns the paths of all files in a folder, relative to it. */
export function listAssets(folder: string): string[] {
  return readdirSync(assetUrl(folder), { recursive: true, encoding: "utf8" });
}
