import { join } from "node:path";
import { blobPath } from "../blobs/disk.ts";
import type { Fault, Stray } from "../core/integrity.ts";
import type { StoredFile } from "../db/integrity.ts";
import { isSmallFile } from "../db/small-files.ts";
import type { Miscount } from "../db/storage.ts";
import { databaseOf } from "../util/data-folder.ts";

/** Something that is wrong, in words and as data. The members of the data are the lines of `parley check --json`. */
export interface Finding {
  data: { kind: string } & Record<string, string | number | null>;
  text: string;
  mend: string;
}

/** Where the bytes of files lie, and how a person brings one back or erases what nobody needs. */
export interface Place {
  /** What people know the database by. */
  database: string;
  pathOf(key: string): string;
  bringBack(key: string): string;
  strayPath(name: string): string;
  erase(path: string): string;
}

export function inFolder(folder: string, database = databaseOf(folder)): Place {
  return {
    database,
    pathOf: (key) => pathOf(folder, key),
    bringBack: (key) =>
      `Bring it back from a backup: cp BACKUP/blobs/${key.slice(0, 2)}/${key} ${quote(pathOf(folder, key))}`,
    strayPath: (name) => join(folder, name),
    erase: (path) => `rm ${quote(path)}`,
  };
}

export function inBucket(bucket: string, database: string): Place {
  const pathOf = (name: string) => `s3://${bucket}/${name}`;
  return {
    database,
    pathOf,
    bringBack: (key) => `Bring the object ${key} back from a backup of the bucket ${bucket}`,
    strayPath: pathOf,
    erase: () => "delete the object",
  };
}

/** An attachment whose bytes, in this place, are not what its row says. */
export function fileFinding(place: Place, file: StoredFile, fault: Fault): Finding {
  const path = isSmallFile(file) ? place.database : place.pathOf(file.blob_key);
  const what = isSmallFile(file) ? `its copy in ${path}` : path;
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
    text: `${file.id} ${JSON.stringify(file.filename)} of ${owner}: ${what} ${said(file, fault)}`,
    mend: `${bringBack(place, file)}; ${
      file.uploader === null
        ? "without one it stays so, as nobody else may delete it."
        : `without one, let its uploader delete it: DELETE /v1/attachments/${file.id}.`
    }`,
  };
}

function bringBack(place: Place, file: StoredFile): string {
  return isSmallFile(file)
    ? "Restore a backup elsewhere, and upload it again from there"
    : place.bringBack(file.blob_key);
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

/** Something in this place that no row knows. */
export function strayFinding(place: Place, stray: Stray): Finding {
  const path = place.strayPath(stray.name);
  return stray.size === null
    ? {
        data: { kind: "foreign", path },
        text: `${JSON.stringify(path)} is none of Parley's files.`,
        mend: "Move it elsewhere.",
      }
    : {
        data: { kind: "orphan", path, size: stray.size },
        text: `${path} has ${stray.size} bytes and no attachment.`,
        mend: `Nobody can reach it, and nothing erases it by itself: ${place.erase(path)}.`,
      };
}

/** A user whose storage is counted wrong. */
export function miscountFinding({ user_id, username, used, found }: Miscount): Finding {
  return {
    data: { kind: "storage", user_id, username, used, found },
    text: `The files of ${username} have ${found} bytes, and ${used} are counted.`,
    mend: "This is a fault of Parley's: please report it. No file is harmed; the user's quota is off by the difference.",
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
