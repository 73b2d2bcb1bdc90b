import { resolve } from "node:path";
import { parseDatabaseUrl, parseStore } from "../../config/parse.ts";
import { type Config, readConfig } from "../../config/settings.ts";
import { LINK_LIFE_MS } from "../../core/node/links.ts";
import { type CheckedFile, copyFiles, copyRows, rowsDigest, verifyFiles } from "../../core/upkeep/move.ts";
import type { Database } from "../../db/database.ts";
import { holdWrites, lockFolder } from "../../db/engines/sqlite/lock.ts";
import { hasUnnumbered } from "../../db/queries/events/events.ts";
import { storedBytes } from "../../db/queries/upkeep/integrity.ts";
import {
  allCarriedSecrets,
  countRows,
  findMove,
  OF_THE_STORE,
  TABLES,
  type Table,
} from "../../db/queries/upkeep/tables.ts";
import { openCurrentDatabase, openDatabase, openStore, readStore } from "../../engines.ts";
import { OperatorError } from "../../errors.ts";
import { systemClock } from "../../util/clock.ts";
import { databaseOf, keptSecret, lockOf, openDataFolder } from "../../util/data-folder.ts";
import { createFuse, type Fuse } from "../../util/fuse.ts";
import { roundedSize } from "../../util/sizes.ts";
import type { Io } from "../io.ts";
import { startProgress } from "../progress.ts";
import { counted, jsonLine } from "../text.ts";
import { reportUploads } from "./copies.ts";
import { getDataFolder } from "./data.ts";

/** Events numbered in one write. */
const AT_ONCE = 200;

interface MoveOptions {
  toDatabase?: string;
  toStore?: string;
}

/**
 * Copies rows, files or both to another engine, and compares the copies. The source is not changed. An interrupted move
 * continues when it is run again; until it is complete, no server starts on the new database. Returns the exit code: 1 if
 * files could not be moved because they are missing or damaged.
 */
export async function move(io: Io, options: MoveOptions): Promise<number> {
  const from = readConfig(io.env);
  const to = parseTarget(from, options);
  await using opened = new AsyncDisposableStack();
  for (const folder of await listFolders(from, to)) {
    const lock = lockFolder(lockOf(folder));
    opened.defer(() => lock.release());
  }
  if (from.databaseUrl === null) {
    const writes = holdWrites(databaseOf(from.dataFolder));
    opened.defer(() => writes.release());
  }
  const source = await openCurrentDatabase(from, true);
  opened.defer(() => source.close());
  const rowsMove = options.toDatabase !== undefined;
  const target = rowsMove ? await openDatabase(to, quietFuse(), { alone: true }) : source;
  if (rowsMove) opened.defer(() => target.close());
  const secrets = rowsMove ? readSecrets(from) : [];
  const isResumed = rowsMove ? await begin(target, toSourceName(from)) : true;
  const storeMoves = options.toStore !== undefined;
  // Only the source knows the order of events without a number, and they are not copied.
  while (rowsMove && (await hasUnnumbered(source))) await source.write("numberEvents", { limit: AT_ONCE });
  if (rowsMove) await moveRows(io, source, target, storeMoves ? TABLES : [...TABLES, ...OF_THE_STORE]);
  const faults = storeMoves ? await moveFiles(io, source, from, to, isResumed) : 0;
  if (storeMoves) await reportUploads(io, source);
  // Fails if another process has used the database meanwhile.
  await source.claim("move");
  await target.claim("move");
  if (rowsMove) {
    const until = systemClock() + LINK_LIFE_MS;
    const carried = (await allCarriedSecrets(source)).map(({ secret }) => secret);
    await target.write("endMove", { secrets: [...secrets, ...carried], until });
  }
  io.print(farewell(from, to, options));
  return faults > 0 ? 1 : 0;
}

