import { list, padded, type Reader, sql } from "../sql.ts";
import { run, type Write } from "../write.ts";

/** Returns those of the ids that attachments have. */
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

/** Sets the placeholder of a picture that has none. It is no change of the resource, so the version stays. */
export function* setPlaceholder({ id, placeholder }: Placeholder): Write<void> {
  yield* run(
    sql`UPDATE attachments SET placeholder = ${placeholder} WHERE id = ${id} AND placeholder IS NULL`,
  );
}
