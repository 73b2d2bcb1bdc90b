import { existsSync } from "node:fs";
import { openAccounts } from "../app.ts";
import { readConfig } from "../config.ts";
import type { Accounts } from "../core/core.ts";
import { OperatorError } from "../errors.ts";
import { databaseOf, refuseHalfRestore } from "../util/data-folder.ts";
import type { Io } from "./io.ts";

/** The data folder that the settings name. Throws `OperatorError` where there is no Parley in it. */
export function dataFolderOf(io: Io): string {
  const { dataFolder } = readConfig(io.env);
  // A command that is run in another folder by mistake must not make a second, empty Parley there.
  refuseHalfRestore(dataFolder);
  if (!existsSync(databaseOf(dataFolder))) {
    throw new OperatorError(
      `There is no Parley in ${dataFolder}. Start the server once, or set PARLEY_DATA.`,
    );
  }
  return dataFolder;
}

/** Throws `OperatorError` where the files are not in the data folder. */
export function refuseBucket(io: Io): void {
  if (readConfig(io.env).store !== null)
    throw new OperatorError(
      "PARLEY_STORE is set: the files are in S3, and this is for files in the data folder. docs/operate.md says how to back up a bucket.",
    );
}

/** Runs work on the data folder, also beside a running server, and closes it after. */
export async function withAccounts<T>(
  io: Io,
  work: (accounts: Accounts, dataFolder: string) => Promise<T>,
): Promise<T> {
  const dataFolder = dataFolderOf(io);
  const accounts = await openAccounts(readConfig(io.env));
  try {
    return await work(accounts, dataFolder);
  } finally {
    await accounts.db.close();
  }
}

/** Rows as a table for people: columns as wide as their longest value. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
