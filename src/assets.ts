import { existsSync, readdirSync, readFileSync } from "node:fs";
import { getAssetKeys, getRawAsset, isSea } from "node:sea";
import { Worker, type WorkerOptions } from "node:worker_threads";

/** Whether Parley runs as one file, which has all others in it. */
export const isOneFile = isSea();
const packed = isOneFile ? getAssetKeys() : [];
/** The root of the checkout, or of the package, which has its code in one folder of the root, too. */
const ROOT = new URL("../", import.meta.url);

/** Returns the address of a file that Parley brings. The path starts at the root. */
export function assetUrl(path: string): URL {
  return new URL(path, ROOT);
}

export function hasAsset(path: string): boolean {
  return isOneFile ? packed.includes(path) : existsSync(assetUrl(path));
}

export function readAsset(path: string): Buffer {
  return isOneFile ? Buffer.from(getRawAsset(path)) : readFileSync(assetUrl(path));
}

/** Returns the paths of all files in a folder, whose name ends with a slash, relative to it. */
export function listAssets(folder: string): string[] {
  if (isOneFile)
    return packed.filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length));
  return readdirSync(assetUrl(folder), { recursive: true, encoding: "utf8" });
}

/** Starts a thread. In one file it loads its program as the main thread does. */
export function startThread(program: URL, options: WorkerOptions): Worker {
  if (!isOneFile) return new Worker(program, options);
  return new Worker(readAsset("boot.cjs").toString(), { ...options, eval: true, argv: [program.href] });
}
