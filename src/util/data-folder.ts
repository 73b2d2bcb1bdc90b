import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { OperatorError } from "../errors.ts";
import { syncFolder } from "./durable.ts";
import type { Random } from "./ids.ts";

/** A shorter secret could be guessed. Characters. */
export const MIN_SECRET_LENGTH = 32;

/** The files of a data folder. */
export interface DataFolder {
  path: string;
  database: string;
  lock: string;
}

/** Where the SQLite database of a data folder lies. */
export function databaseOf(folder: string): string {
  return join(folder, "parley.db");
}

/** What a restore that is under way, or was cut off, has in a data folder. */
export function restoreOf(folder: string): string {
  return join(folder, "restore.partial");
}

/** What a server of a data folder locks. */
export function lockOf(folder: string): string {
  return join(folder, "server.lock");
}

/** Throws where a restore into the folder did not end. */
export function refuseHalfRestore(folder: string): void {
  if (!existsSync(restoreOf(folder))) return;
  throw new OperatorError(
    `A restore into ${folder} is under way, or was cut off. If none is at work, empty the folder and restore again.`,
  );
}

/**
 * Makes the folder where it is missing, readable by its owner alone. Throws where a restore into it did not end, and
 * where files are there and the database, which it shall hold, is not.
 */
export async function openDataFolder(path: string, holds: "database" | "files"): Promise<DataFolder> {
  refuseHalfRestore(path);
  if (holds === "database" && existsSync(join(path, "blobs")) && !existsSync(databaseOf(path))) {
    throw new OperatorError(
      `${path} has files of a Parley, and no parley.db. Move it away, and restore a backup: parley restore BACKUP.`,
    );
  }
  const made: string[] = [];
  try {
    makeFolder(path, made);
  } catch (error) {
    throw new OperatorError(`PARLEY_DATA=${path} cannot be made: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  // Each folder that is new is an entry of the one above it.
  for (const folder of made) await syncFolder(dirname(folder));
  return { path, database: databaseOf(path), lock: lockOf(path) };
}

/** Whether others on this machine may put files into a folder that is there. */
export function isOpenToOthers(folder: string): boolean {
  return ((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o022) !== 0;
}

/** Makes the folder and those above it that are missing. Node's own way never returns for a path below `/proc`. */
function makeFolder(path: string, made: string[]): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path), made);
  mkdirSync(path, { mode: 0o700 });
  made.push(path);
}

/** The secret that signs links, made at the first call and kept. */
export async function readSecret(folder: DataFolder, random: Random): Promise<string> {
  const path = secretOf(folder.path);
  if (existsSync(path)) return keptSecret(folder.path);
  const bytes = new Uint8Array(32);
  random(bytes);
  const secret = Buffer.from(bytes).toString("base64url");
  // Renamed into place only when whole: a crash leaves no half of a secret.
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

/** The secret that a data folder has. Throws `OperatorError` where it has none. */
export function keptSecret(folder: string): string {
  const path = secretOf(folder);
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

function secretOf(folder: string): string {
  return join(folder, "secret");
}

/** Secrets, separated by commas; undefined where one is too short. */
export function parseSecrets(text: string): string[] | undefined {
  if (text === "") return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  return secrets.every((secret) => secret.length >= MIN_SECRET_LENGTH) ? secrets : undefined;
}
