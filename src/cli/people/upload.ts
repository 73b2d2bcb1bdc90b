import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { type Attachment, type Parley, ParleyApiError } from "../../../client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { asOperatorError } from "../system-errors.ts";
import { counted, harmless, jsonLine } from "../text.ts";
import { type Access, asPerson, explain, isRefusal, REFUSED } from "./access.ts";
import { getConversationId } from "./partners.ts";

/** Stands for standard input in place of a path. */
export const STDIN = "-";

/** Uploads files one after another. If one fails, it is reported and the rest continue. */
export function upload(
  io: Io,
  paths: readonly string[],
  options: { to?: string; name?: string; json?: boolean },
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
      try {
        const attachment = await uploadOne(io, parley, path, options.name, conversation);
        io.print(options.json ? jsonLine(attachment) : harmless(`${attachment.id}  ${attachment.filename}`));
      } catch (error) {
        const reason = io.stop.aborted ? undefined : toReason(error, access);
        if (reason === undefined) {
          const isStopped = io.stop.aborted;
          if (isStopped) io.warn(harmless(`Possibly uploaded: ${path}. Check with parley attachments list.`));
          const left = paths.slice(isStopped ? i + 1 : i);
          if (left.length > 0) io.warn(harmless(`Not uploaded: ${left.join(", ")}`));
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

async function uploadOne(
  io: Io,
  parley: Parley,
  path: string,
  name: string | undefined,
  conversation: string | undefined,
): Promise<Attachment> {
  const size = path === STDIN ? undefined : await getSize(path);
  const progress = startProgress(io, name ?? basename(path), size, roundedSize);
  const input = path === STDIN ? io.input() : undefined;
  try {
    return await parley.attachments.upload(input ?? path, {
      filename: name,
      conversation_id: conversation,
      signal: io.stop,
      onProgress: ({ sent }) => progress.at(sent),
    });
  } finally {
    progress.end();
    // An open standard input would keep the process running.
    input?.destroy();
  }
}

export async function getSize(path: string): Promise<number> {
  const found = await stat(path).catch((error) => {
    throw error.code === "ENOENT" ? new OperatorError("No such file.") : asOperatorError(error);
  });
  if (found.isDirectory())
    throw new OperatorError("It is a folder. Pack it into one file first, for example with tar.");
  // The size of a pipe is unknown.
  if (!found.isFile())
    throw new OperatorError("It is not a regular file. Send its contents through standard input: -");
  return found.size;
}

/** Returns why this one file failed, or undefined if the next would fail for the same reason. */
function toReason(error: unknown, access: Access): string | undefined {
  if (error instanceof ParleyApiError) {
    if (error.code === "source_changed") return harmless(error.detail);
    const isOfAll = [401, 403, 404, 429].includes(error.status);
    return isRefusal(error) && !isOfAll ? explain(error, access) : undefined;
  }
  const known = asOperatorError(error);
  return known instanceof OperatorError ? harmless(known.message) : undefined;
}
