import type { ServedFile } from "../../db/queries/storage/files.ts";
import { ParleyError } from "../../errors.ts";
import type { PreviewCache } from "../../previews/cache.ts";
import type { NewPicture, PreviewMakers } from "../../previews/makers.ts";
import { FairQueue, type Shares } from "../../util/fair-queue.ts";

/** The widths of previews, in pixels. */
export const PREVIEW_WIDTHS = [320, 640, 1280];
/** The types that are decoded. */
const PICTURES = ["image/jpeg", "image/png", "image/apng", "image/webp", "image/gif"];
/** How many pictures may wait for their first preview. For others it is made on request. */
const TO_PREPARE: Shares = { each: 100, all: 1000 };
/** In the cache, this width marks a picture without previews, because another try would take as long again. */
const ANY_WIDTH = 0;

export interface PreviewParts {
  cache: PreviewCache;
  makers: PreviewMakers;
  /** Returns the size of a picture; null if it is not known. */
  findShape: (id: string) => Promise<NewPicture["shape"]>;
  /** Opens all bytes of a file. */
  open: (row: ServedFile) => Promise<Uint8Array | AsyncIterable<Uint8Array>>;
  /** Stores the placeholder of a picture that has none. */
  storePlaceholder: (placeholder: { id: string; placeholder: string }) => Promise<void>;
  /** Called with errors that do not fail a request. */
  onFailure: (error: unknown) => void;
}

/** Makes previews when they are first needed, and keeps them in this node's cache. */
export class Previews {
  readonly cache: PreviewCache;
  readonly #parts: PreviewParts;
  /** The previews being made, by file and width. */
  readonly #making = new Map<string, Promise<Uint8Array | null>>();
  readonly #toPrepare = new FairQueue<ServedFile>(TO_PREPARE);
  #preparing: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: PreviewParts) {
    this.cache = parts.cache;
    this.#parts = parts;
  }

  /** Returns a preview as WebP; null if the file cannot have one. Throws `unavailable`, and what reading the file throws. */
  get(row: ServedFile, width: number): Promise<Uint8Array | null> {
    return this.#get(row, width, true);
  }

  /** Makes the smallest preview and the placeholder of a new file in the background, unless too many others wait. */
  prepare(row: ServedFile): void {
    if (!PICTURES.includes(row.file_type) || this.#isClosed) return;
    if (this.#toPrepare.add(row, row.uploader_id, 1)) this.#preparing ??= this.#prepareAll();
  }

  /** Ends the running work. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#parts.makers.close();
    await this.#preparing;
    await Promise.allSettled(this.#making.values());
  }

  async #get(row: ServedFile, width: number, isUrgent: boolean): Promise<Uint8Array | null> {
    if (!PICTURES.includes(row.file_type)) return null;
    const kept = (await this.cache.find(row.id, width)) ?? (await this.cache.find(row.id, ANY_WIDTH));
    if (kept) return kept.length > 0 ? kept : null;
    const key = `${row.id}-${width}`;
    let making = this.#making.get(key);
    if (!making) {
      making = this.#make(row, width, isUrgent).finally(() => this.#making.delete(key));
      this.#making.set(key, making);
    }
    return making;
  }

  async #prepareAll(): Promise<void> {
    for (let row = this.#toPrepare.take(); row && !this.#isClosed; row = this.#toPrepare.take()) {
      try {
        // Wait before the preview is registered: a request for the same preview must not wait, too.
        await this.#parts.makers.quiet;
        await this.#get(row, PREVIEW_WIDTHS[0]!, false);
      } catch (error) {
        // If it is unavailable now, it is made on request.
        if (!(error instanceof ParleyError)) this.#parts.onFailure(error);
      }
    }
    this.#preparing = undefined;
  }

  async #make(row: ServedFile, width: number, isUrgent: boolean): Promise<Uint8Array | null> {
    const { makers, findShape, open, storePlaceholder, onFailure } = this.#parts;
    const shape = await findShape(row.id);
    const picture = { read: () => open(row), size: row.file_size, uploaderId: row.uploader_id, shape };
    const made = await makers.make(picture, width, isUrgent);
    if (!made) {
      await this.cache.store(row.id, ANY_WIDTH, new Uint8Array(0)).catch(onFailure);
      return null;
    }
    // A preview that cannot be cached is still returned.
    await this.cache.store(row.id, width, made.webp).catch(onFailure);
    await storePlaceholder({ id: row.id, placeholder: made.placeholder }).catch(onFailure);
    return made.webp;
  }
}
