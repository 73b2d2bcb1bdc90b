// Loaded only where a path is given: no browser has these.
import { createReadStream } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { chunksOf } from "./streams.ts";
import { randomKey } from "./transport.ts";

/** A file to upload, as large as it is now. */
export async function fileAt(path: string) {
  const { size } = await stat(path);
  // A file that grows meanwhile is sent as far as was announced.
  const chunks = (): AsyncIterable<Uint8Array> => createReadStream(path, { end: Math.max(0, size - 1) });
  return { filename: basename(path), size, chunks };
}

/** Writes to a file, which has its name only when it is whole. One that is there is replaced. */
export async function saveStream(path: string, stream: ReadableStream<Uint8Array>): Promise<void> {
  const partial = `${path}.${randomKey()}.part`;
  try {
    const file = await open(partial, "wx");
    try {
      for await (const chunk of chunksOf(stream)) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
  } catch (error) {
    await stream.cancel().catch(() => {});
    await rm(partial, { force: true });
    throw error;
  }
}
