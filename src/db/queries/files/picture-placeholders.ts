import { list, padded, type Reader, sql } from "../../sql.ts";
import { run, type Write } from "../../write.ts";

/** The picture data of an attachment. */
export interface PictureRow {
  id: string;
  /** Pixels, as is `height`. */
  width: number;
  height: number;
  /** A ThumbHash in base64; null until the first preview is made. */
  placeholder: string | null;
}

/** Returns those of the attachments that are pictures, by their ids. */
export async function findPictures(db: Reader, ids: readonly string[]): Promise<Map<string, PictureRow>> {
  if (ids.length === 0) return new Map();
  const rows = await db.all(
    sql<PictureRow>`SELECT id, width, height, placeholder FROM attachments
      WHERE id IN (${list(padded(ids))}) AND width IS NOT NULL`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns the ids that belong to existing attachments. */
export async function existingAttachments(db: Reader, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.all(
    sql<{ id: string }>`SELECT id FROM attachments WHERE id IN (${list(padded(ids))})`,
  );
  return new Set(rows.map(({ id }) => id));
}

interface Placeholder {
  id: string;
  /** A ThumbHash in base64. */
  placeholder: string;
}

/** Sets the placeholder of a picture that has none. This does not change the resource, so the version stays. */
function* setPlaceholder({ id, placeholder }: Placeholder): Write<void> {
  yield* run(
    sql`UPDATE attachments SET placeholder = ${placeholder} WHERE id = ${id} AND placeholder IS NULL`,
  );
}

export const placeholderWrites = { setPlaceholder };
