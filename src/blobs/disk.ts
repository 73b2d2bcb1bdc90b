import { constants, type Dirent, mkdirSync } from "node:fs";
import { type FileHandle, link, open, readdir, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ParleyError } from "../errors.ts";
import { syncFolder } from "../util/durable.ts";
import type { Fuse } from "../util/fuse.ts";
import {
  type BlobReader,
  type BlobStore,
  type BlobWriter,
  type Grown,
  isKey,
  requireKey,
  type StoredItem,
} from "./store.ts";

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
/** A reader or writer of a file reuses one buffer of this size: it stays in the CPU cache and makes no garbage. */
const BUFFER_BYTES = 256 * 1024;

/** Opens the store in a folder. Creates and syncs `tmp/` and `blobs/00` to `blobs/ff`. */
export async function openDiskStore(folder: string, fuse: Fuse): Promise<BlobStore> {
  makeStoreFolders(folder);
  await syncFolder(join(folder, "blobs"));
  await syncFolder(folder);
  return new DiskStore(folder, fuse);
}

/** Reads the store in a folder, which may not exist. Creates and changes nothing. */
export function readDiskStore(folder: string): BlobReader {
  return new DiskReader(folder);
}

/** Creates the folders of a store; `syncStoreFolders` makes their entries durable. */
export function makeStoreFolders(folder: string): void {
  mkdirSync(join(folder, "tmp"), { recursive: true, mode: FOLDER_MODE });
  for (const name of shards()) mkdirSync(join(folder, "blobs", name), { recursive: true, mode: FOLDER_MODE });
}

/** Makes the entries of a store's folders durable, also those that another process created. */
export async function syncStoreFolders(folder: string): Promise<void> {
  for (const name of shards()) await syncFolder(join(folder, "blobs", name));
  await syncFolder(join(folder, "blobs"));
  await syncFolder(folder);
}

/** Returns the path of a blob within the folder of its store. Throws if the key is malformed. */
export function blobPath(folder: string, key: string): string {
  return join(folder, "blobs", requireKey(key).slice(0, 2), key);
}

function shards(): string[] {
  return Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
}

