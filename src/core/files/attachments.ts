import {
  type AttachmentRow,
  findAttachment,
  findLinkedAttachment,
  isOwnMessage,
  listAttachments as listAttachmentRows,
  type ShownAttachment,
  type Target,
} from "../../db/queries/attachments.ts";
import { isMember } from "../../db/queries/conversations.ts";
import { isUndone, ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import type { Caller } from "../access/caller.ts";
import { newEntry } from "../audit.ts";
import type { Core } from "../core.ts";
import { isReplay, onceOf, writeOnce } from "../idempotency.ts";
import { type PageEnvelope, type PageRequest, pageQuery, toPage } from "../page.ts";
import type { Expected, Versioned } from "../resource.ts";
import { bytes, described, id, resource, type TypeOf, text, time, url } from "../schema.ts";
import { detectType } from "./media-types.ts";
import { Upload } from "./uploads.ts";

export type { AttachmentRow as FileRow, Target };

/** Source document, section 2.2. */
export const attachmentResource = resource("Attachment", {
  id: id("att"),
  message_id: id("msg"),
  filename: text,
  file_url: described(url, "Signed: works without a token for one to two hours."),
  file_type: described(text, "MIME type."),
  file_size: bytes,
  created_at: time,
});
type Attachment = TypeOf<typeof attachmentResource>;

/**
 * Throws `conversation_not_found` or `message_not_found` if the caller may not upload there, so that a request can be refused
 * before its file arrives. The commit checks again.
 */
async function checkTarget(core: Core, caller: Caller, target: Target): Promise<void> {
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

/** What a request says of the file that it uploads. */
interface Described {
  target: Target;
  filename: string;
  declaredType: string | undefined;
}

/**
 * Uploads a file: receives it, makes its bytes durable, and then commits its row. `readRequest` passes the bytes to the
 * upload. `key` is the Idempotency-Key, `target` what is known of the target before the request is read.
 */
export async function createAttachment(
  core: Core,
  caller: Caller,
  key: string | undefined,
  target: Target,
  readRequest: (upload: Upload) => Promise<Described>,
): Promise<Versioned> {
  await using upload = new Upload(core, caller.userId);
  // The result of the first request holds, even if its target or the room for it has gone since.
  const isRetry = await isReplay(core, caller, key);
  if (isRetry) upload.hashOnly();
  else await checkTarget(core, caller, target);
  const described = await readRequest(upload);
  const fileType = await detectType(upload.head(), described.declaredType, described.filename);
  await upload.store();
  const asked = { ...described.target, filename: described.filename, type: described.declaredType ?? null };
  const sha256 = Buffer.from(upload.sha256()).toString("hex");
  const once = onceOf(core, caller, key, "createAttachment", asked, sha256);
  if (once) once.replayOnly = isRetry;
  const id = core.newId("att");
  const entry = newEntry(core, caller);
  const input = {
    id,
    uploaderId: caller.userId,
    filename: described.filename,
    fileType,
    createdAt: entry.at,
    target: described.target,
    newMessageId: core.newId("msg"),
    entry,
    ...upload.columns(id, entry.at),
  };
  const { result, replayed } = await writeOnce(core, once, "createAttachment", input).catch((error) => {
    if (!isUndone(error)) upload.leaveToSweep();
    throw error;
  });
  if (!replayed) await upload.settle();
  const created = versioned(core, result);
  // A caller who has left the conversation since gets no new link.
  if (replayed && !(await findAttachment(core.db, caller.userId, result.id)))
    created.json = unlinked(core, result);
  return { ...created, replayed };
}

/** Lists the attachments of a conversation, or without one all that the caller may see. */
export async function listAttachments(
  core: Core,
  caller: Caller,
  request: PageRequest & { conversation_id?: string | undefined },
): Promise<PageEnvelope> {
  if (request.conversation_id !== undefined) await checkMember(core, caller, request.conversation_id);
  const page = pageQuery(request);
  const rows = await listAttachmentRows(core.db, caller.userId, request.conversation_id, page);
  return toPage(page, rows, (row) => linked(core, row));
}

/** Throws `attachment_not_found`, also for an attachment that the caller may not see. */
export async function getAttachment(core: Core, caller: Caller, id: string): Promise<Versioned> {
  return versioned(core, await getAttachmentRow(core, caller, id));
}

/** Gets the row for serving the file to a member with a token. */
export async function getAttachmentRow(core: Core, caller: Caller, id: string): Promise<AttachmentRow> {
  return found(await findAttachment(core.db, caller.userId, id));
}

/** Gets the row for serving the file by a link whose signature was verified. */
export async function getLinkedAttachmentRow(core: Core, id: string): Promise<AttachmentRow> {
  return found(await findLinkedAttachment(core.db, id));
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
  return versioned(core, await core.db.write("renameAttachment", input));
}

/** Deletes the attachment for everybody in its conversation. The eraser removes its bytes right after. */
export async function deleteAttachment(
  core: Core,
  caller: Caller,
  id: string,
  expected: Expected,
): Promise<void> {
  const entry = newEntry(core, caller);
  await core.db.write("deleteAttachment", {
    userId: caller.userId,
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

function versioned(core: Core, row: ShownAttachment): Versioned {
  return { json: linked(core, row), version: `${row.version}-${core.links.window()}` };
}

/** Returns the attachment as JSON with a link that is signed now. */
export function linked(core: Core, row: ShownAttachment): string {
  return toAttachment(row, core.links.fileUrl(row.id, row.filename));
}

/** Returns the same with a URL that requires a token, for users who can no longer see it. */
export function unlinked(core: Core, row: ShownAttachment): string {
  return toAttachment(row, core.links.fileAddress(row.id, row.filename));
}

function toAttachment(row: ShownAttachment, fileUrl: string): string {
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
