import {
  type AttachmentRow,
  findAttachment,
  findAttachments,
  findLinkedAttachment,
  findVisibleAttachment,
  type GrantedName,
  listAttachments as listAttachmentRows,
  listGrantedNames,
  type ShownAttachment,
  type Target,
} from "../../db/queries/files/attachments.ts";
import { isOwnMessage } from "../../db/queries/messages/messages.ts";
import type { NewFile } from "../../db/queries/storage/files.ts";
import { findSeat } from "../../db/queries/visibility/seats.ts";
import { ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import { foldedLength, hasWords, searchWords } from "../../util/text.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { newEntry } from "../record/audit-trail.ts";
import {
  describedField,
  nameWords,
  optional,
  type Parsed,
  reference,
  trueOrFalse,
} from "../resource/fields.ts";
import { inOrder, searchNames } from "../resource/name-search.ts";
import { type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { type Expected, readBack, type Versioned, versioned as versionedText } from "../resource/resource.ts";
import { bytes, described, id, resource, type TypeOf, text, time } from "../resource/schema.ts";
import type { Turns } from "../resource/turns.ts";
import { type Additions, chooseShape, linked } from "./attachment-resource.ts";
import { RequestUploads } from "./upload-once.ts";

export type { Target };

/**
 * Throws `conversation_not_found` or `message_not_found` if the caller may not upload there, so that a request can be refused
 * before its file arrives. The commit checks again.
 */
export async function checkTarget(core: Core, caller: Caller, target: Target): Promise<void> {
  if (target.conversationId !== undefined) await checkMember(core, caller, target.conversationId);
  if (target.messageId !== undefined) {
    if (!(await isOwnMessage(core.db, target.messageId, caller.userId))) {
      throw new ParleyError("message_not_found", undefined, { param: "message_id" });
    }
  }
}

/** Throws `conversation_not_found`. */
export async function checkMember(core: Core, caller: Caller, conversationId: string): Promise<void> {
  if (!(await findSeat(core.db, conversationId, caller.userId))) {
    throw new ParleyError("conversation_not_found", undefined, { param: "conversation_id" });
  }
}

/**
 * Starts the upload of a file in one request. `key` is the Idempotency-Key, `target` the target as far as it is known before the
 * body is read. Throws what `checkTarget` throws, unless the request is a replay.
 */
export async function beginAttachment(
  core: Core,
  caller: Caller,
  key: string | undefined,
  target: Target,
): Promise<RequestUploads> {
  const uploads = await RequestUploads.begin(core, caller, key);
  if (!uploads.isReplay) await checkTarget(core, caller, target);
  return uploads;
}

/** Creates the attachment of a received file: makes its bytes durable, and then commits its row. */
export async function createAttachment(
  core: Core,
  caller: Caller,
  uploads: RequestUploads,
  target: Target,
): Promise<Versioned> {
  const [upload] = uploads.files;
  const { sha256, ...described } = upload!.asked;
  const file = await upload!.finish();
  const asked = ["createAttachment", { ...target, ...described }, sha256];
  const { result, replayed } = await uploads.commit(asked, "createAttachment", {
    file,
    target,
    newMessageId: core.newId("msg"),
    now: file.createdAt,
  });
  // The stored result of the first request only refers to the attachment, so that nothing of a deleted one is stored.
  if (replayed) return { ...(await readBack(getAttachment(core, caller, result.id))), replayed };
  const row = toNewAttachment(file, result.message_id);
  core.previews?.prepare(row);
  return versioned(core, row, caller.userId);
}

/** The fields of an upload that choose its target. */
export const targetFields = {
  conversation_id: optional(reference("cnv")),
  message_id: optional(reference("msg")),
};

/** Fields for changes to a file before it is stored. */
export const stripFields = {
  strip_metadata: optional(
    describedField(
      trueOrFalse,
      "Removes from a picture where, when and with what it was taken. In a form it must come before the file.",
    ),
  ),
};

/** The filters of a list of attachments. */
export const attachmentFilters = {
  conversation_id: optional(reference("cnv")),
  q: optional(describedField(nameWords, "The beginnings of words of the file name, in any order.")),
};

type AttachmentsRequest = Page & Parsed<typeof attachmentFilters> & Additions;

/** Lists the attachments of a conversation or, without one, all that the caller may see. */
export async function listAttachments(
  core: Core,
  caller: Caller,
  request: AttachmentsRequest,
  turns: Turns,
): Promise<PageEnvelope> {
  if (request.conversation_id !== undefined) await checkMember(core, caller, request.conversation_id);
  const words = searchWords(request.q ?? "");
  const { db } = core;
  const { userId } = caller;
  const { conversation_id } = request;
  const names = {
    listNames: (walk: Page) => listGrantedNames(db, userId, conversation_id, walk),
    isMatch: ({ filename }: GrantedName) => filename !== null && hasWords(filename, words),
    lengthOf: ({ filename }: GrantedName) => foldedLength(filename ?? ""),
    findRows: (ids: readonly string[]) => findAttachments(db, userId, ids),
  };
  const { rows, end } =
    words.length > 0
      ? await searchNames(request, names, turns)
      : { rows: await listAttachmentRows(db, userId, conversation_id, request) };
  const show = await chooseShape(core, rows, request.include);
  return toPage(request, rows, (row) => show(row, userId), { end });
}

/** A file as admins see it: without its bytes, which are its readers'. */
export const userFileResource = resource("UserFile", {
  id: id("att"),
  filename: text,
  file_type: described(text, "MIME type."),
  file_size: bytes,
  uploader_id: described(id("usr"), "Who uploaded it, and in whose storage it counts."),
  created_at: time,
});

/** Lists the files that a user sees, for admins. */
export async function listFilesOf(core: DataAccess, userId: string, page: Page): Promise<PageEnvelope> {
  const rows = await listAttachmentRows(core.db, userId, undefined, page);
  return toPage(page, rows, (row) => {
    const file: TypeOf<typeof userFileResource> = {
      id: row.id,
      filename: row.filename,
      file_type: row.file_type,
      file_size: row.file_size,
      uploader_id: row.uploader_id,
      created_at: toSeconds(row.created_at),
    };
    return JSON.stringify(file);
  });
}

/** Returns those of the attachments that this user sees. */
export async function findInOrder(
  core: Core,
  userId: string,
  ids: readonly string[],
): Promise<AttachmentRow[]> {
  if (ids.length === 0) return [];
  return inOrder(ids, await findAttachments(core.db, userId, ids));
}

/** Throws `attachment_not_found`, also for an attachment that the caller may not see. */
export async function getAttachment(
  core: Core,
  caller: Caller,
  id: string,
  additions: Additions = {},
): Promise<Versioned> {
  const row = await getAttachmentRow(core, caller, id);
  if (additions.include === undefined) return versioned(core, row, caller.userId);
  const show = await chooseShape(core, [row], additions.include);
  return versionedText(show(row, caller.userId), row.version);
}

/** Gets the row for serving the file to a member with a token. */
export async function getAttachmentRow(core: Core, caller: Caller, id: string): Promise<AttachmentRow> {
  return found(await findAttachment(core.db, caller.userId, id));
}

/**
 * Gets the row for serving the file by a link whose signature was verified. Links of older versions name no user: they are
 * valid as long as any member sees the file.
 */
export async function getLinkedAttachmentRow(
  core: Core,
  userId: string | undefined,
  id: string,
): Promise<AttachmentRow> {
  return found(
    userId === undefined
      ? await findVisibleAttachment(core.db, id)
      : await findLinkedAttachment(core.db, userId, id),
  );
}

/** Renames the file, which also changes `file_url`. Without a name nothing changes. */
export async function updateAttachment(
  core: Core,
  caller: Caller,
  id: string,
  filename: string | undefined,
  expected: Expected,
): Promise<Versioned> {
  const input = { userId: caller.userId, id, filename, expected, entry: newEntry(core, caller) };
  return versioned(core, await core.db.write("renameAttachment", input), caller.userId);
}

/**
 * Deletes the attachment for everybody in its conversation. With the scope `admin` it may be another user's. The eraser removes
 * its bytes right after.
 */
export async function deleteAttachment(
  core: Core,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("deleteAttachment", {
    userId: caller.userId,
    asAdmin: caller.scopes.has("admin"),
    id,
    deletedAt: entry.at,
    expected,
    entry,
  });
  core.wakeEraser();
}

function found(row: AttachmentRow | undefined): AttachmentRow {
  if (!row) throw new ParleyError("attachment_not_found");
  return row;
}

/** Returns the row of a file that was committed with this message. */
export function toNewAttachment(file: NewFile, message_id: string): Omit<AttachmentRow, "conversation_id"> {
  return {
    id: file.id,
    message_id,
    uploader_id: file.uploaderId,
    filename: file.filename,
    file_type: file.fileType,
    file_size: file.fileSize,
    sha256: file.sha256,
    blob_key: file.blobKey,
    crc32: file.crc32,
    created_at: file.createdAt,
    version: 1,
    unscanned: file.isUnscanned ? 1 : 0,
  };
}

export function versioned(core: Core, row: ShownAttachment, userId: string): Versioned {
  return { json: linked(core, row, userId), version: `${row.version}-${core.links.window()}` };
}
