import {
  type AttachmentRow,
  listAttachments as listAttachmentRows,
} from "../../db/queries/files/attachments.ts";
import { findUserById } from "../../db/queries/people/users.ts";
import { ParleyError } from "../../errors.ts";
import { type ZipEntry, zipChunks, zipSize } from "../../util/zip.ts";
import { safeUniqueNames } from "../../util/zip-names.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { takeSlot } from "../node/user-slots.ts";
import { optional, reference } from "../resource/fields.ts";
import { idList } from "../resource/list-fields.ts";
import { NEWEST, OLDEST } from "../resource/page.ts";
import { bytes, count, described, resource, type TypeOf, text, time, url } from "../resource/schema.ts";
import { nextTurn, type Turns } from "../resource/turns.ts";
import { checkMember, findInOrder, getLinkedAttachmentRow } from "./attachments.ts";
import { openFile } from "./downloads.ts";

export const archiveResource = resource("Archive", {
  url: described(url, "Signed: works without a token for one to two hours."),
  filename: text,
  file_count: count,
  size: described(bytes, "Bytes of the archive."),
  expires_at: time,
});
type Archive = TypeOf<typeof archiveResource>;

/** The ids are in the URL of an archive, and proxies commonly accept up to 8 KiB. */
const MAX_IDS = 250;

export const archiveFields = {
  attachment_ids: optional(
    idList("att", `1 to ${MAX_IDS} ids of attachments`, { minItems: 1, maxItems: MAX_IDS }),
  ),
  conversation_id: optional(reference("cnv")),
};

/** How many files of a conversation are read in one turn of the event loop. */
const FILES_AT_ONCE = 250;
/** When to retry a download that exceeds the number of running downloads of archives. */
const RETRY_AFTER_SECONDS = "5";

/** An entry of an archive, and the row of its file. */
type Entry = ZipEntry & { row: AttachmentRow };

/** The files of an archive: these, or those of a conversation up to the last one. */
type Choice = { ids: readonly string[] } | { conversationId: string; lastId: string };

/**
 * Returns the URL of an archive of these attachments. Throws `attachment_not_found` if the caller does not see all of them.
 */
export async function createArchive(
  core: Core,
  caller: Caller,
  ids: readonly string[],
  turns: Turns,
): Promise<Archive> {
  await turns.next();
  const rows = await listFiles(core, caller.userId, { ids }, () => turns.next());
  if (rows.length < ids.length)
    throw new ParleyError("attachment_not_found", undefined, { param: "attachment_ids" });
  return toArchive(core, caller, rows, packIds(rows));
}

/**
 * Returns the URL of an archive of all files that the caller sees in a conversation. Throws `attachment_not_found` if
 * there are none, and `count_limit_reached` if there are too many.
 */
export async function createConversationArchive(
  core: Core,
  caller: Caller,
  conversationId: string,
  turns: Turns,
): Promise<Archive> {
  // Before the membership is read, so that a refused request costs no read.
  await turns.next();
  await checkMember(core, caller, conversationId);
  const rows = await listFiles(core, caller.userId, { conversationId, lastId: NEWEST }, () => turns.next());
  const last = rows.at(-1);
  if (!last)
    throw new ParleyError("attachment_not_found", "The conversation has no files.", {
      param: "conversation_id",
    });
  const { maxArchiveFiles } = core.limits;
  if (rows.length > maxArchiveFiles) {
    throw new ParleyError(
      "count_limit_reached",
      `The conversation has more than ${maxArchiveFiles} files, the limit of an archive. Choose some of them with attachment_ids.`,
      { param: "conversation_id" },
    );
  }
  return toArchive(core, caller, rows, `${conversationId}.${last.id}`);
}

