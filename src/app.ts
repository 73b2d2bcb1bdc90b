import { randomFillSync } from "node:crypto";
import { lookup, Resolver } from "node:dns/promises";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Config } from "./config.ts";
import { Activity } from "./core/activity.ts";
import { VerifiedTokens } from "./core/caller.ts";
import type { Accounts, Core, IdentityProvider } from "./core/core.ts";
import { DownloadLog } from "./core/download-log.ts";
import { EventHub } from "./core/event-hub.ts";
import { KeySet } from "./core/key-set.ts";
import { createLinks } from "./core/links.ts";
import { refuseHalfMove } from "./core/move.ts";
import { Seal } from "./core/seal.ts";
import type { Database } from "./db/database.ts";
import { hasStoredFiles } from "./db/integrity.ts";
import { lockFolder } from "./db/lock.ts";
import { hasLapsedReservations } from "./db/storage.ts";
import { carriedSecrets } from "./db/tables.ts";
import { openCurrentDatabase, openDatabase, openStore } from "./engines.ts";
import { OperatorError } from "./errors.ts";
import { startActivity } from "./jobs/activity.ts";
import { startDownloads } from "./jobs/downloads.ts";
import { startEraser } from "./jobs/eraser.ts";
import { startEvents } from "./jobs/events.ts";
import type { Job } from "./jobs/job.ts";
import { startSweep } from "./jobs/sweep.ts";
import { startWebhooks } from "./jobs/webhooks.ts";
import { type Clock, systemClock } from "./util/clock.ts";
import { type DataFolder, openDataFolder, readSecret } from "./util/data-folder.ts";
import { createFuse, type Fuse } from "./util/fuse.ts";
import { createIds, type Random } from "./util/ids.ts";
import { createLog, errorFields, type Log } from "./util/log.ts";

/** What a test may set in place of the machine's own. */
export interface Parts {
  clock?: Clock;
  random?: Random;
  makeResolver?: () => Resolver;
}

/** How long a name server may take, and how often each is asked. */
const NAMES = { timeout: 1000, tries: 2 };

const systemRandom: Random = (bytes) => void randomFillSync(bytes);

/** Users and tokens, for commands that work beside a running server. Close the database after. */
export async function openAccounts(config: Config): Promise<Accounts> {
  if (config.databaseUrl === null) await openDataFolder(config.dataFolder, "database");
  const db = await openCurrentDatabase(config);
  try {
    await refuseHalfMove(db);
    return createAccounts(config, db, {});
  } catch (error) {
    await db.close();
    throw error;
  }
}

function createAccounts({ limits }: Config, db: Database, parts: Parts): Accounts {
  const { clock = systemClock, random = systemRandom } = parts;
  return { db, clock, random, newId: createIds(clock, random), wakeEraser: () => {}, limits };
}

export interface App {
  core: Core;
  /** The port it listens on. */
  port(): number;
  /** Listens, and starts the background work. */
  start(): Promise<void>;
  /** Stops accepting, lets what runs end within the limit, and releases everything. */
  stop(): Promise<void>;
}

/** The whole service as `parley serve` runs it and as the tests do. Throws where its data folder is in use. */
export async function createApp(config: Config, parts: Parts = {}): Promise<App> {
  const log = createLog(config.logLevel);
  const fuse = createFuse((cause) =>
    log.error(errorFields(cause), "a disk failed: nothing is written until a restart"),
  );
  await using opened = new AsyncDisposableStack();
  const folder = await takeFolder(config);
  if (folder) opened.defer(() => folder.unlock());
  const db = await openDatabase(config, fuse);
  opened.defer(() => db.close());
  await refuseHalfMove(db);
  const app = await buildApp(config, createAccounts(config, db, parts), parts, log, fuse, folder);
  // From here on it is the app's to release.
  opened.move();
  return app;
}

type LockedFolder = DataFolder & { unlock(): void };

/** The data folder, locked; undefined with PostgreSQL and S3, where nothing lies in it. */
async function takeFolder(config: Config): Promise<LockedFolder | undefined> {
  if (config.databaseUrl !== null && config.store !== null) return undefined;
  const folder = await openDataFolder(config.dataFolder, config.databaseUrl === null ? "database" : "files");
  return { ...folder, unlock: lockFolder(folder.lock).release };
}

