// Loaded only if a path is given, because browsers have no such modules.
import { createReadStream } from "node:fs";
import { constants, copyFile, link, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { readChunks } from "./streams.ts";
import { randomKey } from "./transport.ts";

/** Opens a file to upload, with its current size. */
export async function fileAt(path: string) {
  const { size } = await stat(path);
  // If the file grows meanwhile, only the announced bytes are sent.
  const chunks = (from = 0): AsyncIterable<Uint8Array> =>
    from > 0 && from === size
      ? emptyStream()
      : createReadStream(path, { start: from, end: Math.max(0, size - 1) });
  return { filename: basename(path), size, chunks };
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}

/** Writes a file that gets its name once it is complete. Without `overwrite` it fails with EEXIST if the name exists. */
export async function saveStream(
  path: string,
  stream: ReadableStream<Uint8Array>,
  overwrite: boolean,
): Promise<void> {
  // Not derived from the name, which may already have the maximum length.
  const partial = join(dirname(path), `.${randomKey()}.part`);
  try {
    const file = await open(partial, "wx");
    try {
      for await (const chunk of readChunks(stream)) await file.writeFile(chunk);
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
    // An earlier error must not be replaced by that of a file that is already gone.
    await rm(partial).catch(() => {});
  }
}

/** Names the file atomically. Throws EEXIST if the name exists. */
async function giveName(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw error;
    // Not all file systems support links.
    await copyFile(partial, path, constants.COPYFILE_EXCL);
  }
}
