import {
  type AttachmentRow,
  findAttachment,
  findLinkedAttachment,
  isOwnMessage,
  listAttachments as listAttachmentRows,
  type ShownAttachment,
  type Target,
} from "../db/attachments.ts";
import { isMember } from "../db/conversations.ts";
import { isUndone, ParleyError } from "../errors.ts";
import { toSeconds } from "../util/clock.ts";
import { actOf } from "./audit.ts";
import type { Caller } from "./caller.ts";
import type { Core } from "./core.ts";
import { onceOf, writeOnce } from "./idempotency.ts";
import { detectType } from "./media-types.ts";
import { type PageOf, type PageRequest, pageOf, pageQuery } from "./page.ts";
import type { Expected, Versioned } from "./resource.ts";
import { discardFile, type ReceivedFile } from "./uploads.ts";

export type { AttachmentRow as FileRow, Target };

/** Source, section 2.2. Times are Unix seconds, sizes bytes. */
interface Attachment {
  id: string;
  message_id: string;
  filename: string;
  file_url: string;
  file_type: string;
  file_size: number;
  created_at: number;
}

/**
 * Throws `conversation_not_found` or `message_not_found` where the caller may not upload there, so that a request
 * can be refused before its file comes in. The commit checks again.
 */
export async function checkTarget(core: Core, caller: Caller, target: Target): Promise<void> {
  if (target.conversationId !== undefined) await checkMember(core, caller, target.conversationId);
  if (target.messageId !== undefined) {
    if (!(await isOwnMessage(core.db, target.messageId, caller.userId))) {
      throw new ParleyError("message_not_found", undefined, { param: "message_id" });
    }
  }
}

async function checkMember(core: Core, caller: Caller, conversationId: string): Promise<void> {
  if (!(await isMember(core.db, conversationId, caller.userId))) {
    throw new ParleyError("conversation_not_found", undefined, { param: "conversation_id" });
  }
}

interface Upload {
  target: Target;
  file: ReceivedFile;
  filename: string;
  declaredType: string | undefined;
  /** The Idempotency-Key. */
  key: string | undefined;
}

/**
 * Commits a received file: its bytes are made durable first, then its row. Where that fails for certain the bytes are
 * discarded. Where the outcome of the commit is unknown they stay, unsettled, so that the sweep of the next start asks
 * the database that has recovered by then: a row may have become durable although its commit failed.
 */
export async function createAttachment(core: Core, caller: Caller, upload: Upload): Promise<Versioned> {
  const { file } = upload;
  const fileType = await makeDurable(core, upload);
  const id = core.newId("att");
  const blob = file.content instanceof Uint8Array ? undefined : file.content;
  const act = actOf(core, caller);
  const asked = { ...upload.target, filename: upload.filename, type: upload.declaredType ?? null };
  const sha256 = Buffer.from(file.sha256).toString("hex");
  const once = onceOf(core, caller, upload.key, "createAttachment", asked, sha256);
  const input = {
    id,
    uploader_id: caller.userId,
    filename: upload.filename,
    file_type: fileType,
    file_size: file.size,
    sha256: file.sha256,
    blob_key: blob?.key ?? id,
    crc32: file.crc32,
    created_at: act.at,
    target: upload.target,
    bytes: file.content instanceof Uint8Array ? file.content : null,
    newMessageId: core.newId("msg"),
    hasIntent: blob !== undefined && !core.blobs.intents,
    reservation: file.reservation && { ...file.reservation, bytes: file.size, now: act.at },
    act,
  };
  const written = await writeOnce(core, once, "createAttachment", input).catch(async (error) => {
    if (isUndone(error)) await discardFile(core, file);
    throw error;
  });
  // The upload is done: an intent that cannot be dropped now is the sweep's.
  if (written.replayed) await discardFile(core, file);
  else await blob?.settle().catch(() => {});
  const created = versioned(core, written.result);
  if (!written.replayed || (await findAttachment(core.db, caller.userId, written.result.id))) {
    return { ...created, replayed: written.replayed };
  }
  // Whoever has left the conversation since gets no new link to what is there.
  const address = core.links.fileAddress(written.result.id, written.result.filename);
  return { ...created, json: attachmentOf(written.result, address), replayed: true };
}

/** Stores the bytes, unless they go with the row, and tells their type; where either fails the file is discarded. */
async function makeDurable(core: Core, { file, declaredType, filename }: Upload): Promise<string> {
  try {
    const fileType = await detectType(file.head, declaredType, filename);
    if (!(file.content instanceof Uint8Array)) await file.content.store();
    return fileType;
  } catch (error) {
    await discardFile(core, file);
    throw error;
  }
}

/** Of one conversation where it is given, else of all that the caller may see. */
export async function listAttachments(
  core: Core,
  caller: Caller,
  request: PageRequest & { conversation_id?: string | undefined },
): Promise<PageOf> {
  if (request.conversation_id !== undefined) await checkMember(core, caller, request.conversation_id);
  const page = pageQuery(request);
  const rows = await listAttachmentRows(core.db, caller.userId, request.conversation_id, page);
  return pageOf(page, rows, (row) => linked(core, row));
}

/** Throws `attachment_not_found`, also for an attachment that the caller may not see. */
export async function getAttachment(core: Core, caller: Caller, id: string): Promise<Versioned> {
  return versioned(core, await getAttachmentRow(core, caller, id));
}

/** For the serving of files to a member with a token. */
export async function getAttachmentRow(core: Core, caller: Caller, id: string): Promise<AttachmentRow> {
  return found(await findAttachment(core.db, caller.userId, id));
}

/** For the serving of files by a link whose signature was checked. */
export async function getLinkedAttachmentRow(core: Core, id: string): Promise<AttachmentRow> {
  return found(await findLinkedAttachment(core.db, id));
}

/** Sets the file name, the only attribute that can be updated; `file_url` follows. Without it nothing changes. */
export async function updateAttachment(
  core: Core,
  caller: Caller,
  id: string,
  filename: string | undefined,
  expected: Expected,
): Promise<Versioned> {
  const input = { userId: caller.userId, id, filename, expected, act: actOf(core, caller) };
  return versioned(core, await core.db.write("renameAttachment", input));
}

/** Deletes the attachment for all of its conversation; its bytes are erased right after. */
export async function deleteAttachment(
  core: Core,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const act = actOf(core, caller);
  await core.db.write("deleteAttachment", { userId: caller.userId, id, deletedAt: act.at, expected, act });
  core.wakeEraser();
}

function found(row: AttachmentRow | undefined): AttachmentRow {
  if (!row) throw new ParleyError("attachment_not_found");
  return row;
}

function versioned(core: Core, row: ShownAttachment): Versioned {
  return { json: linked(core, row), version: `${row.version}-${core.links.window()}` };
}

/** The attachment as JSON text, with a link that is signed now. */
export function linked(core: Core, row: ShownAttachment): string {
  return attachmentOf(row, core.links.fileUrl(row.id, row.filename));
}

/** The same with an address that wants a token: for those who see it no more. */
export function unlinked(core: Core, row: ShownAttachment): string {
  return attachmentOf(row, core.links.fileAddress(row.id, row.filename));
}

function attachmentOf(row: ShownAttachment, fileUrl: string): string {
  const attachment: Attachment = {
    id: row.id,
    message_id: row.message_id,
    filename: row.filename,
    file_url: fileUrl,
    file_type: row.file_type,
    file_size: row.file_size,
    created_at: toSeconds(row.created_at),
  };
  return JSON.stringify(attachment);
}
