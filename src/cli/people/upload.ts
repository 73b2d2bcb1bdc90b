import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import {
  type Attachment,
  type Parley,
  ParleyApiError,
  type ResumableOptions,
  type UploadProgress,
} from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { asOperatorError } from "../system-errors.ts";
import { counted, harmless, jsonLine } from "../text.ts";
import { type Access, asPerson, explain, isRefusal, REFUSED } from "./access.ts";
import { toNote } from "./interrupted.ts";
import { getConversationId } from "./partners.ts";

/** Stands for standard input in place of a path. */
export const STDIN = "-";

/** Uploads files one after another. If one fails, it is reported and the rest continue. */
export function upload(
  io: Io,
  paths: readonly string[],
  options: { to?: string; name?: string; stripMetadata?: boolean; json?: boolean },
): Promise<number> {
  if (options.name !== undefined && paths.length > 1)
    throw new OperatorError("--name works with one file only. Upload the files one by one.");
  if (options.name === undefined && paths.includes(STDIN))
    throw new OperatorError("Uploading from stdin needs a name: --name FILENAME.");
  return asPerson(io, async (parley, access) => {
    const conversation =
      options.to === undefined ? undefined : await getConversationId(io, parley, options.to);
    let failed = 0;
    for (const [i, path] of paths.entries()) {
      let size: number | undefined;
      try {
        if (path !== STDIN) size = await getSize(path);
        const file = { path, size, name: options.name, conversation, stripMetadata: options.stripMetadata };
        const attachment = await uploadOne(io, parley, access.url, file);
        io.print(options.json ? jsonLine(attachment) : harmless(`${attachment.id}  ${attachment.filename}`));
      } catch (error) {
        const reason = io.stop.aborted ? undefined : toReason(error, access);
        if (reason === undefined) {
          const isStopped = io.stop.aborted;
          const isFailed = error instanceof ParleyApiError && !isRefusal(error);
          const canContinue = isLarge(size) && !options.stripMetadata;
          const isCut = isStopped || (canContinue && isFailed);
          const left = paths.slice(isCut ? i + 1 : i);
          if (left.length > 0) io.warn(harmless(`Not uploaded: ${left.join(", ")}`));
          const note = canContinue
            ? `Interrupted: ${path}. To continue, run the same command.`
            : `Possibly uploaded: ${path}. Check with parley attachments list.`;
          if (isStopped) throw new OperatorError(note);
          if (isCut) io.warn(harmless(note));
          throw error;
        }
        failed++;
        io.warn(`parley: ${harmless(path)} was not uploaded: ${reason}`);
      }
    }
    if (failed > 0 && paths.length > 1) io.warn(`${failed} of ${counted(paths.length, "file")} failed.`);
    return failed > 0 ? REFUSED : 0;
  });
}

/** A file to upload. */
interface File {
  path: string;
  /** Undefined for standard input. */
  size: number | undefined;
  name: string | undefined;
  conversation: string | undefined;
  stripMetadata: boolean | undefined;
}

/** Larger files use a resumable upload. */
const LARGE_BYTES = 8 * 1024 * 1024;

function isLarge(size: number | undefined): boolean {
  return size !== undefined && size > LARGE_BYTES;
}

async function uploadOne(io: Io, parley: Parley, url: string, file: File): Promise<Attachment> {
  const { path, size, name, conversation, stripMetadata } = file;
  const progress = startProgress(io, name ?? basename(path), size, roundedSize);
  const input = path === STDIN ? io.input() : undefined;
  const options = {
    filename: name,
    conversation_id: conversation,
    signal: io.stop,
    onProgress: ({ sent }: UploadProgress) => progress.at(sent),
  };
  try {
    // The server strips metadata only from single-request uploads.
    if (isLarge(size) && !stripMetadata) return await uploadLarge(io, parley, url, file, options);
    return await parley.attachments.upload(input ?? path, { ...options, strip_metadata: stripMetadata });
  } finally {
    progress.end();
    // An open standard input would keep the process running.
    input?.destroy();
  }
}

/** Continues the upload of the same unchanged file that an earlier command left, or starts one. */
async function uploadLarge(
  io: Io,
  parley: Parley,
  url: string,
  file: File,
  options: ResumableOptions,
): Promise<Attachment> {
  const { path, name, conversation } = file;
  const { size, mtimeMs } = await stat(path);
  const note = toNote(io, [url, resolve(path), size, mtimeMs, name ?? null, conversation ?? null]);
  const resume = note.read();
  try {
    const attachment = await parley.uploads.send(path, { ...options, resume, onStart: note.write });
    note.drop();
    return attachment;
  } catch (error) {
    const isGone = error instanceof ParleyApiError && error.code === "upload_not_found";
    if (resume === undefined || !isGone) throw error;
    note.drop();
    return uploadLarge(io, parley, url, file, options);
  }
}

export async function getSize(path: string): Promise<number> {
  const found = await stat(path).catch((error) => {
    throw error.code === "ENOENT" ? new OperatorError("No such file.") : asOperatorError(error);
  });
  if (found.isDirectory())
    throw new OperatorError("It is a folder. Pack it into one file first, for example with tar.");
  // Only regular files have a known size.
  if (!found.isFile())
    throw new OperatorError("It is not a regular file. Send its contents through standard input: -");
  return found.size;
}

/** Returns why this file failed, or undefined if every other file would fail for the same reason. */
function toReason(error: unknown, access: Access): string | undefined {
  if (error instanceof ParleyApiError) {
    if (error.code === "source_changed") return harmless(error.detail);
    const isOfAll = [401, 403, 404, 429].includes(error.status);
    return isRefusal(error) && !isOfAll ? explain(error, access) : undefined;
  }
  const known = asOperatorError(error);
  return known instanceof OperatorError ? harmless(known.message) : undefined;
}
