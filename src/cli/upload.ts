import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { type Attachment, type Parley, ParleyApiError } from "../../client/src/index.ts";
import { OperatorError } from "../errors.ts";
import { roundedSize } from "../util/sizes.ts";
import { findContact } from "./contacts.ts";
import type { Io } from "./io.ts";
import { startProgress } from "./progress.ts";
import { type Access, asPerson, explain, isRefusal, REFUSED } from "./session.ts";
import { asOperatorError } from "./system-errors.ts";
import { counted, harmless, jsonLine } from "./text.ts";

/** In place of a path. */
const STDIN = "-";

/** Uploads files one after another; one that cannot be uploaded is told, and does not keep back those after it. */
export function upload(
  io: Io,
  paths: readonly string[],
  options: { to?: string; name?: string; json?: boolean },
): Promise<number> {
  if (options.name !== undefined && paths.length > 1)
    throw new OperatorError("--name is for one file: upload the others by themselves.");
  if (options.name === undefined && paths.includes(STDIN))
    throw new OperatorError("Say what is to be called that comes by standard input: --name FILENAME.");
  return asPerson(io, async (parley, access) => {
    const contact = options.to === undefined ? undefined : await findContact(io, parley, options.to);
    let failed = 0;
    for (const [i, path] of paths.entries()) {
      try {
        const attachment = await uploadOne(io, parley, path, options.name, contact?.conversation_id);
        io.print(options.json ? jsonLine(attachment) : harmless(`${attachment.id}  ${attachment.filename}`));
      } catch (error) {
        const reason = io.stop.aborted ? undefined : reasonOf(error, access);
        if (reason === undefined) {
          const isStopped = io.stop.aborted;
          if (isStopped) io.warn(harmless(`Perhaps uploaded: ${path}. See parley attachments list.`));
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
  const size = path === STDIN ? undefined : await sizeOf(path);
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
    // What nobody reads any more would keep the process.
    input?.destroy();
  }
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch((error) => {
    throw error.code === "ENOENT" ? new OperatorError("There is no such file.") : asOperatorError(error);
  });
  if (found.isDirectory()) throw new OperatorError("It is a folder: pack it into a file, as tar and zip do.");
  // Of a pipe it is not known how much comes.
  if (!found.isFile())
    throw new OperatorError("It is no regular file: hand in what it gives by standard input, as -.");
  return found.size;
}

/** What is wrong with this file alone; undefined for what the next would meet, too. */
function reasonOf(error: unknown, access: Access): string | undefined {
  if (error instanceof ParleyApiError) {
    if (error.code === "source_changed") return harmless(error.detail);
    const isOfAll = [401, 403, 404, 429].includes(error.status);
    return isRefusal(error) && !isOfAll ? explain(error, access) : undefined;
  }
  const known = asOperatorError(error);
  return known instanceof OperatorError ? harmless(known.message) : undefined;
}
