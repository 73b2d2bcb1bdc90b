import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { blobPath, makeStoreFolders, readDiskStore, syncStoreFolders } from "../../blobs/disk.ts";
import type { DataAccess } from "../../core/node/core.ts";
import { copyDatabase, dropPassing, withReadOnly } from "../../db/engines/sqlite/snapshot.ts";
import { isSmallFile } from "../../db/queries/storage/small-files.ts";
import { findCorruption, isBlobLive, storedFiles } from "../../db/queries/upkeep/integrity.ts";
import type { Reader } from "../../db/sql.ts";
import { OperatorError } from "../../errors.ts";
import { databaseOf, noteBackup } from "../../util/data-folder.ts";
import { syncFile, syncFolder } from "../../util/durable.ts";
import type { Io } from "../io.ts";
import { asOperatorError } from "../system-errors.ts";
import { counted } from "../text.ts";
import { copyBlob, copySecret, FOLDER_MODE, reportUploads } from "./copies.ts";
import { getDataFolder, readEmbeddedConfig, withDataAccess } from "./data.ts";
import { databaseFinding, type Finding, fileFinding, formatFinding, inFolder } from "./findings.ts";
import { amount, createWatch, type Watch } from "./watch.ts";

/** Expiry of a hold, if its backup has crashed. A running backup renews it more often. */
const HOLD_MS = 15_000;
const RENEWAL_MS = 5000;
/** The file in the backup that lists what was already damaged or missing at the source. */
const FINDINGS = "findings.txt";

/** What a backup contains. */
interface Made {
  files: number;
  bytes: number;
  findings: number;
}

/**
 * Backs up the data folder, also while a server runs. The backup gets its final name only when it is complete. Prints
 * damaged files and keeps the backup. Returns the exit code: 1 if there is a finding.
 */
export async function backup(io: Io, target: string): Promise<number> {
  const folder = resolve(target);
  const config = readEmbeddedConfig(io);
  const from = getDataFolder(config);
  return withDataAccess(config, async (accounts) => {
    if (`${folder}/`.startsWith(`${from}/`))
      throw new OperatorError(`${folder} is in the data folder. Choose another.`);
    const partial = await claim(folder);
    try {
      const made = await fill(io, accounts, from, partial);
      await rename(partial, folder);
      await syncFolder(dirname(folder));
      await noteBackup(from, accounts.clock()).catch((error) =>
        io.warn(`The time of the backup was not noted for the metrics: ${error.message}.`),
      );
      await reportUploads(io, accounts.db);
      io.print(`Backed up ${amount(made)} to ${folder}: ${counted(made.findings, "finding")}.`);
      return made.findings > 0 ? 1 : 0;
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw asOperatorError(error);
    }
  });
}

/** Claims the folder of the backup under a temporary name: creates it, or renames the empty one that exists. */
async function claim(folder: string): Promise<string> {
  const partial = `${folder}.partial`;
  try {
    if (existsSync(folder)) {
      if ((await readdir(folder)).length > 0)
        throw new OperatorError(`${folder} is not empty. Choose a new folder.`);
      // Fails for a mount point: better now than at the end.
      await rename(folder, partial);
      await chmod(partial, FOLDER_MODE);
    } else await mkdir(partial, { mode: FOLDER_MODE });
    return partial;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOTEMPTY")
      throw new OperatorError(
        `${partial} exists: another backup is running, or one was interrupted. If none is running, remove it: rm -r.`,
      );
    if (code === "EBUSY" || code === "EXDEV")
      throw new OperatorError(
        `${folder} is a mount point. Choose a folder in it, such as ${join(folder, "parley")}.`,
      );
    throw asOperatorError(error);
  }
}

async function fill(io: Io, accounts: DataAccess, from: string, to: string): Promise<Made> {
  const made: Made = { files: 0, bytes: 0, findings: 0 };
  const report = (finding: Finding) => {
    made.findings++;
    io.print(formatFinding(finding));
    // A later restore must be able to tell that the source was damaged, not the backup.
    appendFileSync(join(to, FINDINGS), `${formatFinding(finding)}\n`, { mode: 0o600, flush: true });
  };
  const watch = createWatch(io);
  // The database gets its final name last: an interrupted backup is not a valid data folder.
  const database = `${databaseOf(to)}.partial`;
  makeStoreFolders(to);
  await copyMost(accounts.db, from, to, watch);
  await whileHeld(accounts, async () => {
    await copyDatabase(databaseOf(from), database);
    dropPassing(database);
    await withReadOnly(database, (snapshot) => copyRest(snapshot, from, to, watch, made, report));
  });
  await withReadOnly(database, async (snapshot) => {
    for (const message of (await findCorruption(snapshot)).rows)
      report(databaseFinding(databaseOf(from), message));
    await removeOthers(snapshot, to);
  });
  await copySecret(from, to);
  await syncStoreFolders(to);
  await syncFile(database);
  await rename(database, databaseOf(to));
  await syncFolder(to);
  return made;
}

/** Copies all intact files without a hold. `copyRest` checks the others again. */
async function copyMost(db: Reader, from: string, to: string, watch: Watch): Promise<void> {
  const blobs = readDiskStore(from);
  for await (const file of storedFiles(db)) {
    watch.onFile();
    if (isSmallFile(file)) continue;
    if (await copyBlob(db, blobs, file, to, watch)) await unlink(blobPath(to, file.blob_key));
  }
}

/** Copies the files of the snapshot that are not copied yet. */
async function copyRest(
  snapshot: Reader,
  from: string,
  to: string,
  watch: Watch,
  made: Made,
  report: (finding: Finding) => void,
): Promise<void> {
  const blobs = readDiskStore(from);
  for await (const file of storedFiles(snapshot)) {
    const path = isSmallFile(file) ? undefined : blobPath(to, file.blob_key);
    const isCopied = path !== undefined && existsSync(path);
    const fault = isCopied ? undefined : await copyBlob(snapshot, blobs, file, to, watch);
    if (fault) report(fileFinding(inFolder(from), file, fault));
    if (fault?.kind !== "missing") {
      made.files++;
      made.bytes += file.file_size;
    }
    // The readable part of a damaged file may be useful; an empty file in place of a missing one is not.
    if (fault?.kind === "missing" && path !== undefined) await unlink(path);
  }
}

/** Removes copied files whose attachments were deleted before the snapshot. */
async function removeOthers(snapshot: Reader, to: string): Promise<void> {
  for await (const items of readDiskStore(to).list()) {
    for (const { key } of items) {
      if (key !== null && !(await isBlobLive(snapshot, key))) await unlink(blobPath(to, key));
    }
  }
}

/**
 * Runs work under a hold, so that no server erases bytes. An eraser that is already running when the hold is placed
 * only erases attachments whose deletion is committed, so later snapshots do not contain them.
 */
async function whileHeld({ db, clock }: DataAccess, work: () => Promise<void>): Promise<void> {
  const name = randomUUID();
  const times = () => ({ now: clock(), until: clock() + HOLD_MS });
  await db.write("placeHold", { name, ...times() });
  // The next renewal makes up for a failed one. If all fail, the hold expires, which is reported below.
  const renewal = setInterval(() => db.write("renewHold", { name, ...times() }).catch(() => {}), RENEWAL_MS);
  let held = false;
  try {
    await work();
  } finally {
    clearInterval(renewal);
    held = await db.write("dropHold", { name, now: clock() });
  }
  if (!held)
    throw new OperatorError(
      "The backup was paused for too long, and files may have been erased meanwhile. Run it again.",
    );
}
