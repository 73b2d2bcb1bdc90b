import { findUpload, listUploadRows, type UploadRow } from "../../db/queries/files/upload-resumable.ts";
import { checkDailyLimit } from "../../db/queries/storage/storage-used.ts";
import { type ErrorCode, ParleyError } from "../../errors.ts";
import { toSeconds } from "../../util/clock.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import { isReplay, writeIdempotent } from "../record/idempotency.ts";
import { type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { readBack, type Versioned } from "../resource/resource.ts";
import {
  bytes,
  described,
  id,
  integer,
  orNull,
  resource,
  type TypeOf,
  textOrNull,
  time,
} from "../resource/schema.ts";
import { checkTarget, type Target, versioned } from "./attachments.ts";
import { FileFacts } from "./file-facts.ts";
import { INTENT_MS, newBlobKey, refuseTooLarge, takeUploadSlot } from "./upload.ts";
import { type Checksum, expiryOf, type Finished, ResumableUpload } from "./upload-append.ts";

export type { Checksum, UploadRow };

/** A file that arrives in several requests. */
export const uploadResource = resource("Upload", {
  id: id("upl"),
  filename: described(textOrNull, "Null once the upload is complete: the attachment has it."),
  offset: described(bytes, "The bytes that the server has: continue there."),
  length: described(orNull(integer), "The bytes of the whole file; null if the server does not know it yet."),
  attachment_id: described(orNull(id("att")), "Null until the upload is complete."),
  created_at: time,
  expires_at: time,
});
type UploadResource = TypeOf<typeof uploadResource>;

export function toResource(row: UploadRow): UploadResource {
  return {
    id: row.id,
    filename: row.filename,
    offset: row.received,
    length: row.length,
    attachment_id: row.attachment_id,
    created_at: toSeconds(row.created_at),
    expires_at: toSeconds(row.expires_at),
  };
}

/** The file that a request starts to upload. */
export interface NewUpload {
  filename: string;
  declaredType: string | undefined;
  target: Target;
  /** In bytes; undefined if not known yet. */
  length: number | undefined;
}

/** The body of a request, and the position of its bytes in the file. */
export interface Append {
  offset: number;
  /** The length of the whole file in bytes, if the request has it. */
  length: number | undefined;
  /** Whether the file ends with this body. */
  isLast: boolean;
  /** The length of the body in bytes, if it is known. */
  announcedBytes: number | undefined;
  checksum: Checksum | undefined;
  /** The body. It is read only after everything else has been checked. */
  bytes: AsyncIterable<Uint8Array>;
  /** Ends this request, because a newer one for the same upload has come. */
  end: () => void;
}

/** An upload after a request, with the attachment if the request has completed it. */
export interface Appended {
  row: UploadRow;
  attachment?: Versioned;
}

/**
 * Begins an upload. Throws what `checkTarget` throws, `file_too_large`, `quota_exceeded`, `daily_limit_reached` and
 * `count_limit_reached`. A replay returns the upload as it is now.
 */
export async function createUpload(
  core: Core,
  caller: Caller,
  key: string | undefined,
  upload: NewUpload,
): Promise<{ row: UploadRow; replayed: boolean }> {
  const { limits } = core;
  const { filename, declaredType = null, target, length = null } = upload;
  const replayOnly = key !== undefined && (await isReplay(core, caller, key));
  if (!replayOnly) {
    await checkTarget(core, caller, target);
    if (limits.filesPerDay > 0)
      await checkDailyLimit(core.db, caller.userId, limits.filesPerDay, core.clock());
  }
  refuseTooLarge(core, length ?? 0);
  const row: UploadRow = {
    id: core.newId("upl"),
    user_id: caller.userId,
    filename,
    declared_type: declaredType,
    conversation_id: target.conversationId ?? null,
    message_id: target.messageId ?? null,
    length,
    received: 0,
    blob_key: newBlobKey(core),
    parts: null,
    tail_key: null,
    holder: newBlobKey(core),
    attachment_id: null,
    created_at: core.clock(),
    expires_at: expiryOf(core),
  };
  const request = {
    caller,
    key,
    asked: ["createUpload", filename, declaredType, target, length],
    replayOnly,
  };
  const input = { row, limit: limits.maxUploads, quota: limits.userQuotaBytes };
  const { result, replayed } = await writeIdempotent(core, request, "createUpload", input);
  if (replayed) return { row: await readBack(getUpload(core, caller, result.id)), replayed };
  core.resumables.add(row.id, row.holder, new FileFacts());
  return { row, replayed };
}

/** Returns one page of the caller's unfinished uploads. */
export async function listUploads(core: Core, caller: Caller, page: Page): Promise<PageEnvelope> {
  const rows = await listUploadRows(core.db, caller.userId, page, core.clock());
  return toPage(page, rows, (row) => JSON.stringify(toResource(row)));
}

/** Throws `upload_not_found`. */
export async function getUpload(core: Core, caller: Caller, id: string): Promise<UploadRow> {
  const row = await findUpload(core.db, caller.userId, id, core.clock());
  if (!row) throw new ParleyError("upload_not_found");
  return row;
}

/** Ends an earlier request for an upload, then runs this one. `end` ends this one; without it a newer one waits. */
function inTurn<T>(
  core: Core,
  caller: Caller,
  id: string,
  run: () => Promise<T>,
  end: () => void = () => {},
): Promise<T> {
  // The key has the user, so that strangers cannot end requests.
  return core.resumables.inTurn(`${caller.userId} ${id}`, end, run);
}

/**
 * Returns an upload with its offset. First ends a request that still continues it, so that the offset stays correct. Completes an
 * upload that has all its bytes, because its client will send no more. Throws `upload_not_found`, and what the completion throws.
 */
export function inspectUpload(core: Core, caller: Caller, id: string): Promise<UploadRow> {
  return inTurn(core, caller, id, async () => {
    const row = await getUpload(core, caller, id);
    if (row.attachment_id !== null) return row;
    await using upload = await ResumableUpload.open(core, row);
    if (!upload.isWhole) {
      await upload.keep();
      return upload.row;
    }
    await finish(core, caller, upload);
    return getUpload(core, caller, id);
  });
}

/**
 * Adds the bytes of a request to an upload, and completes it with the last of them. Throws `upload_not_found`,
 * `upload_offset_mismatch`, `upload_completed`, `upload_length_mismatch`, `file_too_large`, `quota_exceeded`, the errors of the body
 * and its checksum, and those of an upload in one request when it is committed.
 */
export function appendToUpload(core: Core, caller: Caller, id: string, append: Append): Promise<Appended> {
  const run = async () => {
    const row = await getUpload(core, caller, id);
    if (row.attachment_id !== null) throw new ParleyError("upload_completed");
    using _slot = takeUploadSlot(core, caller.userId);
    return await continueUpload(core, caller, row, append);
  };
  return inTurn(core, caller, id, run, append.end);
}

/** Errors after which the bytes cannot become the intended file. */
const FATAL: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "upload_length_mismatch",
  "file_too_large",
  "quota_exceeded",
]);

