import { listAssets, readAsset } from "../assets.ts";
import { OperatorError } from "../errors.ts";

/** Reads the migrations of an engine in their order: files `NNNN-name.sql`. The first creates the schema of 0.1.0. */
export function readMigrations(folder: string): string[] {
  return listAssets(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => readAsset(folder + name).toString());
}

/** The schema of 0.1.0: the version that the first migration creates, and the file with the steps from earlier schemas. */
interface Base {
  version: number;
  steps: string;
}

/** Returns the SQL that brings a schema from this version to the newest. 0 is an empty database. */
export function pendingMigrations(
  version: number,
  migrations: readonly string[],
  base: Base,
): readonly string[] {
  if (version === 0) return migrations;
  if (version >= base.version) return migrations.slice(version - base.version + 1);
  return [...readSteps(base.steps).slice(version - 1), ...migrations.slice(1)];
}

/** Reads the steps from the first schema to that of 0.1.0. Step n brings a schema to version n + 1. */
export function readSteps(file: string): string[] {
  return readAsset(file)
    .toString()
    .split(/^-- Schema version \d+: .*$/m)
    .slice(1);
}

/** Throws if the schema is newer than this code supports: code older than version `oldest` must not run on it. */
export function refuseNewer(current: number, newest: number, oldest = current): void {
  if (oldest <= newest) return;
  throw new OperatorError(
    `The database has schema version ${current}, and this Parley knows versions up to ${newest}. ` +
      "Start the newer Parley that last ran on it.",
  );
}

/** Throws unless this code may run on the schema. Commands beside a server migrate nothing. `backUp` says how to back up. */
export function requireCurrent(current: number, newest: number, backUp: string, oldest = current): void {
  refuseNewer(current, newest, oldest);
  if (current >= newest) return;
  throw new OperatorError(
    `The database has schema version ${current}, and this command needs ${newest}. ${backUp}, and start this Parley ` +
      "on it once, which migrates it. Or use the Parley version that created it.",
  );
}