class DiskReader implements BlobReader {
  readonly intents: BlobReader["intents"] = { list: () => this.listIntents() };
  protected readonly temporary: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.temporary = join(folder, "tmp");
  }

  async read(key: string, start: number, end: number): Promise<AsyncIterable<Uint8Array>> {
    const file = await open(this.path(key), constants.O_RDONLY).catch((error) => {
      throw diskError(error);
    });
    // Refuse a truncated file: the response would announce the length in its row.
    try {
      const { size } = await file.stat();
      if (size <= end) throw new Error(`The blob ${key} has ${size} bytes, and its row says more.`);
    } catch (error) {
      await file.close();
      throw error;
    }
    return chunksOf(file, start, end);
  }

  async size(key: string): Promise<number | undefined> {
    try {
      return (await stat(this.path(key))).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  async *list(): AsyncGenerator<StoredItem[]> {
    const blobs = join(this.#folder, "blobs");
    for (const shard of await entriesOf(blobs)) {
      if (!shard.isDirectory()) {
        yield [{ name: join("blobs", shard.name), key: null }];
        continue;
      }
      const files = await entriesOf(join(blobs, shard.name));
      // List intents after the files: an intent is removed only once the row is committed or the file is gone.
      const intents = new Set(await this.listIntents());
      yield files
        .filter((file) => !intents.has(file.name))
        .map((file) => ({
          name: join("blobs", shard.name, file.name),
          key: isBlob(shard.name, file) ? file.name : null,
        }));
    }
  }

  protected async listIntents(): Promise<string[]> {
    return (await entriesOf(this.temporary)).map((entry) => entry.name).filter(isKey);
  }

  protected path(key: string): string {
    return blobPath(this.#folder, key);
  }
}

async function* chunksOf(file: FileHandle, start: number, end: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(BUFFER_BYTES, end - start + 1));
  try {
    for (let at = start; at <= end; ) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at + 1), at);
      if (bytesRead === 0) throw new Error("The file was cut short while it was read.");
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

function isBlob(shard: string, file: Dirent): boolean {
  return file.isFile() && isKey(file.name) && file.name.slice(0, 2) === shard;
}

class DiskStore extends DiskReader implements BlobStore {
  /** A separate file costs two more syncs than a row, which shares its commit with others. */
  readonly minFileBytes = 32 * 1024;
  override readonly intents: BlobStore["intents"] = {
    list: () => this.listIntents(),
    sweep: (...how) => this.#sweep(...how),
  };
  readonly #fuse: Fuse;
  /** Keys of the writers that are active in this process. The sweep skips them. */
  readonly #writing = new Set<string>();

  constructor(folder: string, fuse: Fuse) {
    super(folder);
    this.#fuse = fuse;
  }

  create(key: string): Promise<BlobWriter> {
    this.#writing.add(key);
    return this.#open(key, 0, join(this.temporary, key));
  }

  resume(key: string, { size }: Grown): Promise<BlobWriter> {
    return this.#open(key, size, null);
  }

  async #open(key: string, size: number, intent: string | null): Promise<BlobWriter> {
    try {
      this.#fuse.check();
      const path = this.path(key);
      const file = await open(intent ?? path, size === 0 ? NEW : constants.O_WRONLY, FILE_MODE);
      const onSettled = () => void this.#writing.delete(key);
      const writer = new DiskWriter(key, file, { path, intent, size, fuse: this.#fuse, onSettled });
      if (size > 0 && (await file.stat()).size < size) {
        await writer.close();
        throw new Error(`The blob ${key} was cut short.`);
      }
      return writer;
    } catch (error) {
      if (intent !== null) this.#writing.delete(key);
      throw diskError(error);
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.path(key);
    await unlinkIfThere(path);
    await syncOrBlow(this.#fuse, () => syncFolder(dirname(path)));
  }

  async #sweep(
    isLive: (key: string) => Promise<boolean>,
    onError: (error: unknown) => void,
    isStopped: () => boolean,
  ): Promise<number> {
    let erased = 0;
    for (const key of await readdir(this.temporary)) {
      if (isStopped()) break;
      if (!isKey(key) || this.#writing.has(key)) continue;
      try {
        if (!(await isLive(key))) {
          await this.remove(key);
          erased++;
        }
        await unlinkIfThere(join(this.temporary, key));
      } catch (error) {
        onError(error);
      }
    }
    return erased;
  }
}

interface DiskBlob {
  path: string;
  /** The path in `tmp/`; null for a blob that grows at its final path. */
  intent: string | null;
  /** Bytes that were synced before. */
  size: number;
  fuse: Fuse;
  onSettled: () => void;
}

/**
 * Writes a blob to a file. Its entry in `tmp/` is the intent: the file is linked to its final path, not renamed, and the entry is
 * removed only after the row is committed. A blob that grows has its final path from the start: nothing reads it before
 * its row is committed.
 */
class DiskWriter implements BlobWriter {
  readonly key: string;
  readonly isUnsure = false;
  readonly parts = null;
  readonly partsBefore = null;
  size: number;
  readonly #file: FileHandle;
  readonly #blob: DiskBlob;
  readonly #buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #buffered = 0;
  /** Whether the directory entry of the final path is durable. */
  #isPlaced: boolean;
  #isClosed = false;

  constructor(key: string, file: FileHandle, blob: DiskBlob) {
    this.key = key;
    this.#file = file;
    this.#blob = blob;
    this.size = blob.size;
    this.#isPlaced = blob.size > 0;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + BUFFER_BYTES - this.#buffered);
      this.#buffer.set(part, this.#buffered);
      this.#buffered += part.length;
      this.size += part.length;
      at += part.length;
      if (this.#buffered === BUFFER_BYTES) await this.#flush();
    }
  }

  async #flush(): Promise<void> {
    const start = this.size - this.#buffered;
    try {
      // A short write is not an error.
      for (let at = 0; at < this.#buffered; ) {
        at += (await this.#file.write(this.#buffer, at, this.#buffered - at, start + at)).bytesWritten;
      }
      this.#buffered = 0;
    } catch (error) {
      throw diskError(error);
    }
  }

  async sync(): Promise<number> {
    await this.#flush();
    const { path, intent, fuse } = this.#blob;
    try {
      await syncOrBlow(fuse, () => this.#file.datasync());
      if (!this.#isPlaced) {
        if (intent !== null) await link(intent, path);
        await syncOrBlow(fuse, () => syncFolder(dirname(path)));
        this.#isPlaced = true;
      }
    } catch (error) {
      throw diskError(error);
    }
    return this.size;
  }

  rest(): Uint8Array {
    return new Uint8Array(0);
  }

  /** Also truncates the file: a crash may have left bytes after the last synced one. */
  async store(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#blob.size > 0) await this.#file.truncate(this.size - this.#buffered);
    await this.sync();
    await this.close();
  }

  async settle(): Promise<void> {
    const { intent, onSettled } = this.#blob;
    try {
      if (intent !== null) await unlinkIfThere(intent);
    } finally {
      onSettled();
    }
  }

  async discard(): Promise<void> {
    await this.close().catch(() => {});
    await unlinkIfThere(this.#blob.path);
    await this.settle();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#file.close();
  }
}

/** A failed sync is final: the kernel may have dropped the pages, and a second sync would not report it. */
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
  // Out of file descriptors, which is temporary.
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

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
