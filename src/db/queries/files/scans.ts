import { laterId } from "../../../util/ids.ts";
import { type Reader, sql } from "../../sql.ts";
import { run, type Write, write } from "../../write.ts";
import { type NewEntry, recordEntry } from "../record/audit-trail.ts";
import { eraseAttachment, getAnyAttachment } from "./attachments.ts";

// Writes that record results of virus scans.

interface RefusedFile {
  entry: NewEntry;
  /** The id that the attachment would have had. */
  attachmentId: string;
  /** `found` is the scanner's name for what it found, here and below. */
  details: { found: string; filename: string; sha256: string };
}

/** Records that a file was refused and not stored. */
function* recordRefusedFile({ entry, attachmentId, details }: RefusedFile): Write<void> {
  yield* run(recordEntry(entry, "attachment.refused", attachmentId, details));
}

interface Withdrawal {
  id: string;
  found: string;
  entry: NewEntry;
}

/** Deletes an attachment for everybody, as its uploader could. Throws `attachment_not_found`. */
const withdrawAttachment = write(
  { publishesEvents: true },
  function* ({ id, found, entry }: Withdrawal): Write<void> {
    const attachment = yield* getAnyAttachment({ id, expected: null });
    yield* run(recordEntry(entry, "attachment.withdrawn", id, { found }));
    yield* eraseAttachment(attachment, entry.at, { ...entry, id: laterId(entry.id, entry.id) });
  },
);

/** Reports whether the file was accepted without a scan. */
export async function isUnscanned(db: Reader, id: string): Promise<boolean> {
  return (
    (await db.get(sql`SELECT 1 AS one FROM attachments WHERE id = ${id} AND unscanned = 1`)) !== undefined
  );
}

/** Removes the mark from a file in which a later scan found nothing. */
function* clearUnscanned({ id }: { id: string }): Write<void> {
  yield* run(
    sql`UPDATE attachments SET unscanned = 0, version = version + 1 WHERE id = ${id} AND unscanned = 1`,
  );
}

export const scanWrites = { recordRefusedFile, withdrawAttachment, clearUnscanned };
