import { openDiskStore, readDiskStore } from "./blobs/disk.ts";
import type { BlobReader, BlobStore } from "./blobs/store.ts";
import type { Config } from "./config/settings.ts";
import { type Callbacks, type Database, type IndexReader, NO_CALLBACKS } from "./db/database.ts";
import { postgresIndex } from "./db/engines/postgres/search.ts";
import { migrate, requireCurrentSchema } from "./db/engines/sqlite/migrate.ts";
import { sqliteIndex } from "./db/engines/sqlite/search.ts";
import { openSqlite } from "./db/engines/sqlite/sqlite.ts";
import { databaseOf } from "./util/data-folder.ts";
import { createFuse, type Fuse } from "./util/fuse.ts";

// Opens what the configuration names: SQLite or PostgreSQL for rows, a folder or S3 for bytes. PostgreSQL and S3 are
// loaded only if they are used.

/** Opens the database, and creates or migrates it if needed. `alone` as in `openPostgres`. */
export async function openDatabase(
  config: Config,
  fuse: Fuse,
  { alone = false, callbacks = NO_CALLBACKS }: { alone?: boolean; callbacks?: Callbacks } = {},
): Promise<Database> {
  if (config.databaseUrl === null) return openSqlite(databaseOf(config.dataFolder), fuse, migrate, callbacks);
  const { openPostgres } = await import("./db/engines/postgres/postgres.ts");
  const { migratePostgres } = await import("./db/engines/postgres/migrate.ts");
  return openPostgres(config.databaseUrl, migratePostgres, alone, callbacks);
}

/** Opens an existing database with the current schema, also beside a running server. */
export async function openCurrentDatabase(config: Config, alone = false): Promise<Database> {
  if (config.databaseUrl === null) {
    const fuse = createFuse(() => {});
    return openSqlite(databaseOf(config.dataFolder), fuse, requireCurrentSchema);
  }
  const { openPostgres } = await import("./db/engines/postgres/postgres.ts");
  const { requireCurrentPostgres } = await import("./db/engines/postgres/migrate.ts");
  return openPostgres(config.databaseUrl, requireCurrentPostgres, alone);
}

export function readIndex({ databaseUrl }: Config): IndexReader {
  return databaseUrl === null ? sqliteIndex : postgresIndex;
}

/** `mayMake` decides whether a missing bucket is created: only if the database has no files yet. */
export async function openStore(
  config: Config,
  fuse: Fuse,
  mayMake: () => Promise<boolean>,
): Promise<BlobStore> {
  if (config.store === null) return openDiskStore(config.dataFolder, fuse);
  const { openS3Store } = await import("./blobs/s3.ts");
  return openS3Store(config.store, { redirect: config.redirectFiles, mayMake });
}

/** Opens the store for reading only. */
export async function readStore(config: Config): Promise<BlobReader> {
  if (config.store === null) return readDiskStore(config.dataFolder);
  const { readS3Store } = await import("./blobs/s3.ts");
  return readS3Store(config.store);
}