function parseTarget(from: Config, { toDatabase, toStore }: MoveOptions): Config {
  if (toDatabase === undefined && toStore === undefined)
    throw new OperatorError("Choose a target: --to-database URL, --to-store URL, or both.");
  const databaseUrl = toDatabase === undefined ? from.databaseUrl : (parseDatabaseUrl(toDatabase) ?? null);
  const store = toStore === undefined ? from.store : (parseStore(toStore) ?? null);
  const folders = [
    ...(toDatabase !== undefined && databaseUrl === null ? [toDatabase] : []),
    ...(toStore !== undefined && store === null ? [toStore] : []),
  ].map((path) => {
    // The target is not printed: a URL with a misspelled scheme contains its password.
    if (path.trim() === "" || /:\/\/|\/\/|@/.test(path))
      throw new OperatorError(
        "The target is neither a complete PostgreSQL or S3 URL (encode # as %23) nor a data folder.",
      );
    return resolve(path);
  });
  if (new Set(folders).size > 1)
    throw new OperatorError("Rows and files share one data folder. Use the same path for both.");
  const dataFolder = folders[0] ?? from.dataFolder;
  const to = { ...from, databaseUrl, store, dataFolder, redirectFiles: false };
  if (toDatabase !== undefined && rowsLocation(to) === rowsLocation(from))
    throw new OperatorError("The rows are already there: --to-database is the current database.");
  if (toStore !== undefined && filesLocation(to) === filesLocation(from))
    throw new OperatorError("The files are already there: --to-store is the current store.");
  const isOtherFolder = dataFolder !== from.dataFolder;
  const staysBehind =
    (toDatabase === undefined && databaseUrl === null) || (toStore === undefined && store === null);
  if (isOtherFolder && staysBehind)
    throw new OperatorError(
      `Rows and files share one data folder. Move both to ${dataFolder}, with --to-database and --to-store.`,
    );
  return to;
}

function rowsLocation({ databaseUrl, dataFolder }: Config): string {
  return databaseUrl ?? dataFolder;
}

function filesLocation({ store, dataFolder }: Config): string {
  return store ? `s3://${store.bucket} at ${store.endpoint}` : dataFolder;
}

/** Returns the data folders that the move reads or writes. No server may run on any of them. */
async function listFolders(from: Config, to: Config): Promise<Set<string>> {
  const folders = new Set<string>();
  if (from.databaseUrl === null) folders.add(getDataFolder(from));
  if (from.store === null) folders.add(from.dataFolder);
  if (to.databaseUrl === null || to.store === null) {
    await openDataFolder(to.dataFolder, "files");
    folders.add(to.dataFolder);
  }
  return folders;
}

/** Creates a fuse that reports nothing: a failing disk ends the move with its own error. */
function quietFuse(): Fuse {
  return createFuse(() => {});
}

/** Marks the database as the target of a move. Returns whether an earlier run already did. */
async function begin(target: Database, from: string): Promise<boolean> {
  const under = await findMove(target);
  if (under === from) return true;
  if (under !== undefined)
    throw new OperatorError(
      `Another move to this database, from ${under}, is incomplete. Use an empty database.`,
    );
  for (const table of TABLES) {
    if ((await countRows(target, table)) > 0)
      throw new OperatorError("The new database already has rows. Use an empty one.");
  }
  await target.write("beginMove", { from });
  return false;
}

async function moveRows(io: Io, source: Database, target: Database, tables: readonly Table[]): Promise<void> {
  let total = 0;
  let there = 0;
  for (const table of tables) {
    total += await countRows(source, table);
    there += await countRows(target, table);
  }
  const copying = startPhase(io, "copying rows", total, String);
  await inPhase(copying, async () => {
    copying.add(there);
    for (const table of tables) await copyRows(source, target, table, copying.add);
  });
  const comparing = startPhase(io, "comparing rows", total * 2, String);
  await inPhase(comparing, async () => {
    for (const table of tables) {
      const [before, after] = [
        await rowsDigest(source, table, comparing.add),
        await rowsDigest(target, table, comparing.add),
      ];
      if (before.count === after.count && before.sha256 === after.sha256) continue;
      throw new OperatorError(
        `The copied rows of ${table.name} differ: ${before.count} here, ${after.count} there. ` +
          "Another program writes to one of the two. Empty the new database, and move again.",
      );
    }
  });
  io.print(`Moved and compared ${counted(total, "row")}.`);
}

