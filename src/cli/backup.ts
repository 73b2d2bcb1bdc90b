import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { blobPath, makeStoreFolders, readDiskStore, syncStoreFolders } from "../blobs/disk.ts";
import type { Accounts } from "../core/core.ts";
import { isBlobLive } from "../db/attachments.ts";
import { findCorruption, storedFiles } from "../db/integrity.ts";
import { isSmallFile } from "../db/small-files.ts";
import { copyDatabase, dropPassing, withReadOnly } from "../db/snapshot.ts";
import type { Reader } from "../db/sql.ts";
import { OperatorError } from "../errors.ts";
import { databaseOf } from "../util/data-folder.ts";
import { syncFile, syncFolder } from "../util/durable.ts";
import { copyBlob, copySecret, FOLDER_MODE } from "./copies.ts";
import { dataFolderOf, embeddedConfig, withAccounts } from "./data.ts";
import { databaseFinding, type Finding, fileFinding, inFolder, inWords } from "./findings.ts";
import type { Io } from "./io.ts";
import { asOperatorError } from "./system-errors.ts";
import { counted } from "./text.ts";
import { amount, createWatch, type Watch } from "./watch.ts";

/** How long after a backup has died the eraser works again, and how often a living one renews its hold. */
const HOLD_MS = 15_000;
const RENEWAL_MS = 5000;
/** In the backup: what was damaged or missing already where it was copied from. */
const FINDINGS = "findings.txt";

/** What a backup has; in bytes. */
interface Made {
  files: number;
  bytes: number;
  findings: number;
}

/**
 * Copies the data folder, also beside a running server, to a folder that gets its name only when it is whole. Prints
 * what it found damaged, and keeps the backup all the same. Returns the exit code: 1 where there is a finding.
 */
export async function backup(io: Io, target: string): Promise<number> {
  const folder = resolve(target);
  const config = embeddedConfig(io);
  const from = dataFolderOf(config);
  return withAccounts(config, async (accounts) => {
    if (`${folder}/`.startsWith(`${from}/`))
      throw new OperatorError(`${folder} lies in the data folder. Name another.`);
    const partial = await claim(folder);
    try {
      const made = await fill(io, accounts, from, partial);
      await rename(partial, folder);
      await syncFolder(dirname(folder));
      io.print(`Backed up ${amount(made)} to ${folder}: ${counted(made.findings, "finding")}.`);
      return made.findings > 0 ? 1 : 0;
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      throw asOperatorError(error);
    }
  });
}

/** The folder that becomes the backup: a new one, or the empty one that the user has made, under another name. */
async function claim(folder: string): Promise<string> {
  const partial = `${folder}.partial`;
  try {
    if (existsSync(folder)) {
      if ((await readdir(folder)).length > 0)
        throw new OperatorError(`${folder} is not empty. Name a new folder.`);
      // Of a mount point this would fail at the end, too.
      await rename(folder, partial);
      await chmod(partial, FOLDER_MODE);
    } else await mkdir(partial, { mode: FOLDER_MODE });
    return partial;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOTEMPTY")
      throw new OperatorError(
        `${partial} is there: another backup is at work, or one was cut off. If none is at work, remove it: rm -r.`,
      );
    if (code === "EBUSY" || code === "EXDEV")
      throw new OperatorError(
        `${folder} is a mount point. Name a folder in it, such as ${join(folder, "parley")}.`,
      );
    throw asOperatorError(error);
  }
}

async function fill(io: Io, accounts: Accounts, from: string, to: string): Promise<Made> {
  const made: Made = { files: 0, bytes: 0, findings: 0 };
  const report = (finding: Finding) => {
    made.findings++;
    io.print(inWords(finding));
    // Who restores this backup a year later must know that it was not the backup that went bad.
    appendFileSync(join(to, FINDINGS), `${inWords(finding)}\n`, { mode: 0o600, flush: true });
  };
  const watch = createWatch(io);
  // Under this name until all is there: what is cut off before is no data folder, whatever it is called.
  const database = `${databaseOf(to)}.partial`;
  makeStoreFolders(to);
  await copyMost(accounts.db, from, to, watch);
  await whileHeld(accounts, async () => {
    await copyDatabase(databaseOf(from), database);
    dropPassing(database);
    await withReadOnly(database, (snapshot) => copyRest(snapshot, from, to, watch, made, report));
  });
  await withReadOnly(database, async (snapshot) => {
    for (const message of await findCorruption(snapshot)) report(databaseFinding(databaseOf(from), message));
    await removeOthers(snapshot, to);
  });
  await copySecret(from, to);
  await syncStoreFolders(to);
  await syncFile(database);
  await rename(database, databaseOf(to));
  await syncFolder(to);
  return made;
}

/** Copies, without a hold, all that is whole; what is not is looked at again in the snapshot, if it is still there. */
async function copyMost(db: Reader, from: string, to: string, watch: Watch): Promise<void> {
  const blobs = readDiskStore(from);
  for await (const file of storedFiles(db)) {
    watch.onFile();
    if (isSmallFile(file)) continue;
    if (await copyBlob(db, blobs, file, to, watch)) await unlink(blobPath(to, file.blob_key));
  }
}

/** Copies what was not copied yet of the files that the snapshot has. */
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
    // What is left of a damaged file may still be of use, an empty file in place of a missing one is of none.
    if (fault?.kind === "missing" && path !== undefined) await unlink(path);
  }
}

/** Removes the files of attachments that were deleted between their copying and the snapshot. */
async function removeOthers(snapshot: Reader, to: string): Promise<void> {
  for await (const entries of readDiskStore(to).list()) {
    for (const { key } of entries) {
      if (key !== null && !(await isBlobLive(snapshot, key))) await unlink(blobPath(to, key));
    }
  }
}

/**
 * Runs work while no server erases bytes. Whatever an eraser is still about to erase when the hold is placed belongs
 * to attachments whose deletion was committed before, so that no snapshot from then on has them.
 */
async function whileHeld({ db, clock }: Accounts, work: () => Promise<void>): Promise<void> {
  const name = randomUUID();
  const times = () => ({ now: clock(), until: clock() + HOLD_MS });
  await db.write("placeHold", { name, ...times() });
  // One that fails is made up for by the next, or the hold lapses, which is told at the end.
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
      "The backup was stopped for too long, and files may have been erased meanwhile. Make it again.",
    );
}
