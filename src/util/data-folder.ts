import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { open, readFile, rename, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OperatorError } from "../errors.ts";
import { syncFolder } from "./durable.ts";
import type { Random } from "./ids.ts";

/** In characters. Shorter secrets could be guessed. */
export const MIN_SECRET_LENGTH = 32;
/** The file with the time of the last backup. */
const LAST_BACKUP = "last-backup";

/** The files of a data folder. */
export interface DataFolder {
  path: string;
  database: string;
  lock: string;
}

/** Returns the path of the SQLite database of a data folder. */
export function databaseOf(folder: string): string {
  return join(folder, "parley.db");
}

/** Returns the path that exists in a data folder during a restore and after an interrupted one. */
export function restoreOf(folder: string): string {
  return join(folder, "restore.partial");
}

/** Returns the path of the file that the server of a data folder locks. */
export function lockOf(folder: string): string {
  return join(folder, "server.lock");
}

/** Keeps the time of a complete backup of a data folder, in milliseconds. */
export async function noteBackup(folder: string, now: number): Promise<void> {
  await writeFile(join(folder, LAST_BACKUP), `${new Date(now).toISOString()}\n`);
}

/** Returns when the last complete backup of a data folder ended, in milliseconds; null if none is known. */
export async function readLastBackup(folder: string): Promise<number | null> {
  const text = await readFile(join(folder, LAST_BACKUP), "utf8").catch(() => "");
  const at = Date.parse(text.trim());
  return Number.isNaN(at) ? null : at;
}

/** Returns the size of the folder's disk and its free space, in bytes. */
export async function measureDisk(folder: string): Promise<{ total: number; free: number }> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return { total: blocks * bsize, free: bavail * bsize };
}

/** Throws if a restore into the folder was interrupted. */
export function refuseHalfRestore(folder: string): void {
  if (!existsSync(restoreOf(folder))) return;
  throw new OperatorError(
    `A restore into ${folder} is running or was interrupted. If none is running, empty the folder and restore again.`,
  );
}

/**
 * Creates the folder if it is missing, readable only by its owner. Throws if a restore into it was interrupted, or if
 * it contains files but not the database that it should hold.
 */
export async function openDataFolder(path: string, holds: "database" | "files"): Promise<DataFolder> {
  refuseHalfRestore(path);
  if (holds === "database" && existsSync(join(path, "blobs")) && !existsSync(databaseOf(path))) {
    throw new OperatorError(
      `${path} has files of a Parley, and no parley.db. Move it away, and restore a backup: parley restore BACKUP.`,
    );
  }
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new OperatorError(`PARLEY_DATA=${path} cannot be used: it is a file.`);
  const made: string[] = [];
  try {
    makeFolder(path, made);
  } catch (error) {
    throw new OperatorError(`PARLEY_DATA=${path} cannot be made: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  // Each new folder is an entry of its parent, so the parent needs a sync.
  for (const folder of made) await syncFolder(dirname(folder));
  return { path, database: databaseOf(path), lock: lockOf(path) };
}

/** Reports whether other users of this machine may write to an existing folder. */
export function isOpenToOthers(folder: string): boolean {
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o022) !== 0;
}

/**
 * Creates the folder and its missing parents, readable only by their owner, and adds them to `made`. Node's
 * `recursive` never returns for a path below `/proc`.
 */
export function makeFolder(path: string, made: string[] = []): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), made);
  mkdirSync(path, { mode: 0o700 });
  made.push(path);
}

/** Returns the secret that signs links; the first call creates and stores it. */
export async function readSecret(folder: DataFolder, random: Random): Promise<string> {
  const path = secretPath(folder.path);
  if (existsSync(path)) return keptSecret(folder.path);
  const bytes = new Uint8Array(32);
  random(bytes);
  const secret = Buffer.from(bytes).toString("base64url");
  // Renamed when complete, so that a crash leaves no partial secret.
  const file = await open(`${path}.new`, "w", 0o600);
  try {
    await file.writeFile(`${secret}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncFolder(folder.path);
  return secret;
}

/** Returns the secret of a data folder. Throws `OperatorError` if it has none. */
export function keptSecret(folder: string): string {
  const path = secretPath(folder);
  let secret: string;
  try {
    secret = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
  if (secret.length >= MIN_SECRET_LENGTH) return secret;
  throw new OperatorError(
    `${path} must hold at least ${MIN_SECRET_LENGTH} characters. Restore it from a backup, or remove it: then ` +
      "another is made, and the links that are on their way end.",
  );
}

function secretPath(folder: string): string {
  return join(folder, "secret");
}

/** Parses comma-separated secrets; undefined if one is too short. */
export function parseSecrets(text: string): string[] | undefined {
  if (text === "") return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  return secrets.every((secret) => secret.length >= MIN_SECRET_LENGTH) ? secrets : undefined;
}
