import { randomFillSync } from "node:crypto";
import type { Config } from "./config/settings.ts";
import type { DataAccess } from "./core/node/core.ts";
import { refuseHalfMove } from "./core/upkeep/move.ts";
import type { Database } from "./db/database.ts";
import { openCurrentDatabase } from "./engines.ts";
import { toHttpUrl } from "./util/addresses.ts";
import { type Clock, systemClock } from "./util/clock.ts";
import { openDataFolder } from "./util/data-folder.ts";
import { createIds, type Random } from "./util/ids.ts";

const systemRandom: Random = (bytes) => void randomFillSync(bytes);

/** A server that runs beside finds its work by itself. */
const NO_WAKEUPS = { wakeEraser() {}, wakeProfiles() {} };

/** Opens the database for commands that run beside a server. Close it afterwards. */
export async function openDataAccess(config: Config): Promise<DataAccess> {
  if (config.databaseUrl === null) await openDataFolder(config.dataFolder, "database");
  const db = await openCurrentDatabase(config);
  try {
    await refuseHalfMove(db);
    return createDataAccess(config, db);
  } catch (error) {
    await db.close();
    throw error;
  }
}

export function createDataAccess(
  { limits, publicUrl, host, port, jwt }: Config,
  db: Database,
  { clock = systemClock, random = systemRandom }: { clock?: Clock; random?: Random } = {},
  { wakeEraser, wakeProfiles }: Pick<DataAccess, "wakeEraser" | "wakeProfiles"> = NO_WAKEUPS,
): DataAccess {
  const origin = () => publicUrl ?? toHttpUrl(host, port);
  const issuer = jwt?.issuer ?? "";
  return {
    db,
    clock,
    random,
    newId: createIds(clock, random),
    wakeEraser,
    wakeProfiles,
    limits,
    origin,
    issuer,
  };
}