const REFUSED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["file_type_refused", "file_infected"]);

async function continueUpload(core: Core, caller: Caller, row: UploadRow, append: Append): Promise<Appended> {
  await using upload = await ResumableUpload.open(core, row);
  // The store may have had more bytes than the row.
  checkOffset(append.offset, upload.row.received);
  await prepare(core, upload, append);
  try {
    await upload.receive(append.bytes, append.checksum);
    if (append.isLast) await upload.declareLength(upload.size, false);
    const received = upload.size - append.offset;
    if (append.announcedBytes === undefined && received > 0 && !upload.isWhole) checkLeast(core, received);
    if (!upload.isWhole) {
      await upload.keep();
      return { row: upload.row };
    }
  } catch (error) {
    if (error instanceof ParleyError && FATAL.has(error.code)) await deleteUpload(core, caller, row.id, true);
    throw error;
  }
  const attachment = await finish(core, caller, upload);
  return {
    row: { ...upload.row, ...completed(attachment) },
    attachment: versioned(core, attachment, caller.userId),
  };
}

/** Completes a whole upload. Deletes it if its file is refused because of its content. */
async function finish(core: Core, caller: Caller, upload: ResumableUpload): Promise<Finished> {
  try {
    return await upload.finish(caller);
  } catch (error) {
    if (error instanceof ParleyError && REFUSED.has(error.code))
      await deleteUpload(core, caller, upload.row.id, true);
    throw error;
  }
}

function completed({ id, file_size }: Finished): Partial<UploadRow> {
  return { filename: null, attachment_id: id, received: file_size, length: file_size };
}

function checkOffset(given: number, expected: number): void {
  if (given === expected) return;
  throw new ParleyError("upload_offset_mismatch", undefined, {
    header: String(expected),
    members: { "expected-offset": expected, "provided-offset": given },
  });
}

/** Checks the facts that a request declares, before its body is read. */
async function prepare(core: Core, upload: ResumableUpload, append: Append): Promise<void> {
  const { offset, isLast, announcedBytes } = append;
  const end = announcedBytes === undefined ? undefined : offset + announcedBytes;
  const length = append.length ?? (isLast ? end : undefined);
  // The length that follows from the last part is stored only with the part.
  if (length !== undefined) await upload.declareLength(length, append.length !== undefined);
  const whole = upload.row.length;
  if (whole !== null && end !== undefined && (end > whole || (isLast && end < whole)))
    throw new ParleyError("upload_length_mismatch");
  if (announcedBytes && !isLast && end !== whole) checkLeast(core, announcedBytes);
  if (whole === null && announcedBytes) await upload.makeRoom(offset + announcedBytes);
}

function checkLeast({ limits }: Core, bytes: number): void {
  if (bytes >= limits.minAppendBytes) return;
  const detail = `Add at least ${limits.minAppendBytes} bytes with each request but the last.`;
  throw new ParleyError("invalid_parameter", detail, { param: "Content-Length" });
}

/** Deletes an upload and its bytes. The attachment of a complete one stays. Throws `upload_not_found`. */
export function removeUpload(core: Core, caller: Caller, id: string): Promise<void> {
  return inTurn(core, caller, id, async () => {
    const row = await getUpload(core, caller, id);
    const isOwn = core.resumables.find(id, row.holder) !== undefined;
    await deleteUpload(core, caller, id, isOwn);
  });
}

/** `isOwn` means that no other process can still be sending bytes, which is always so for a store on this machine. */
async function deleteUpload(core: Core, caller: Caller, id: string, isOwn: boolean): Promise<void> {
  const now = core.clock();
  const until = isOwn || core.blobs.intents !== null ? null : now + INTENT_MS;
  await core.db.write("deleteUpload", { userId: caller.userId, id, now, until });
  core.resumables.forget(id);
  core.wakeEraser();
}
