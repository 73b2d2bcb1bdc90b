import { join } from "node:path";
import { blobPath } from "../blobs/disk.ts";
import type { Fault, Stray } from "../core/integrity.ts";
import type { StoredFile } from "../db/integrity.ts";
import { isSmallFile } from "../db/small-files.ts";
import { databaseOf } from "../util/data-folder.ts";

/** Something that is wrong, in words and as data. The members of the data are the lines of `parley check --json`. */
export interface Finding {
  data: { kind: string } & Record<string, string | number | null>;
  text: string;
  mend: string;
}

/** An attachment whose bytes, in this data folder, are not what its row says. */
export function fileFinding(folder: string, file: StoredFile, fault: Fault): Finding {
  const path = isSmallFile(file) ? databaseOf(folder) : pathOf(folder, file.blob_key);
  const place = isSmallFile(file) ? `its copy in ${path}` : path;
  const owner = file.uploader ?? `${file.uploader_id}, a user who was removed`;
  return {
    data: {
      attachment_id: file.id,
      filename: file.filename,
      uploader: file.uploader,
      uploader_id: file.uploader_id,
      blob_key: file.blob_key,
      path,
      file_size: file.file_size,
      ...fault,
    },
    text: `${file.id} ${JSON.stringify(file.filename)} of ${owner}: ${place} ${said(file, fault)}`,
    mend: `${bringBack(file, path)}; ${
      file.uploader === null
        ? "without one it stays so, as nobody else may delete it."
        : `without one, let its uploader delete it: DELETE /v1/attachments/${file.id}.`
    }`,
  };
}

function bringBack(file: StoredFile, path: string): string {
  return isSmallFile(file)
    ? "Restore a backup to another data folder, and upload it again from there"
    : `Bring it back from a backup: cp BACKUP/blobs/${file.blob_key.slice(0, 2)}/${file.blob_key} ${quote(path)}`;
}

function said(file: StoredFile, fault: Fault): string {
  switch (fault.kind) {
    case "missing":
      return "is not there.";
    case "size":
      return `has ${fault.found} bytes and should have ${file.file_size}.`;
    case "damaged":
      return "is damaged: its SHA-256 is not that of the upload.";
    case "unreadable":
      return `cannot be read: ${fault.reason}.`;
  }
}

/** The path, also where a damaged row has a key that is none. */
function pathOf(folder: string, key: string): string {
  try {
    return blobPath(folder, key);
  } catch {
    return join(folder, "blobs", JSON.stringify(key));
  }
}

/** Something in this data folder that no row knows. */
export function strayFinding(folder: string, stray: Stray): Finding {
  const path = join(folder, stray.name);
  return stray.size === null
    ? {
        data: { kind: "foreign", path },
        text: `${JSON.stringify(path)} is none of Parley's files.`,
        mend: "Move it out of the folder.",
      }
    : {
        data: { kind: "orphan", path, size: stray.size },
        text: `${path} has ${stray.size} bytes and no attachment.`,
        mend: `Nobody can reach it, and nothing erases it by itself: rm ${quote(path)}.`,
      };
}

/** A database file that SQLite says is damaged. */
export function databaseFinding(path: string, message: string): Finding {
  return {
    data: { kind: "database", path, message },
    text: `${path} is damaged: ${message}`,
    mend: "Stop the server, move the data folder away, and restore a backup: parley restore BACKUP.",
  };
}

/** A finding for people. */
export function inWords(finding: Finding): string {
  return `${finding.text}\n  ${finding.mend}`;
}

/** A path as a word of the shell. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