/** Returns the archive. `files` names its files in the URL. */
function toArchive(core: Core, caller: Caller, rows: readonly AttachmentRow[], files: string): Archive {
  const filename = `files-${new Date(core.clock()).toISOString().slice(0, 10)}.zip`;
  const { url, expiresAt } = core.links.archiveUrl({ filename, user: caller.userId, files });
  return {
    url,
    filename,
    file_count: rows.length,
    size: zipSize(toEntries(rows)),
    expires_at: expiresAt,
  };
}

/** Joins the ids without their kind, so that the URL stays short. */
function packIds(rows: readonly AttachmentRow[]): string {
  return rows.map(({ id }) => id.slice("att_".length)).join("");
}

/** Parses the files in a URL. */
function parseFiles(files: string): Choice {
  const [conversationId, lastId] = files.split(".");
  if (lastId !== undefined) return { conversationId: conversationId!, lastId };
  const ids = files.match(/.{26}/g) ?? [];
  return { ids: ids.map((id) => `att_${id}`) };
}

/** Returns the files that the user sees. If a conversation has too many for an archive, returns more than the limit. */
async function listFiles(
  core: Core,
  userId: string,
  choice: Choice,
  next: () => Promise<void>,
): Promise<AttachmentRow[]> {
  if ("ids" in choice) return findInOrder(core, userId, choice.ids);
  const { conversationId, lastId } = choice;
  const found: AttachmentRow[] = [];
  const page = { cursor: OLDEST, newer: true, limit: FILES_AT_ONCE };
  for (;;) {
    const rows = await listAttachmentRows(core.db, userId, conversationId, page);
    for (const row of rows) if (row.id <= lastId) found.push(row);
    const isEnough = rows.length <= page.limit || found.length > core.limits.maxArchiveFiles;
    const last = rows.at(-1);
    if (isEnough || !last || last.id >= lastId) return found;
    page.cursor = last.id;
    await next();
  }
}

function toEntries(rows: readonly AttachmentRow[]): Entry[] {
  const names = safeUniqueNames(rows.map(({ filename }) => filename));
  return rows.map((row, index) => {
    const { file_size: size, crc32, created_at: modified } = row;
    return { name: names[index]!, size, crc32, modified, row };
  });
}

/** Takes one of a user's slots for archives on this node until it is disposed of. Throws `rate_limited` if none is left. */
export function takeArchiveSlot({ limits, runningArchives }: Core, userId: string): Disposable {
  const slot = takeSlot(runningArchives, userId, limits.archivesPerUser);
  if (slot) return slot;
  throw new ParleyError(
    "rate_limited",
    `This user has reached the limit of ${limits.archivesPerUser} archives at once. Retry when one of them has ended.`,
    { header: RETRY_AFTER_SECONDS },
  );
}

/**
 * Returns an archive of the files that the user still sees. `onFile` is called with each attachment before its bytes. The chunks
 * end in an error if a file is missing or damaged. Throws `attachment_not_found` if no file is left.
 */
export async function openArchive(
  core: Core,
  userId: string,
  files: string,
  onFile: (attachmentId: string) => void,
): Promise<{ size: number; chunks: AsyncIterable<Uint8Array> }> {
  // The rows of an erased user are erased in steps, so check that the user exists.
  const user = await findUserById(core.db, userId);
  await nextTurn(userId);
  const rows = user ? await listFiles(core, userId, parseFiles(files), () => nextTurn(userId)) : [];
  if (rows.length === 0)
    throw new ParleyError(
      "attachment_not_found",
      "All files of this archive were deleted, or are no longer visible.",
    );
  const entries = toEntries(rows);
  const chunks = zipChunks(entries, async ({ row }) => {
    onFile(row.id);
    if (row.file_size === 0) return new Uint8Array();
    try {
      return await openFile(core, row, 0, row.file_size - 1);
    } catch (error) {
      // Throws `attachment_not_found` if the file was deleted meanwhile: then it is not damaged.
      await getLinkedAttachmentRow(core, userId, row.id);
      throw error;
    }
  });
  return { size: zipSize(entries), chunks };
}
