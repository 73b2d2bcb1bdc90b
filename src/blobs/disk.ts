import { constants, mkdirSync } from "node:fs";
import { type FileHandle, link, open, readdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { ParleyError } from "../errors.ts";
import { syncFolder } from "../util/durable.ts";
import type { Fuse } from "../util/fuse.ts";
import type { Random } from "../util/ids.ts";
import type { BlobStore, BlobWriter } from "./store.ts";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const READ_CHUNK_BYTES = 256 * 1024;
const KEY = /^[0-9a-f]{32}$/;

/** Opens the store in a folder, where it makes `tmp/` and `blobs/00` to `blobs/ff` and syncs them. */
export async function openDiskStore(folder: string, random: Random, fuse: Fuse): Promise<BlobStore> {
  const blobs = join(folder, "blobs");
  const temporary = join(folder, "tmp");
  mkdirSync(temporary, { recursive: true, mode: FOLDER_MODE });
  for (let i = 0; i < 256; i++) {
    mkdirSync(join(blobs, i.toString(16).padStart(2, "0")), { recursive: true, mode: FOLDER_MODE });
  }
  await syncFolder(blobs);
  await syncFolder(folder);
  return new DiskStore(blobs, temporary, random, fuse);
}

class DiskStore implements BlobStore {
  readonly #blobs: string;
  readonly #temporary: string;
  readonly #random: Random;
  readonly #fuse: Fuse;
  /** Keys of the writers at work in this process, which the sweep leaves alone. */
  readonly #writing = new Set<string>();

  constructor(blobs: string, temporary: string, random: Random, fuse: Fuse) {
    this.#blobs = blobs;
    this.#temporary = temporary;
    this.#random = random;
    this.#fuse = fuse;
  }

  async create(): Promise<BlobWriter> {
    this.#fuse.check();
    const bytes = new Uint8Array(16);
    this.#random(bytes);
    const key = Buffer.from(bytes).toString("hex");
    this.#writing.add(key);
    try {
      const file = await open(join(this.#temporary, key), "wx", FILE_MODE);
      const done = () => void this.#writing.delete(key);
      return new DiskWriter(key, file, join(this.#temporary, key), this.#path(key), done, this.#fuse);
    } catch (error) {
      this.#writing.delete(key);
      throw diskError(error);
    }
  }

  async read(key: string, start: number, end: number): Promise<Readable> {
    const file = await open(this.#path(key), constants.O_RDONLY).catch((error) => {
      throw diskError(error);
    });
    // A file that was cut short must not be sent under the length of the whole.
    try {
      const { size } = await file.stat();
      if (size <= end) throw new Error(`The blob ${key} has ${size} bytes, and its row says more.`);
    } catch (error) {
      await file.close();
      throw error;
    }
    return file.createReadStream({ start, end, highWaterMark: READ_CHUNK_BYTES });
  }

  async remove(key: string): Promise<void> {
    const path = this.#path(key);
    await unlinkIfThere(path);
    await syncOrBlow(this.#fuse, () => syncFolder(dirname(path)));
  }

  async sweep(
    isLive: (key: string) => Promise<boolean>,
    onError: (error: unknown) => void,
    isStopped: () => boolean,
  ): Promise<number> {
    let erased = 0;
    for (const key of await readdir(this.#temporary)) {
      if (isStopped()) break;
      if (!KEY.test(key) || this.#writing.has(key)) continue;
      try {
        if (!(await isLive(key))) {
          await this.remove(key);
          erased++;
        }
        await unlinkIfThere(join(this.#temporary, key));
      } catch (error) {
        onError(error);
      }
    }
    return erased;
  }

  #path(key: string): string {
    if (!KEY.test(key)) throw new Error("Not a key of this store.");
    return join(this.#blobs, key.slice(0, 2), key);
  }
}

/**
 * The entry in `tmp/` is the intent: the bytes are linked to their place, not renamed, and the entry goes only
 * after the row is committed.
 */
class DiskWriter implements BlobWriter {
  readonly key: string;
  readonly #file: FileHandle;
  readonly #temporary: string;
  readonly #final: string;
  readonly #done: () => void;
  readonly #fuse: Fuse;
  #closed = false;

  constructor(key: string, file: FileHandle, temporary: string, final: string, done: () => void, fuse: Fuse) {
    this.key = key;
    this.#file = file;
    this.#temporary = temporary;
    this.#final = final;
    this.#done = done;
    this.#fuse = fuse;
  }

  async write(chunk: Uint8Array): Promise<void> {
    try {
      // A write may be short, which is no error yet.
      for (let at = 0; at < chunk.length; ) at += (await this.#file.write(chunk, at)).bytesWritten;
    } catch (error) {
      throw diskError(error);
    }
  }

  async store(): Promise<void> {
    try {
      await syncOrBlow(this.#fuse, () => this.#file.sync());
      await this.#close();
      await link(this.#temporary, this.#final);
      await syncOrBlow(this.#fuse, () => syncFolder(dirname(this.#final)));
    } catch (error) {
      throw diskError(error);
    }
  }

  async settle(): Promise<void> {
    try {
      await unlinkIfThere(this.#temporary);
    } finally {
      this.#done();
    }
  }

  async discard(): Promise<void> {
    await this.#close().catch(() => {});
    await unlinkIfThere(this.#final);
    await this.settle();
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }
}

/** An error of a sync is final: the kernel may have dropped the pages, and a second sync would not tell. */
async function syncOrBlow(fuse: Fuse, sync: () => Promise<void>): Promise<void> {
  try {
    await sync();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EIO") fuse.blow(error);
    throw error;
  }
}

function diskError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  if (["ENOSPC", "EDQUOT"].includes(code)) return new ParleyError("disk_full", undefined, { cause: error });
  // No descriptor is free: that passes.
  if (["EMFILE", "ENFILE"].includes(code)) return new ParleyError("unavailable", undefined, { cause: error });
  return error;
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
