import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeStoreFolders, readDiskStore, syncStoreFolders } from "../../blobs/disk.ts";
import { lockFolder } from "../../db/engines/sqlite/lock.ts";
import { copyDatabase, withReadOnly } from "../../db/engines/sqlite/snapshot.ts";
import { findCorruption, storedFiles } from "../../db/queries/upkeep/integrity.ts";
import { OperatorError } from "../../errors.ts";
import { databaseOf, openDataFolder, restoreOf } from "../../util/data-folder.ts";
import { syncFile, syncFolder } from "../../util/durable.ts";
import type { Io } from "../io.ts";
import { asOperatorError } from "../system-errors.ts";
import { counted } from "../text.ts";
import { copyBlob, copySecret, FOLDER_MODE } from "./copies.ts";
import { readEmbeddedConfig } from "./data.ts";
import {
  databaseFinding,
  type Finding,
  fileFinding,
  formatFinding,
  indexDamageFinding,
  inFolder,
} from "./findings.ts";
import { amount, createWatch, type Watch } from "./watch.ts";

/** What an empty data folder may contain: old locks, and what file systems create. */
const ALLOWED = /^(?:server\.lock(?:-journal)?|lost\+found)$/;

/**
 * Restores a backup to the data folder, or leaves the folder unchanged. Files are first copied within the data
 * folder, because it may be a mount point. No server starts on the folder until the restore is complete.
 */
export async function restore(io: Io, backup: string): Promise<void> {
  const from = resolve(backup);
  const { dataFolder, secrets } = readEmbeddedConfig(io);
  if (!existsSync(databaseOf(from)))
    throw new OperatorError(`${from} is not a complete backup: it has no parley.db.`);
  try {
    await refuseUnlessEmpty(dataFolder);
    const lock = lockFolder((await openDataFolder(dataFolder, "database")).lock);
    try {
      // Checked again: a server may have run before the lock was taken.
      await refuseUnlessEmpty(dataFolder);
      const watch = createWatch(io);
      const hasSecret = await restoreLocked(io, from, dataFolder, watch);
      io.print(`Restored ${amount(watch)} to ${dataFolder}. Start the server.`);
      if (!hasSecret && secrets.length === 0)
        io.warn(
          "The backup has no secret. Set PARLEY_SECRET to its previous value, or existing links stop working.",
        );
    } finally {
      lock.release();
    }
  } catch (error) {
    throw asOperatorError(error);
  }
}

async function refuseUnlessEmpty(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  const found = (await readdir(folder)).find((name) => !ALLOWED.test(name));
  if (found === undefined) return;
  const what = existsSync(databaseOf(folder)) ? "Parley data" : found;
  throw new OperatorError(
    `${folder} already contains ${what}, and a restore overwrites nothing. Stop the server and move the folder away, ` +
      "or set PARLEY_DATA to a new one.",
  );
}

async function restoreLocked(io: Io, from: string, dataFolder: string, watch: Watch): Promise<boolean> {
  const partial = restoreOf(dataFolder);
  await mkdir(partial, { mode: FOLDER_MODE });
  try {
    await fill(io, from, partial, watch);
    const hasSecret = await copySecret(from, partial);
    await syncStoreFolders(partial);
    await syncFile(databaseOf(partial));
    await rename(join(partial, "blobs"), join(dataFolder, "blobs"));
    if (hasSecret) await rename(join(partial, "secret"), join(dataFolder, "secret"));
    await rename(databaseOf(partial), databaseOf(dataFolder));
    await syncFolder(dataFolder);
    return hasSecret;
  } catch (error) {
    // The folder was empty, so this restore created all of these.
    for (const name of ["parley.db", "secret", "blobs"])
      await rm(join(dataFolder, name), { recursive: true, force: true });
    throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
    await syncFolder(dataFolder);
  }
}

/** Copies database and files. Throws if any is damaged, after reporting all findings. */
async function fill(io: Io, from: string, to: string, watch: Watch): Promise<void> {
  let findings = 0;
  const report = (finding: Finding) => {
    findings++;
    io.print(formatFinding(finding));
  };
  makeStoreFolders(to);
  await copyDatabase(databaseOf(from), databaseOf(to));
  await withReadOnly(databaseOf(to), async (db) => {
    const { rows, index } = await findCorruption(db);
    for (const message of rows) report(databaseFinding(databaseOf(from), message));
    for (const message of index) io.warn(formatFinding(indexDamageFinding(databaseOf(from), message)));
    const blobs = readDiskStore(from);
    for await (const file of storedFiles(db)) {
      watch.onFile();
      const fault = await copyBlob(db, blobs, file, to, watch);
      if (fault) report(fileFinding(inFolder(from), file, fault));
    }
  });
  if (findings === 0) return;
  throw new OperatorError(
    `Nothing was restored: ${counted(findings, "finding")} in ${from}. Use another backup. To keep the ` +
      "damage, copy the folder yourself.",
  );
}