async function buildApp(
  config: Config,
  accounts: Accounts,
  parts: Parts,
  log: Log,
  fuse: Fuse,
  folder: LockedFolder | undefined,
): Promise<App> {
  if (config.databaseUrl === null) await dropReservations(accounts.db);
  // With port 0 the address is known only once the server listens.
  let origin = config.publicUrl ?? (config.port === 0 ? "" : httpAddress(config.host, config.port));
  const secrets = config.secrets.length > 0 ? config.secrets : [await readSecret(folder!, accounts.random)];
  const core: Core = {
    ...accounts,
    blobs: await openStore(config, fuse, async () => !(await hasStoredFiles(accounts.db))),
    links: createLinks(secrets, await carriedSecrets(accounts.db), () => origin, accounts.clock),
    origin: () => origin,
    fuse,
    seal: new Seal(secrets, accounts.random),
    identityProvider: identityProvider(config, accounts.clock, log),
    ...madeAnew(parts),
  };
  // Loaded here, so that commands beside a running server do not wait for it.
  const { createHttp } = await import("./http/server.ts");
  const http = await createHttp(core, config, log);
  const closeSilent = silentConnections(http.server);
  const port = () => (http.server.address() as AddressInfo).port;
  let background: Background | undefined;
  let stopping: Promise<void> | undefined;

  async function release(): Promise<void> {
    const cut = setTimeout(() => {
      http.server.closeAllConnections();
      // Work of the background may wait for a database that hangs.
      void core.db.close();
    }, config.limits.shutdownTimeoutMs);
    // A connection that is kept alive becomes idle when its answer ends, maybe after the stop has begun.
    const idle = setInterval(() => http.server.closeIdleConnections(), 100);
    closeSilent();
    const jobsEnded = Promise.all(background?.jobs.map((job) => job.stop()) ?? []);
    core.eventHub.close();
    try {
      await http.close();
      // A store that is silent must not hold up the stop: what is cut off is settled later.
      core.blobs.close?.();
      await jobsEnded;
      await background?.downloads.stop();
      await core.db.close();
    } finally {
      clearTimeout(cut);
      clearInterval(idle);
      folder?.unlock();
    }
    log.info({}, "stopped");
  }

  return {
    core,
    port,
    async start() {
      await listen(http, config);
      origin ||= httpAddress(config.host, port());
      background = startJobs(core, config, log);
      log.info({ host: config.host, port: port(), data: config.dataFolder }, "listening");
    },
    stop: () => (stopping ??= release()),
  };
}

/** What begins anew with each start. */
function madeAnew({ makeResolver = () => new Resolver(NAMES) }: Parts) {
  return {
    makeResolver,
    verifiedTokens: new VerifiedTokens(),
    activity: new Activity(),
    keysUnderWay: new Set<string>(),
    eventHub: new EventHub(),
    downloadLog: new DownloadLog(),
    damaged: new Set<string>(),
  };
}

/** Closes connections that nothing has come on yet, such as browsers open in advance: to Node they are not idle. */
function silentConnections(server: Server): () => void {
  const open = new Set<Socket>();
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}

/** A data folder has one server: none of the uploads that it had before is under way. */
async function dropReservations(db: Database): Promise<void> {
  const now = Number.MAX_SAFE_INTEGER;
  if (await hasLapsedReservations(db, now)) await db.write("lapseReservations", { now });
}

interface Background {
  jobs: Job[];
  /** To be stopped after the last answer. */
  downloads: Job;
}

function startJobs(core: Core, config: Config, log: Log): Background {
  const failed = (job: string) => (error: unknown) =>
    log.error({ job, ...errorFields(error) }, "background work failed");
  const eraser = startEraser(core, failed("eraser"));
  core.wakeEraser = eraser.wake;
  const downloads = startDownloads(core, failed("downloads"), (count) =>
    log.error({ count }, "downloads by link are missing in the audit trail"),
  );
  const events = startEvents(core, failed("events"));
  const webhooks = startWebhooks(core, failed("webhooks"));
  core.db.onEvents = () => {
    events.wake();
    webhooks.wake();
  };
  const sweep = startSweep(core, config.auditDays, failed("sweep"));
  return { jobs: [eraser, sweep, events, webhooks, startActivity(core, failed("activity"))], downloads };
}

function identityProvider({ jwt }: Config, clock: Clock, log: Log): IdentityProvider | null {
  if (!jwt) return null;
  const failed = (error: unknown) =>
    log.warn(errorFields(error), "the keys of the identity provider cannot be fetched");
  const foundWeak = (kids: (string | undefined)[]) =>
    log.warn({ kids }, "RSA keys of the identity provider with less than 2048 bits are not accepted");
  const keys = new KeySet(jwt.keySetUrl, clock, failed, foundWeak);
  return { issuer: jwt.issuer, audience: jwt.audience, keys };
}

async function listen(
  http: { listen(to: { host: string; port: number }): Promise<string> },
  config: Config,
): Promise<void> {
  try {
    // One address: for a name with several the framework would open servers that are not set up as ours is.
    const { address } = await lookup(config.host);
    await http.listen({ host: address, port: config.port });
  } catch (error) {
    throw new OperatorError(
      `PARLEY_HOST=${config.host} and PARLEY_PORT=${config.port} cannot be listened on: ${(error as Error).message}.`,
      { cause: error },
    );
  }
}

function httpAddress(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
