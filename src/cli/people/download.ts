import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Download, DownloadOptions, Parley } from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { harmless, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import { getConversationId } from "./partners.ts";

/** Stands for standard output in place of a path. */
const STDOUT = "-";

/** Something to download: a file, or an archive of several. */
interface Source {
  filename: string;
  size: number;
  /** Printed with `json`. */
  shown: object;
  open(options: DownloadOptions): Promise<Download>;
}

/**
 * Downloads one file, or an archive of several files or of a whole conversation. Overwrites an existing file only
 * with `force`, and only once the download is complete.
 */
export function download(
  io: Io,
  ids: readonly string[],
  options: { with?: string; output?: string; force?: boolean; json?: boolean },
): Promise<number> {
  if ((ids.length === 0) === (options.with === undefined))
    throw new OperatorError("Name files by their ids, or a conversation: --with CONVERSATION.");
  return asPerson(io, async (parley) => {
    const find = () => findSource(io, parley, ids, options.with);
    if (options.output === STDOUT) return toOutput(io, find, options);
    const source = await find();
    const path = await choosePath(options.output, safeName(source.filename));
    if (options.force) await refuseUnlessFile(path);
    else if (await lstat(path).catch(() => undefined)) throw alreadyExists(path);
    const progress = startProgress(io, source.filename, source.size, roundedSize);
    try {
      const file = await source.open({
        signal: io.stop,
        onProgress: ({ received }) => progress.at(received),
      });
      await file.saveTo(path, { overwrite: options.force === true });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "EEXIST" ? alreadyExists(path) : error;
    } finally {
      progress.end();
    }
    io.print(options.json ? jsonLine({ ...source.shown, path }) : harmless(path));
    return 0;
  });
}

async function findSource(
  io: Io,
  parley: Parley,
  ids: readonly string[],
  conversation: string | undefined,
): Promise<Source> {
  const call = { signal: io.stop };
  if (ids.length === 1) {
    const attachment = await parley.attachments.retrieve(ids[0]!, call);
    const open = (options: DownloadOptions) => parley.attachments.download(attachment, options);
    return { filename: attachment.filename, size: attachment.file_size, shown: attachment, open };
  }
  const files =
    conversation === undefined
      ? { attachment_ids: ids }
      : { conversation_id: await getConversationId(io, parley, conversation) };
  const archive = await parley.archives.create(files, call);
  const open = (options: DownloadOptions) => parley.archives.download(archive, options);
  return { filename: archive.filename, size: archive.size, shown: archive, open };
}

/** Writes only the file's bytes to standard output. */
async function toOutput(io: Io, find: () => Promise<Source>, { json }: { json?: boolean }): Promise<number> {
  if (json) throw new OperatorError("-o - prints the file itself. Omit --json.");
  if (io.columns !== undefined)
    throw new OperatorError(
      "A file can control the terminal that prints it. Redirect the output with | or >, or save it with -o FILE.",
    );
  const source = await find();
  const file = await source.open({ signal: io.stop });
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

/** Refuses to replace anything but a regular file: a rename would remove, for example, /dev/stdout. */
async function refuseUnlessFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && !found.isFile())
    throw new OperatorError(`${harmless(path)} is not a regular file. Choose another with -o FILE.`);
}

function alreadyExists(path: string): OperatorError {
  const hint = "Choose another name with -o FILE, or overwrite it with --force.";
  return new OperatorError(`${harmless(path)} already exists. ${hint}`);
}
