import { open, opendir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../errors.ts";
import type { Clock } from "../util/clock.ts";
import { makeFolder } from "../util/data-folder.ts";

/** Names of preview files: attachment or picture of a user, and width, plus a suffix while the file is written. */
const NAME = /^(a[tv]t_[0-9a-z]{26})-\d+\.webp$/;
const TEMPORARY = /^a[tv]t_[0-9a-z]{26}-\d+\.webp\.new$/;
/** Disks allocate whole blocks. An empty file still takes a directory entry. */
const BLOCK_BYTES = 4096;
/** How often to update the time of last use of a file that is read. */
const TOUCH_MS = 60 * 60 * 1000;
/** Files examined at once. */
const BATCH = 100;

interface Entry {
  /** What the file counts towards the limit. */
  bytes: number;
  /** When it was last marked as used, in milliseconds. */
  usedAt: number;
}

/**
 * Caches previews in a folder of limited size; evicts the least recently used. An empty file means that no preview
 * can be made. The whole cache may be lost at any time.
 */
export class PreviewCache {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  /** By name, the least recently used first. */
  readonly #entries: Map<string, Entry>;
  #bytes = 0;
  readonly #writing = new Set<string>();

  private constructor(
    { folder, maxBytes }: { folder: string; maxBytes: number },
    clock: Clock,
    entries: Map<string, Entry>,
  ) {
    this.#folder = folder;
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#entries = entries;
    for (const { bytes } of entries.values()) this.#bytes += bytes;
  }

  /** Opens the cache of a folder, and creates the folder if it is missing. Throws `OperatorError`. */
  static async open(settings: { folder: string; maxBytes: number }, clock: Clock): Promise<PreviewCache> {
    try {
      makeFolder(settings.folder);
      return new PreviewCache(settings, clock, await readEntries(settings.folder));
    } catch (error) {
      throw new OperatorError(
        `PARLEY_PREVIEWS=${settings.folder} cannot be used: ${(error as Error).message}.`,
        {
          cause: error,
        },
      );
    }
  }

  /** Returns a preview; an empty one if none can be made, undefined if the cache has neither. */
  async find(id: string, width: number): Promise<Uint8Array | undefined> {
    const name = toName(id, width);
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const path = join(this.#folder, name);
    try {
      const now = this.#clock();
      if (now - entry.usedAt >= TOUCH_MS) {
        entry.usedAt = now;
        await utimes(path, now / 1000, now / 1000);
      }
      return await readFile(path);
    } catch {
      // Gone or unreadable: it can be made again.
      this.#forget(name);
      return undefined;
    }
  }

  /** Stores a preview. After a crash, a file with its final name is complete. */
  async store(id: string, width: number, bytes: Uint8Array): Promise<void> {
    const name = toName(id, width);
    const path = join(this.#folder, name);
    const temporary = `${path}.new`;
    this.#writing.add(name);
    try {
      const file = await open(temporary, "w", 0o600);
      try {
        await file.writeFile(bytes);
        // Without a sync, a power cut could leave an empty file, which would mean that no preview can be made.
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    } finally {
      this.#writing.delete(name);
    }
    this.#forget(name);
    this.#entries.set(name, { bytes: cost(bytes.length), usedAt: this.#clock() });
    this.#bytes += cost(bytes.length);
    await this.#makeRoom();
  }

  /** The ids of the files that have previews in the cache. */
  files(): Set<string> {
    return new Set([...this.#entries.keys()].map((name) => NAME.exec(name)![1]!));
  }

  /** Removes the previews of these files. */
  async remove(ids: ReadonlySet<string>): Promise<void> {
    for (const name of [...this.#entries.keys()]) {
      if (ids.has(NAME.exec(name)![1]!)) await this.#erase(name);
    }
  }

  /** Removes unknown files with names of this cache: leftovers of a crash or of another process. */
  async removeLeftovers(): Promise<void> {
    for await (const { name } of await opendir(this.#folder)) {
      const isOwn = NAME.test(name) || TEMPORARY.test(name);
      if (!isOwn || this.#entries.has(name) || this.#writing.has(name.replace(/\.new$/, ""))) continue;
      await rm(join(this.#folder, name), { force: true });
    }
  }

  async #makeRoom(): Promise<void> {
    while (this.#bytes > this.#maxBytes) await this.#erase(this.#entries.keys().next().value!);
  }

  async #erase(name: string): Promise<void> {
    this.#forget(name);
    await rm(join(this.#folder, name), { force: true });
  }

  #forget(name: string): void {
    this.#bytes -= this.#entries.get(name)?.bytes ?? 0;
    this.#entries.delete(name);
  }
}

function toName(id: string, width: number): string {
  return `${id}-${width}.webp`;
}

function cost(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BLOCK_BYTES)) * BLOCK_BYTES;
}

/** Returns the files of a folder that have names of this cache, the least recently used first. */
async function readEntries(folder: string): Promise<Map<string, Entry>> {
  const found: [string, Entry][] = [];
  let batch: string[] = [];
  const add = async () => {
    // The operator or another process may be removing files right now.
    const files = await Promise.all(batch.map((name) => stat(join(folder, name)).catch(() => null)));
    for (const [i, file] of files.entries())
      if (file) found.push([batch[i]!, { bytes: cost(file.size), usedAt: file.mtimeMs }]);
    batch = [];
  };
  for await (const { name } of await opendir(folder)) {
    if (NAME.test(name) && batch.push(name) === BATCH) await add();
  }
  await add();
  return new Map(found.sort(([, one], [, other]) => one.usedAt - other.usedAt));
}
