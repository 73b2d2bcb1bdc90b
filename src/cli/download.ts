import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Parley } from "../../client/src/index.ts";
import { OperatorError } from "../errors.ts";
import { roundedSize } from "../util/sizes.ts";
import type { Io } from "./io.ts";
import { startProgress } from "./progress.ts";
import { asPerson } from "./session.ts";
import { harmless, jsonLine } from "./text.ts";

/** In place of a path. */
const STDOUT = "-";

/** Saves a file. One that is there is not overwritten without `force`, and only by the whole. */
export function download(
  io: Io,
  id: string,
  options: { output?: string; force?: boolean; json?: boolean },
): Promise<number> {
  if (options.output === STDOUT) return asPerson(io, (parley) => toOutput(io, parley, id, options));
  return asPerson(io, async (parley) => {
    const attachment = await parley.attachments.retrieve(id, { signal: io.stop });
    const path = await placeOf(options.output, safeName(attachment.filename));
    if (options.force) await refuseUnlessFile(path);
    else if (await lstat(path).catch(() => undefined)) throw isThere(path);
    const progress = startProgress(io, attachment.filename, attachment.file_size, roundedSize);
    try {
      const file = await parley.attachments.download(attachment, {
        signal: io.stop,
        onProgress: ({ received }) => progress.at(received),
      });
      await file.saveTo(path, { overwrite: options.force === true });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "EEXIST" ? isThere(path) : error;
    } finally {
      progress.end();
    }
    io.print(options.json ? jsonLine({ ...attachment, path }) : harmless(path));
    return 0;
  });
}

/** Hands the bytes on, and nothing besides. */
async function toOutput(io: Io, parley: Parley, id: string, { json }: { json?: boolean }): Promise<number> {
  if (json) throw new OperatorError("-o - prints the file itself: leave --json out.");
  if (io.columns !== undefined)
    throw new OperatorError(
      "What is in a file may drive a terminal. Hand it on with | or >, or name a file.",
    );
  const file = await parley.attachments.download(id, { signal: io.stop });
  try {
    await pipeline(Readable.fromWeb(file.stream), io.output(), { end: false });
  } catch (error) {
    // What has become of standard output is told where that is known.
    if (!io.unread.aborted) throw error;
  }
  return 0;
}

/** A name that somebody else has chosen, as one that does nothing here: it stays in its folder, and is not hidden. */
function safeName(filename: string): string {
  const name = filename.replace(/[/\\\p{Cc}]/gu, "_").replace(/^[.-]+/, "_");
  return name || "file";
}

async function placeOf(output: string | undefined, name: string): Promise<string> {
  if (output === undefined) return name;
  const isFolder = output.endsWith("/") || (await stat(output).catch(() => undefined))?.isDirectory();
  return isFolder ? join(output, name) : output;
}

/** What is no file, such as /dev/stdout, would be gone, and not written to. */
async function refuseUnlessFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && !found.isFile())
    throw new OperatorError(`${harmless(path)} is no regular file. Name another with -o FILE.`);
}

function isThere(path: string): OperatorError {
  const mend = "Name another with -o FILE, or overwrite it with --force.";
  return new OperatorError(`${harmless(path)} is there already. ${mend}`);
}
