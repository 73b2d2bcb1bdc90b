import type { WriteInput, WriteResult } from "../../db/database.ts";
import type { NewFile } from "../../db/queries/storage/files.ts";
import type { SingleName } from "../../db/writes.ts";
import { isUndone, ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";
import type { Verdict } from "../node/scanner.ts";
import { newEntry } from "../record/audit-trail.ts";
import { type Identified, writeIdempotent } from "../record/idempotency.ts";
import { withCharset } from "./charset.ts";
import { checkType, detectType } from "./media-types.ts";
import type { Upload } from "./upload-once.ts";

/** A file whose bytes have come in, and what the request says of it. */
export interface ReceivedFile {
  upload: Upload;
  filename: string;
  declaredType: string | undefined;
}

/** Makes the bytes of the file durable and describes it for its commit. Throws `file_type_refused` and `file_infected`. */
export async function storeFile(core: Core, caller: Caller, file: ReceivedFile): Promise<NewFile> {
  const { upload, filename, declaredType } = file;
  const type = await detectType(upload.head(), declaredType, filename);
  // The bytes of a replay are not kept, so nothing is detected in them.
  if (!upload.isHashOnly) checkType(type, core.limits);
  const fileType = withCharset(type, upload.head(), upload.isUtf8, declaredType);
  const verdict = await upload.store();
  const id = core.newId("att");
  const entry = newEntry(core, caller);
  const columns = upload.columns(id, entry.at);
  const stored = { id, filename, entry, ...columns };
  const isUnscanned = await checkVerdict(core, verdict, stored);
  return { ...stored, uploaderId: caller.userId, fileType, isUnscanned, createdAt: entry.at };
}

/** Reports whether the file passes without a scan. Throws `file_infected`, and records it. */
export async function checkVerdict(
  core: Core,
  verdict: Verdict,
  { id: attachmentId, filename, sha256, entry }: Pick<NewFile, "id" | "filename" | "sha256" | "entry">,
): Promise<boolean> {
  if (typeof verdict !== "object") return verdict === "unscanned";
  const { found } = verdict;
  const details = { found, filename, sha256: Buffer.from(sha256).toString("hex") };
  await core.db.write("recordRefusedFile", { entry, attachmentId, details });
  const detail = `The virus scanner found ${found} in the file. Nothing was stored.`;
  throw new ParleyError("file_infected", detail, { param: "file" });
}

/** Runs the write that commits the files of these uploads, or returns the stored result of the key's first request. */
export async function commitUploads<N extends SingleName>(
  core: Core,
  uploads: readonly Upload[],
  request: Identified,
  name: N,
  input: WriteInput<N>,
): Promise<{ result: WriteResult<N>; replayed: boolean }> {
  const done = await writeIdempotent(core, request, name, input).catch((error) => {
    if (!isUndone(error)) for (const upload of uploads) upload.leaveToSweep();
    throw error;
  });
  if (!done.replayed) await Promise.all(uploads.map((upload) => upload.settle()));
  return done;
}
