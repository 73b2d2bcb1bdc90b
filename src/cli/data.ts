import { existsSync } from "node:fs";
import { openAccounts } from "../app.ts";
import { type Config, readConfig } from "../config.ts";
import type { Accounts } from "../core/core.ts";
import { OperatorError } from "../errors.ts";
import { databaseOf, refuseHalfRestore } from "../util/data-folder.ts";
import type { Io } from "./io.ts";

/** The data folder that the settings name. Throws `OperatorError` where there is no database of a Parley in it. */
export function dataFolderOf({ dataFolder }: Config): string {
  // A command that is run in another folder by mistake must not make a second, empty Parley there.
  refuseHalfRestore(dataFolder);
  if (!existsSync(databaseOf(dataFolder))) {
    throw new OperatorError(
      `There is no Parley in ${dataFolder}. Start the server once, or set PARLEY_DATA.`,
    );
  }
  return dataFolder;
}

/** The settings of a command that works on a data folder. Throws `OperatorError` where rows or files lie elsewhere. */
export function embeddedConfig(io: Io): Config {
  const config = readConfig(io.env);
  if (config.databaseUrl === null && config.store === null) return config;
  throw new OperatorError(
    "PARLEY_DATABASE_URL or PARLEY_STORE is set: this works on a data folder alone. Back PostgreSQL and S3 up by their own means: docs/scaling.md tells how.",
  );
}

/** Runs work on the database, also beside a running server, and closes it after. */
export async function withAccounts<T>(config: Config, work: (accounts: Accounts) => Promise<T>): Promise<T> {
  if (config.databaseUrl === null) dataFolderOf(config);
  const accounts = await openAccounts(config);
  try {
    return await work(accounts);
  } finally {
    await accounts.db.close();
  }
}
