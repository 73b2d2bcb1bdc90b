import { openDiskStore, readDiskStore } from "./blobs/disk.ts";
import type { BlobReader, BlobStore } from "./blobs/store.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { migrate, requireCurrentSchema } from "./db/migrate.ts";
import { openSqlite } from "./db/sqlite.ts";
import { databaseOf } from "./util/data-folder.ts";
import { createFuse, type Fuse } from "./util/fuse.ts";

// What a configuration names: SQLite or PostgreSQL for rows, a folder or S3 for bytes. The latter of each are loaded only
// where they are used.

/** Opens the database, and makes it or brings its schema forward where that is to be done. `alone` as in `openPostgres`. */
export async function openDatabase(config: Config, fuse: Fuse, alone = false): Promise<Database> {
  if (config.databaseUrl === null) return openSqlite(databaseOf(config.dataFolder), fuse, migrate);
  const { openPostgres } = await import("./db/postgres.ts");
  const { migratePostgres } = await import("./db/postgres-migrate.ts");
  return openPostgres(config.databaseUrl, migratePostgres, alone);
}

/** Opens a database that is there and has the schema of this code, also beside a running server. */
export async function openCurrentDatabase(config: Config, alone = false): Promise<Database> {
  if (config.databaseUrl === null) {
    const fuse = createFuse(() => {});
    return openSqlite(databaseOf(config.dataFolder), fuse, requireCurrentSchema);
  }
  const { openPostgres } = await import("./db/postgres.ts");
  const { requireCurrentPostgres } = await import("./db/postgres-migrate.ts");
  return openPostgres(config.databaseUrl, requireCurrentPostgres, alone);
}

/** `mayMake` is asked where the bucket is missing: it is made only where the database has no files yet. */
export async function openStore(
  config: Config,
  fuse: Fuse,
  mayMake: () => Promise<boolean>,
): Promise<BlobStore> {
  if (config.store === null) return openDiskStore(config.dataFolder, fuse);
  const { openS3Store } = await import("./blobs/s3.ts");
  return openS3Store(config.store, { redirect: config.redirectFiles, mayMake });
}

/** The store as it is, of which nothing is made or changed. */
export async function readStore(config: Config): Promise<BlobReader> {
  if (config.store === null) return readDiskStore(config.dataFolder);
  const { readS3Store } = await import("./blobs/s3.ts");
  return readS3Store(config.store);
}
