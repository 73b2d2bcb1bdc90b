import { join } from "node:path";
import { blobPath } from "../../blobs/disk.ts";
import type { Config } from "../../config/settings.ts";
import type { Fault, Stray } from "../../core/upkeep/integrity.ts";
import type { IndexFault } from "../../db/queries/search/search-check.ts";
import { isSmallFile } from "../../db/queries/storage/small-files.ts";
import type { Miscount } from "../../db/queries/storage/storage-used.ts";
import { isAvatar, type StoredFile } from "../../db/queries/upkeep/integrity.ts";
import type { Orphan } from "../../db/queries/upkeep/orphans.ts";
import { databaseOf } from "../../util/data-folder.ts";

/** A problem, in words and as data. `parley check --json` prints the data and `hint`. */
export interface Finding {
  data: { kind: string } & Record<string, string | number | null>;
  text: string;
  hint: string;
}

/** Where the bytes of files are stored, and how the operator restores or erases one. */
export interface StorageLocation {
  /** The database's name in messages. */
  database: string;
  toPath(key: string): string;
  restore(key: string): string;
  strayPath(name: string): string;
  erase(path: string): string;
}

export function inFolder(folder: string, database = databaseOf(folder)): StorageLocation {
  return {
    database,
    toPath: (key) => toBlobPath(folder, key),
    restore: (key) =>
      `Restore it from a backup: cp BACKUP/blobs/${key.slice(0, 2)}/${key} ${quote(toBlobPath(folder, key))}`,
    strayPath: (name) => join(folder, name),
    erase: (path) => `rm ${quote(path)}`,
  };
}

export function toLocation({ databaseUrl, dataFolder, store }: Config): StorageLocation {
  const database = databaseUrl === null ? databaseOf(dataFolder) : "the PostgreSQL database";
  return store === null ? inFolder(dataFolder, database) : inBucket(store.bucket, database);
}

function inBucket(bucket: string, database: string): StorageLocation {
  const toPath = (name: string) => `s3://${bucket}/${name}`;
  return {
    database,
    toPath,
    restore: (key) => `Restore the object ${key} from a backup of the bucket ${bucket}`,
    strayPath: toPath,
    erase: () => "delete the object",
  };
}

/** Reports an attachment, or a picture of a user, whose stored bytes do not match its row. */
export function fileFinding(location: StorageLocation, file: StoredFile, fault: Fault): Finding {
  const path = isSmallFile(file) ? location.database : location.toPath(file.blob_key);
  const what = isSmallFile(file) ? `its copy in ${path}` : path;
  return {
    data: { ...describeFile(file), blob_key: file.blob_key, path, file_size: file.file_size, ...fault },
    text: `${nameFile(file)}: ${what} ${describeFault(file, fault)}`,
    hint: `${restoreHint(location, file)}; without one, delete it with a token that has the scope admin: DELETE ${toApiPath(file)}.`,
  };
}

/** Reports an attachment, or a picture of a user, that was withdrawn because the scanner found something in it. */
export function infectedFinding(file: StoredFile, found: string): Finding {
  return {
    data: { kind: "infected", ...describeFile(file), found },
    text: `${nameFile(file)}: the scanner found ${found}.`,
    hint: "It was withdrawn: nobody can retrieve it any more, and a running server erases its bytes.",
  };
}

function toApiPath(file: StoredFile): string {
  return isAvatar(file) ? `/v1/users/${file.uploader_id}/avatar` : `/v1/attachments/${file.id}`;
}

function describeFile(file: StoredFile) {
  const { id, filename, uploader, uploader_id } = file;
  return { [isAvatar(file) ? "avatar_id" : "attachment_id"]: id, filename, uploader, uploader_id };
}

function nameFile({ id, filename, uploader, uploader_id }: StoredFile): string {
  return `${id} ${JSON.stringify(filename)} of ${uploader ?? `${uploader_id}, a user who was removed`}`;
}

function restoreHint(location: StorageLocation, file: StoredFile): string {
  return isSmallFile(file)
    ? "Restore a backup to another folder, and upload the file again from there"
    : location.restore(file.blob_key);
}

function describeFault(file: StoredFile, fault: Fault): string {
  switch (fault.kind) {
    case "missing":
      return "is missing.";
    case "size":
      return `has ${fault.found} bytes, expected ${file.file_size}.`;
    case "damaged":
      return "is damaged: its SHA-256 does not match the upload.";
    case "unreadable":
      return `cannot be read: ${fault.reason}.`;
  }
}

/** Returns the path of a file, also for an invalid key in a damaged row. */
function toBlobPath(folder: string, key: string): string {
  try {
    return blobPath(folder, key);
  } catch {
    return join(folder, "blobs", JSON.stringify(key));
  }
}

/** Reports a stored file that has no row. */
export function strayFinding(location: StorageLocation, stray: Stray): Finding {
  const path = location.strayPath(stray.name);
  return stray.size === null
    ? {
        data: { kind: "foreign", path },
        text: `${JSON.stringify(path)} is not one of Parley's files.`,
        hint: "Move it out of the data folder or bucket.",
      }
    : {
        data: { kind: "orphan", path, size: stray.size },
        text: `${path} has ${stray.size} bytes and belongs to no attachment.`,
        hint: `It is unreachable, and the server does not erase it. Erase it: ${location.erase(path)}.`,
      };
}

/** Reports a user whose storage sum is wrong. */
export function miscountFinding({ user_id, username, used, found }: Miscount): Finding {
  return {
    data: { kind: "storage", user_id, username, used, found },
    text: `The files of ${username} have ${found} bytes, but ${used} are counted.`,
    hint: "This is a bug in Parley: please report it. No file is affected; the user's quota is off by the difference.",
  };
}

/** Reports a row that contradicts rows of other tables. */
export function orphanFinding({ table, row, problem, isRepairable }: Orphan): Finding {
  return {
    data: { kind: "row", table, row, problem },
    text: `The row ${row} of ${table} ${problem}.`,
    hint: isRepairable ? REPAIR_CONTACTS : "This is a bug in Parley: please report it.",
  };
}

/** Reports damage that SQLite found in a database file. */
export function databaseFinding(path: string, message: string): Finding {
  return {
    data: { kind: "database", path, message },
    text: `${path} is damaged: ${message}`,
    hint: "Stop the server, move the data folder away, and restore a backup: parley restore BACKUP.",
  };
}

const REPAIR_CONTACTS =
  "An older Parley created it beside a newer one. Repair it, also while the server runs: parley check --repair-contacts.";
const REPAIR_SEARCH = "Rebuild it, also while the server runs: parley check --repair-search.";

/** Reports a message that search does not find, or a deleted one that is still in the index. */
export function indexFinding({ body_id, message_id }: IndexFault): Finding {
  return {
    data: { kind: "search", message_id, body_id },
    text:
      message_id === null
        ? `The search index has words of a deleted text, ${body_id}.`
        : `The search index lacks words of the message ${message_id}.`,
    hint: REPAIR_SEARCH,
  };
}

/** Reports damage that SQLite found in the search index. */
export function indexDamageFinding(path: string, message: string): Finding {
  return {
    data: { kind: "search", path, message },
    text: `The search index in ${path} is damaged: ${message}`,
    hint: REPAIR_SEARCH,
  };
}

/** Formats a finding as text. */
export function formatFinding(finding: Finding): string {
  return `${finding.text}\n  ${finding.hint}`;
}

/** Quotes a path for the shell. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
