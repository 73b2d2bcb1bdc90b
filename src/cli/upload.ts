import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { type Attachment, type Parley, ParleyApiError } from "../../client/src/index.ts";
import { OperatorError } from "../errors.ts";
import { findContact } from "./contacts.ts";
import type { Io } from "./io.ts";
import { type Access, asPerson, explain, isRefusal, REFUSED } from "./session.ts";
import { asOperatorError } from "./system-errors.ts";
import { harmless, jsonLine } from "./text.ts";
import { startTransfer } from "./transfer.ts";
import { counted } from "./watch.ts";

/** Uploads files one after another; one that cannot be uploaded is told, and does not keep back those after it. */
export function upload(
  io: Io,
  paths: readonly string[],
  options: { to?: string; json?: boolean },
): Promise<number> {
  return asPerson(io, async (parley, access) => {
    const contact = options.to === undefined ? undefined : await findContact(io, parley, options.to);
    let failed = 0;
    for (const [i, path] of paths.entries()) {
      try {
        const attachment = await uploadOne(io, parley, path, contact?.conversation_id);
        io.print(options.json ? jsonLine(attachment) : harmless(`${attachment.id}  ${attachment.filename}`));
      } catch (error) {
        const reason = io.stop.aborted ? undefined : reasonOf(error, access);
        if (reason === undefined) {
          io.warn(harmless(`Not uploaded: ${paths.slice(i).join(", ")}`));
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
  conversation: string | undefined,
): Promise<Attachment> {
  const found = await stat(path).catch((error) => {
    throw error.code === "ENOENT" ? new OperatorError("There is no such file.") : asOperatorError(error);
  });
  if (found.isDirectory()) throw new OperatorError("It is a folder: pack it into a file, as tar and zip do.");
  // Of a pipe it is not known how much comes.
  if (!found.isFile()) throw new OperatorError("It is no regular file: save what it gives to one.");
  const transfer = startTransfer(io, basename(path), found.size);
  try {
    return await parley.attachments.upload(path, {
      conversation_id: conversation,
      signal: io.stop,
      onProgress: ({ sent }) => transfer.at(sent),
    });
  } finally {
    transfer.end();
  }
}

/** What is wrong with this file alone; undefined for what the next would meet, too. */
function reasonOf(error: unknown, access: Access): string | undefined {
  if (error instanceof ParleyApiError) {
    const isOfAll = [401, 403, 404, 429].includes(error.status);
    return isRefusal(error) && !isOfAll ? explain(error, access) : undefined;
  }
  const known = asOperatorError(error);
  return known instanceof OperatorError ? harmless(known.message) : undefined;
}
