import { existsSync } from "node:fs";
import { type Config, readConfig } from "../../config/settings.ts";
import type { DataAccess } from "../../core/node/core.ts";
import { openDataAccess } from "../../data-access.ts";
import { OperatorError } from "../../errors.ts";
import { databaseOf, refuseHalfRestore } from "../../util/data-folder.ts";
import type { Io } from "../io.ts";

/** Returns the configured data folder. Throws `OperatorError` if it has no database. */
export function getDataFolder({ dataFolder }: Config): string {
  // A command in the wrong folder must not create an empty database there.
  refuseHalfRestore(dataFolder);
  if (!existsSync(databaseOf(dataFolder))) {
    throw new OperatorError(
      `There is no Parley data in ${dataFolder}. Start the server once, or set PARLEY_DATA.`,
    );
  }
  return dataFolder;
}

/** Reads the settings of a command that needs a data folder. Throws `OperatorError` if rows or files are stored elsewhere. */
export function readEmbeddedConfig(io: Io): Config {
  const config = readConfig(io.env);
  if (config.databaseUrl === null && config.store === null) return config;
  throw new OperatorError(
    "PARLEY_DATABASE_URL or PARLEY_STORE is set, but this command works only on a data folder. Back up PostgreSQL and S3 with their own tools: see docs/scaling.md.",
  );
}

/** Opens the database, also while a server runs, runs work on it, and closes it. */
export async function withDataAccess<T>(
  config: Config,
  work: (accounts: DataAccess) => Promise<T>,
): Promise<T> {
  if (config.databaseUrl === null) getDataFolder(config);
  const accounts = await openDataAccess(config);
  try {
    return await work(accounts);
  } finally {
    await accounts.db.close();
  }
}