async function moveFiles(
  io: Io,
  db: Database,
  from: Config,
  to: Config,
  isResumed: boolean,
): Promise<number> {
  const [source, target] = [await readStore(from), await openStore(to, quietFuse(), async () => true)];
  const { files, bytes } = await storedBytes(db);
  const copying = startPhase(io, "copying files", bytes, roundedSize);
  const faulty = await inPhase(copying, () =>
    collectFaulty(copyFiles(db, source, target, isResumed, copying.add)),
  );
  for (const { file, fault } of faulty.values())
    io.warn(
      `${file.id} ${jsonLine(file.filename)} cannot be moved: its bytes are ${fault!.kind}. See parley check.`,
    );
  const reading = startPhase(io, "comparing files", bytes, roundedSize);
  const changed = await inPhase(reading, () => collectFaulty(verifyFiles(db, target, reading.add)));
  for (const id of faulty.keys()) changed.delete(id);
  for (const { file, fault } of changed.values())
    throw new OperatorError(
      `The copy of ${file.id} is ${fault!.kind}. Delete ${file.blob_key} in the new store, and move again.`,
    );
  io.print(`Moved and compared ${counted(files - faulty.size, "file")} of ${counted(bytes, "byte")}.`);
  return faulty.size;
}

async function collectFaulty(files: AsyncIterable<CheckedFile>): Promise<Map<string, CheckedFile>> {
  const faulty = new Map<string, CheckedFile>();
  for await (const checked of files) if (checked.fault) faulty.set(checked.file.id, checked);
  return faulty;
}

interface Phase {
  /** Throws `OperatorError` on SIGTERM or Ctrl-C. */
  add(count: number): void;
  end(): void;
}

function startPhase(io: Io, name: string, total: number, show: (amount: number) => string): Phase {
  const progress = startProgress(io, name, total, show);
  let done = 0;
  return {
    add(count) {
      done += count;
      progress.at(done);
      if (io.stop.aborted) throw new OperatorError("Stopped before completion. Run it again to continue.");
    },
    end: progress.end,
  };
}

async function inPhase<T>(progress: Phase, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    progress.end();
  }
}

/** Returns the secrets that sign the existing links. */
function readSecrets(from: Config): readonly string[] {
  return from.secrets.length > 0 ? from.secrets : [keptSecret(from.dataFolder)];
}

/** Names the source of the rows, without a password. */
function toSourceName({ databaseUrl, dataFolder }: Config): string {
  if (databaseUrl === null) return dataFolder;
  const { host, pathname } = new URL(databaseUrl);
  return `postgres://${host}${pathname}`;
}

function farewell(from: Config, to: Config, { toDatabase, toStore }: MoveOptions): string {
  const settings = [
    to.databaseUrl === null ? "PARLEY_DATABASE_URL (unset)" : "PARLEY_DATABASE_URL",
    to.store === null ? "PARLEY_STORE (unset)" : "PARLEY_STORE",
    ...(to.databaseUrl !== null && to.store !== null ? [] : [`PARLEY_DATA=${to.dataFolder}`]),
    ...(to.databaseUrl !== null && from.secrets.length === 0
      ? ["PARLEY_SECRET (a new one; existing links keep working)"]
      : []),
  ];
  const what = [
    ...(toDatabase === undefined ? [] : ["rows"]),
    ...(toStore === undefined ? [] : ["files"]),
  ].join(" and ");
  return `Moved the ${what}. Start the server with ${settings.join(", ")}. The source is unchanged.`;
}
