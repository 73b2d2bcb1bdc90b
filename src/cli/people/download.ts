import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Parley } from "../../../client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { harmless, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";

/** Stands for standard output in place of a path. */
const STDOUT = "-";

/** Downloads a file. Overwrites an existing one only with `force`, and only once the download is complete. */
export function download(
  io: Io,
  id: string,
  options: { output?: string; force?: boolean; json?: boolean },
): Promise<number> {
  if (options.output === STDOUT) return asPerson(io, (parley) => toOutput(io, parley, id, options));
  return asPerson(io, async (parley) => {
    const attachment = await parley.attachments.retrieve(id, { signal: io.stop });
    const path = await choosePath(options.output, safeName(attachment.filename));
    if (options.force) await refuseUnlessFile(path);
    else if (await lstat(path).catch(() => undefined)) throw alreadyExists(path);
    const progress = startProgress(io, attachment.filename, attachment.file_size, roundedSize);
    try {
      const file = await parley.attachments.download(attachment, {
        signal: io.stop,
        onProgress: ({ received }) => progress.at(received),
      });
      await file.saveTo(path, { overwrite: options.force === true });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "EEXIST" ? alreadyExists(path) : error;
    } finally {
      progress.end();
    }
    io.print(options.json ? jsonLine({ ...attachment, path }) : harmless(path));
    return 0;
  });
}

/** Writes the file's bytes to standard output, and nothing else. */
async function toOutput(io: Io, parley: Parley, id: string, { json }: { json?: boolean }): Promise<number> {
  if (json) throw new OperatorError("-o - prints the file itself. Omit --json.");
  if (io.columns !== undefined)
    throw new OperatorError(
      "A file can control the terminal that prints it. Redirect the output with | or >, or save it with -o FILE.",
    );
  const file = await parley.attachments.download(id, { signal: io.stop });
  try {
    await pipeline(Readable.fromWeb(file.stream), io.output(), { end: false });
  } catch (error) {
    // `main.ts` reports errors of standard output.
    if (!io.unread.aborted) throw error;
  }
  return 0;
}

/** Makes a filename that another user chose safe: it stays in its folder and is not hidden. */
function safeName(filename: string): string {
  const name = filename.replace(/[/\\\p{Cc}]/gu, "_").replace(/^[.-]+/, "_");
  return name || "file";
}

async function choosePath(output: string | undefined, name: string): Promise<string> {
  if (output === undefined) return name;
  const isFolder = output.endsWith("/") || (await stat(output).catch(() => undefined))?.isDirectory();
  return isFolder ? join(output, name) : output;
}

/** Refuses to replace what is not a regular file, such as /dev/stdout: a rename would remove it. */
async function refuseUnlessFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && !found.isFile())
    throw new OperatorError(`${harmless(path)} is not a regular file. Choose another with -o FILE.`);
}

function alreadyExists(path: string): OperatorError {
  const hint = "Choose another name with -o FILE, or overwrite it with --force.";
  return new OperatorError(`${harmless(path)} already exists. ${hint}`);
}
