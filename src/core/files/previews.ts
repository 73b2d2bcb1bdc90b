import type { AttachmentRow } from "../../db/queries/attachments.ts";
import { ParleyError } from "../../errors.ts";
import type { PreviewCache } from "../../previews/cache.ts";
import type { PreviewMaker } from "../../previews/maker.ts";

/** The widths of previews, in pixels. */
export const PREVIEW_WIDTHS = [320, 640, 1280];
/** The types that are decoded. */
const PICTURES = ["image/jpeg", "image/png", "image/apng", "image/webp", "image/gif"];
/** How many pictures may wait until their first preview is made. Others get it when it is requested. */
const MAX_TO_PREPARE = 100;

export interface PreviewParts {
  cache: PreviewCache;
  maker: PreviewMaker;
  /** Opens all bytes of a file. */
  open: (row: AttachmentRow) => Promise<Uint8Array | AsyncIterable<Uint8Array>>;
  /** Stores the placeholder of a picture that has none. */
  storePlaceholder: (placeholder: { id: string; placeholder: string }) => Promise<void>;
  /** Told of what fails without failing a request. */
  onFailure: (error: unknown) => void;
}

/** The previews of this node: made when they are first needed, and then kept. */
export class Previews {
  readonly cache: PreviewCache;
  readonly #parts: PreviewParts;
  /** By attachment and width. */
  readonly #underWay = new Map<string, Promise<Uint8Array | null>>();
  #toPrepare: AttachmentRow[] = [];
  #preparing: Promise<void> | undefined;

  constructor(parts: PreviewParts) {
    this.cache = parts.cache;
    this.#parts = parts;
  }

  /** Returns a preview as WebP; null if none can be made of the file. Throws `unavailable`, and what reading the file throws. */
  async get(row: AttachmentRow, width: number): Promise<Uint8Array | null> {
    if (!PICTURES.includes(row.file_type)) return null;
    const kept = await this.cache.find(row.id, width);
    if (kept) return kept.length > 0 ? kept : null;
    const key = `${row.id}-${width}`;
    let making = this.#underWay.get(key);
    if (!making) {
      making = this.#make(row, width).finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, making);
    }
    return making;
  }

  /** Makes the smallest preview of a new file in the background, and with it the placeholder, unless too many others wait. */
  prepare(row: AttachmentRow): void {
    if (!PICTURES.includes(row.file_type) || this.#toPrepare.length >= MAX_TO_PREPARE) return;
    this.#toPrepare.push(row);
    this.#preparing ??= this.#prepareAll();
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#toPrepare = [];
    await this.#parts.maker.close();
    await this.#preparing;
    await Promise.allSettled(this.#underWay.values());
  }

  async #prepareAll(): Promise<void> {
    for (let row = this.#toPrepare.shift(); row; row = this.#toPrepare.shift()) {
      try {
        await this.get(row, PREVIEW_WIDTHS[0]!);
      } catch (error) {
        // Unavailable: it is made when it is requested.
        if (!(error instanceof ParleyError)) this.#parts.onFailure(error);
      }
    }
    this.#preparing = undefined;
  }

  async #make(row: AttachmentRow, width: number): Promise<Uint8Array | null> {
    const { maker, open, storePlaceholder, onFailure } = this.#parts;
    const made = await maker.make(() => open(row), row.file_size, width);
    // A preview that cannot be kept is shown all the same.
    await this.cache.store(row.id, width, made?.webp ?? new Uint8Array(0)).catch(onFailure);
    if (!made) return null;
    await storePlaceholder({ id: row.id, placeholder: made.placeholder }).catch(onFailure);
    return made.webp;
  }
}
