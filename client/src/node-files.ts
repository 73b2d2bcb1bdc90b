// Loaded only where a path is given: no browser has these.
import { createReadStream } from "node:fs";
import { constants, copyFile, link, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { chunksOf } from "./streams.ts";
import { randomKey } from "./transport.ts";

/** A file to upload, as large as it is now. */
export async function fileAt(path: string) {
  const { size } = await stat(path);
  // A file that grows meanwhile is sent as far as was announced.
  const chunks = (): AsyncIterable<Uint8Array> => createReadStream(path, { end: Math.max(0, size - 1) });
  return { filename: basename(path), size, chunks };
}

/** Writes to a file, which has its name only when it is whole. Without `overwrite` one that is there stays: EEXIST. */
export async function saveStream(
  path: string,
  stream: ReadableStream<Uint8Array>,
  overwrite: boolean,
): Promise<void> {
  // The longest name that there can be leaves no room for more.
  const partial = join(dirname(path), `.${randomKey()}.part`);
  try {
    const file = await open(partial, "wx");
    try {
      for await (const chunk of chunksOf(stream)) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    if (overwrite) await rename(partial, path);
    else await giveName(partial, path);
  } catch (error) {
    await stream.cancel().catch(() => {});
    throw error;
  } finally {
    // What went wrong before is told, and not that there is nothing to remove.
    await rm(partial).catch(() => {});
  }
}

/** Throws EEXIST where the name is taken, also by what came there this moment. */
async function giveName(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    // Not all file systems have links.
    await copyFile(partial, path, constants.COPYFILE_EXCL);
  }
}
