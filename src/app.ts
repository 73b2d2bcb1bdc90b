import { randomFillSync } from "node:crypto";
import type { AddressInfo } from "node:net";
import { openDiskStore } from "./blobs/disk.ts";
import type { Config } from "./config.ts";
import type { Core } from "./core/core.ts";
import { createLinks } from "./core/links.ts";
import { lockFolder } from "./db/lock.ts";
import { openSqlite } from "./db/sqlite.ts";
import { OperatorError } from "./errors.ts";
import { startEraser } from "./jobs/eraser.ts";
import type { Job } from "./jobs/job.ts";
import { startSweep } from "./jobs/sweep.ts";
import { type Clock, systemClock } from "./util/clock.ts";
import { type DataFolder, openDataFolder, readSecret } from "./util/data-folder.ts";
import { createIds, type Random } from "./util/ids.ts";
import { createLog } from "./util/log.ts";

/** What a test may set in place of the machine's own. */
export interface Parts {
  clock?: Clock;
}

/** The service without its interface, for commands that work beside a running server. */
interface OpenCore {
  core: Core;
  folder: DataFolder;
  close(): Promise<void>;
}

const random: Random = (bytes) => void randomFillSync(bytes);

/** Opens the data folder. `origin` gives the public address, which links begin with. */
export async function openCore(config: Config, origin: () => string, parts: Parts = {}): Promise<OpenCore> {
  const clock = parts.clock ?? systemClock;
  const folder = await openDataFolder(config.dataFolder);
  const secrets = config.secrets.length > 0 ? config.secrets : [await readSecret(folder, random)];
  const db = openSqlite(folder.database);
  const core: Core = {
    db,
    blobs: await openDiskStore(folder.path, random),
    clock,
    random,
    newId: createIds(clock, random),
    links: createLinks(secrets, origin, clock),
    origin,
    wakeEraser: () => {},
  };
  return { core, folder, close: () => db.close() };
}

export interface App {
  core: Core;
  /** The port it listens on. */
  port(): number;
  /** Starts the background work, then listens. */
  start(): Promise<void>;
  /** Stops accepting, lets what runs end within the limit, and releases everything. */
  stop(): Promise<void>;
}

/** The whole service as `parley serve` runs it and as the tests do. Throws where its data folder is in use. */
export async function createApp(config: Config, parts: Parts = {}): Promise<App> {
  const log = createLog(config.logLevel);
  // With port 0 the address is known only once the server listens.
  let origin = config.publicUrl ?? (config.port === 0 ? "" : httpAddress(config.host, config.port));
  const folder = await openDataFolder(config.dataFolder);
  const lock = lockFolder(folder.lock);
  const { core, close } = await openCore(config, () => origin, parts).catch((error) => {
    lock.release();
    throw error;
  });
  // Loaded here, so that commands beside a running server do not wait for it.
  const { createHttp } = await import("./http/server.ts");
  const http = createHttp({ core, limits: config.limits, log });
  let jobs: Job[] = [];
  let stopping: Promise<void> | undefined;

  const port = () => (http.server.address() as AddressInfo).port;

  function startJobs(): void {
    const failed = (job: string) => (err: unknown) => log.error({ job, err }, "background work failed");
    const eraser = startEraser(core, failed("eraser"));
    core.wakeEraser = eraser.wake;
    jobs = [eraser, startSweep(core, failed("sweep"))];
  }

  return {
    core,
    port,
    async start() {
      await http.listen({ host: config.host, port: config.port }).catch((error: NodeJS.ErrnoException) => {
        throw new OperatorError(`PARLEY_HOST and PARLEY_PORT cannot be listened on: ${error.message}.`, {
          cause: error,
        });
      });
      origin ||= httpAddress(config.host, port());
      startJobs();
      log.info({ host: config.host, port: port(), data: config.dataFolder }, "listening");
    },
    stop: () => (stopping ??= release()),
  };

  async function release(): Promise<void> {
    const cut = setTimeout(() => http.server.closeAllConnections(), config.limits.shutdownTimeoutMs);
    await http.close();
    clearTimeout(cut);
    await Promise.all(jobs.map((job) => job.stop()));
    await close();
    lock.release();
    log.info({}, "stopped");
  }
}

function httpAddress(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
