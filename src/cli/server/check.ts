import type { BlobReader } from "../../blobs/store.ts";
import { type Config, readConfig } from "../../config/settings.ts";
import { checkFiles, findStrays } from "../../core/upkeep/integrity.ts";
import { refuseHalfMove } from "../../core/upkeep/move.ts";
import type { IndexReader } from "../../db/database.ts";
import { withReadOnly } from "../../db/engines/sqlite/snapshot.ts";
import { findIndexFaults } from "../../db/queries/search/search-check.ts";
import { countIntents } from "../../db/queries/storage/intents.ts";
import { findMiscounts } from "../../db/queries/storage/storage-used.ts";
import { countTombstones } from "../../db/queries/storage/tombstones.ts";
import { type Corruption, findCorruption } from "../../db/queries/upkeep/integrity.ts";
import { type Compared, findOrphans } from "../../db/queries/upkeep/orphans.ts";
import { hasTable } from "../../db/queries/upkeep/tables.ts";
import type { Reader } from "../../db/sql.ts";
import { openCurrentDatabase, readIndex, readStore } from "../../engines.ts";
import { databaseOf } from "../../util/data-folder.ts";
import type { Io } from "../io.ts";
import { counted } from "../text.ts";
import { getDataFolder } from "./data.ts";
import {
  databaseFinding,
  type Finding,
  fileFinding,
  formatFinding,
  indexDamageFinding,
  indexFinding,
  miscountFinding,
  orphanFinding,
  type StorageLocation,
  strayFinding,
  toLocation,
} from "./findings.ts";
import { amount, createWatch, type Watch } from "./watch.ts";

/**
 * Compares rows with files and changes nothing. Works while a server runs. Prints each finding at once, so memory
 * does not grow with their number. Returns the exit code: 1 if there is a finding.
 */
export async function check(io: Io, options: { json?: boolean }): Promise<number> {
  const config = readConfig(io.env);
  if (config.databaseUrl === null) getDataFolder(config);
  return withReader(config, async (db) => {
    const blobs = await readStore(config);
    const location = toLocation(config);
    const watch = createWatch(io);
    let findings = 0;
    const isSqlite = config.databaseUrl === null;
    const corruption = isSqlite ? await findCorruption(db) : { rows: [], index: [] };
    const has = async (table: string) => !isSqlite || (await hasTable(db, table));
    const schema: Schema = {
      isCounted: await has("storage"),
      hasMessages: await has("message_bodies"),
      hasProfiles: await has("profile_changes"),
      hasClientIds: await has("client_ids"),
      index: (await has("message_index")) ? readIndex(config) : undefined,
    };
    for await (const finding of findAll(location, db, blobs, watch, corruption, schema)) {
      findings++;
      io.print(
        options.json ? JSON.stringify({ ...finding.data, hint: finding.hint }) : formatFinding(finding),
      );
    }
    const intents = blobs.intents ? (await blobs.intents.list()).length : await countIntents(db);
    const waiting = { tombstones: await countTombstones(db), intents };
    const { files, bytes } = watch;
    if (options.json) io.print(JSON.stringify({ kind: "summary", files, bytes, findings, ...waiting }));
    else io.print(summary(watch, findings, waiting));
    return findings > 0 ? 1 : 0;
  });
}

/** Opens the database for reading: a SQLite database also if it is read-only or has an older schema. */
async function withReader<T>(config: Config, work: (db: Reader) => Promise<T>): Promise<T> {
  if (config.databaseUrl === null)
    return withReadOnly(databaseOf(config.dataFolder), async (db) => {
      if (await hasTable(db, "moves")) await refuseHalfMove(db);
      return work(db);
    });
  const db = await openCurrentDatabase(config);
  try {
    await refuseHalfMove(db);
    return await work(db);
  } finally {
    await db.close();
  }
}

/** The parts that this version of the schema can compare. */
interface Schema extends Compared {
  isCounted: boolean;
  hasMessages: boolean;
  index: IndexReader | undefined;
}

async function* findAll(
  location: StorageLocation,
  db: Reader,
  blobs: BlobReader,
  watch: Watch,
  corruption: Corruption,
  schema: Schema,
): AsyncGenerator<Finding> {
  for (const message of corruption.rows) yield databaseFinding(location.database, message);
  for (const message of corruption.index) yield indexDamageFinding(location.database, message);
  // With a damaged database, intact files would be reported as damaged.
  if (corruption.rows.length > 0) return;
  for await (const { file, fault } of checkFiles(db, blobs, watch.onChunk)) {
    watch.onFile();
    if (fault) yield fileFinding(location, file, fault);
  }
  for await (const stray of findStrays(db, blobs)) yield strayFinding(location, stray);
  if (schema.isCounted) for await (const miscount of findMiscounts(db)) yield miscountFinding(miscount);
  if (schema.hasMessages) for await (const orphan of findOrphans(db, schema)) yield orphanFinding(orphan);
  if (schema.index && corruption.index.length === 0)
    for await (const fault of findIndexFaults(db, schema.index)) yield indexFinding(fault);
}

function summary(watch: Watch, findings: number, waiting: { tombstones: number; intents: number }): string {
  const lines = [`Checked the database and ${amount(watch)}: ${counted(findings, "finding")}.`];
  if (waiting.tombstones > 0)
    lines.push(`${counted(waiting.tombstones, "deleted file")} to be erased by a running server.`);
  if (waiting.intents > 0)
    lines.push(
      `${counted(waiting.intents, "upload")} in progress or interrupted: a server settles each, at the latest after its next start.`,
    );
  return lines.join("\n");
}
