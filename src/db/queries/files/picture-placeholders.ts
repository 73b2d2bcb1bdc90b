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

/** Returns the size of a picture in pixels: of an attachment, or of a user. Null if it is not known. */
export async function findShape(db: Reader, id: string): Promise<{ width: number; height: number } | null> {
  const row = await db.get(
    sql<{ width: number; height: number }>`SELECT width, height FROM attachments
      WHERE id = ${id} AND width IS NOT NULL UNION ALL SELECT width, height FROM avatars WHERE id = ${id}`,
  );
  return row ?? null;
}

/** Returns the ids that belong to existing attachments, or to pictures of users. */
export async function existingFiles(db: Reader, ids: readonly string[]): Promise<Set<string>> {
  const these = list(padded(ids));
  const rows = await db.all(
    sql<{ id: string }>`SELECT id FROM attachments WHERE id IN (${these})
      UNION ALL SELECT id FROM avatars WHERE id IN (${these})`,
  );
  return new Set(rows.map(({ id }) => id));
}

interface Placeholder {
  id: string;
  /** A ThumbHash in base64. */
  placeholder: string;
}

/**
 * Sets the placeholder of an attachment that has none; pictures of users have none. This does not change the resource, so the
 * version stays.
 */
function* setPlaceholder({ id, placeholder }: Placeholder): Write<void> {
  yield* run(
    sql`UPDATE attachments SET placeholder = ${placeholder} WHERE id = ${id} AND placeholder IS NULL`,
  );
}

export const placeholderWrites = { setPlaceholder };
