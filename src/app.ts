import { lookup, Resolver } from "node:dns/promises";
import { EventEmitter } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Config } from "./config/settings.ts";
import { deliverTyping } from "./core/events/typing.ts";
import { openFile } from "./core/files/downloads.ts";
import { Activity } from "./core/node/activity.ts";
import { VerifiedTokens } from "./core/node/caller.ts";
import type { Core, DataAccess, IdentityProvider } from "./core/node/core.ts";
import { DownloadLog } from "./core/node/download-log.ts";
import { EventHub } from "./core/node/event-hub.ts";
import { KeySet } from "./core/node/key-set.ts";
import { createLinks } from "./core/node/links.ts";
import { MessageRates } from "./core/node/message-rates.ts";
import { OpenId } from "./core/node/openid.ts";
import { type PreviewParts, Previews } from "./core/node/previews.ts";
import { Resumables } from "./core/node/resumables.ts";
import { proveScanner, Scanner } from "./core/node/scanner.ts";
import { Seal } from "./core/node/seal.ts";
import { Space } from "./core/node/space.ts";
import { Typists } from "./core/node/typists.ts";
import { renewContactKeys } from "./core/upkeep/contact-keys.ts";
import { fillFoldedKeys } from "./core/upkeep/folded-keys.ts";
import { refuseHalfMove } from "./core/upkeep/move.ts";
import { createDataAccess } from "./data-access.ts";
import type { Callbacks, Database } from "./db/database.ts";
import { lockFolder } from "./db/engines/sqlite/lock.ts";
import { findShape } from "./db/queries/files/picture-placeholders.ts";
import { followsRule } from "./db/queries/search/search.ts";
import { hasReservations } from "./db/queries/storage/storage-used.ts";
import { hasStoredFiles } from "./db/queries/upkeep/integrity.ts";
import { allCarriedSecrets } from "./db/queries/upkeep/tables.ts";
import { findPushKey } from "./db/queries/webhooks/push-subscriptions.ts";
import { openDatabase, openStore } from "./engines.ts";
import { OperatorError } from "./errors.ts";
import { startActivity } from "./jobs/activity.ts";
import { startClockWatch } from "./jobs/clock.ts";
import { startDownloads } from "./jobs/downloads.ts";
import { startEraser } from "./jobs/eraser.ts";
import { startEvents } from "./jobs/events.ts";
import { startIndexer } from "./jobs/indexer.ts";
import type { Job } from "./jobs/job.ts";
import { startPreviewSweep } from "./jobs/previews.ts";
import { startProfiles } from "./jobs/profiles.ts";
import { startSweep } from "./jobs/sweep.ts";
import { startWebhooks } from "./jobs/webhooks.ts";
import { PreviewCache } from "./previews/cache.ts";
import { findSharp } from "./previews/command.ts";
import { PreviewMakers } from "./previews/makers.ts";
import { toHttpUrl } from "./util/addresses.ts";
import type { Clock } from "./util/clock.ts";
import { type DataFolder, openDataFolder, readSecret } from "./util/data-folder.ts";
import { createFuse, type Fuse } from "./util/fuse.ts";
import type { Random } from "./util/ids.ts";
import { createLog, errorFields, type Log } from "./util/log.ts";
import { createPushKey, PushIdentity } from "./util/web-push.ts";

/** What a test may replace. */
export interface Parts {
  clock?: Clock;
  random?: Random;
  makeResolver?: () => Resolver;
}

/** Timeout of a DNS query in milliseconds, and attempts per name server. */
const NAMES = { timeout: 1000, tries: 2 };

/** Wakes background work after a change, and passes on what nodes broadcast. */
type Wakeups = EventEmitter<
  Record<"eraser" | "profiles" | "events" | "downloads" | "outdated", []> & {
    broadcast: [texts: readonly string[]];
  }
>;

export interface App {
  core: Core;
  /** The port it listens on. */
  port(): number;
  /** Starts listening and the background work. */
  start(): Promise<void>;
  /** Stops accepting requests, lets running ones end within the limit, and releases everything. */
  stop(): Promise<void>;
}

/** Builds the whole service, for `parley serve` and for tests. Throws if its data folder is in use. */
export async function createApp(config: Config, parts: Parts = {}): Promise<App> {
  const log = createLog(config.logLevel);
  const fuse = createFuse((cause) =>
    log.error(errorFields(cause), "a disk failed: nothing is written until a restart"),
  );
  await using opened = new AsyncDisposableStack();
  const folder = await takeFolder(config);
  if (folder) opened.defer(() => folder.unlock());
  const wakeups: Wakeups = new EventEmitter();
  const callbacks: Callbacks = {
    onEvents: () => wakeups.emit("events"),
    onBroadcast: (texts) => wakeups.emit("broadcast", texts),
    onDamagedIndex: (cause) =>
      log.error(errorFields(cause), "the search index was damaged and is being rebuilt: run parley check"),
    onOutdated(schema) {
      log.error({ schema }, "a newer release has migrated the database: nothing is served until an upgrade");
      wakeups.emit("outdated");
    },
  };
  const db = await openDatabase(config, fuse, { callbacks });
  opened.defer(() => db.close());
  await refuseHalfMove(db);
  if (!(await followsRule(db))) await db.write("rebuildIndex", undefined);
  await renewContactKeys(db);
  await fillFoldedKeys(db);
  const data = createDataAccess(config, db, parts, {
    wakeEraser: () => wakeups.emit("eraser"),
    wakeProfiles: () => wakeups.emit("profiles"),
  });
  const app = await buildApp(config, { data, parts, log, fuse, folder, wakeups });
  // From here on the app releases it.
  opened.move();
  return app;
}

type LockedFolder = DataFolder & { unlock(): void };

/** Locks the data folder; undefined with PostgreSQL and S3, which do not use it. */
async function takeFolder(config: Config): Promise<LockedFolder | undefined> {
  if (config.databaseUrl !== null && config.store !== null) return undefined;
  const folder = await openDataFolder(config.dataFolder, config.databaseUrl === null ? "database" : "files");
  return { ...folder, unlock: lockFolder(folder.lock).release };
}

/** The parts that are opened before the service is built on them. */
interface Opened {
  data: DataAccess;
  parts: Parts;
  log: Log;
  fuse: Fuse;
  folder: LockedFolder | undefined;
  wakeups: Wakeups;
}

async function buildApp(config: Config, opened: Opened): Promise<App> {
  const { data, parts, log, fuse, folder, wakeups } = opened;
  if (config.databaseUrl === null) await dropReservations(data.db);
  // With port 0 the URL is known only once the server listens.
  let origin = config.publicUrl ?? (config.port === 0 ? "" : toHttpUrl(config.host, config.port));
  const secrets = config.secrets.length > 0 ? config.secrets : [await readSecret(folder!, data.random)];
  const core: Core = {
    ...data,
    blobs: await openStore(config, fuse, async () => !(await hasStoredFiles(data.db))),
    links: createLinks(secrets, await allCarriedSecrets(data.db), () => origin, data.clock),
    origin: () => origin,
    fuse,
    space: new Space(config.isReadyWhenFull),
    seal: new Seal(secrets, data.random),
    pushIdentity: await openPushIdentity(data, () => origin),
    scanner: await openScanner(config, log),
    previews: await openPreviews(config, data, log, (row) => openFile(core, row, 0, row.file_size - 1)),
    identityProvider: identityProvider(config, data.clock, log),
    openId: openId(config, log),
    downloadLog: new DownloadLog(() => wakeups.emit("downloads")),
    messageRates: data.limits.requestsPerSecond === 0 ? null : new MessageRates(data.clock),
    typists: new Typists(data.db, data.clock),
    ...madeAnew(parts),
  };
  // Loaded here, so that commands beside a server start without it.
  const { createHttp } = await import("./http/server.ts");
  const http = await createHttp(core, config, log);
  const closeSilent = silentConnections(http.server);
  const port = () => (http.server.address() as AddressInfo).port;
  let background: Jobs | undefined;
  let stopping: Promise<void> | undefined;

  async function release(): Promise<void> {
    const cut = setTimeout(() => {
      http.server.closeAllConnections();
      // Background work may be waiting for a database that hangs.
      void core.db.close();
    }, config.limits.shutdownTimeoutMs);
    // A keep-alive connection becomes idle when its answer ends, which may be after the shutdown started.
    const idle = setInterval(() => http.server.closeIdleConnections(), 100);
    closeSilent();
    const jobsEnded = Promise.all(background?.jobs.map((job) => job.stop()) ?? []);
    core.eventHub.close();
    try {
      await http.close();
      // A silent store must not delay the shutdown; interrupted uploads are settled later.
      core.blobs.close?.();
      await core.previews?.close();
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
      origin ||= toHttpUrl(config.host, port());
      background = startJobs(core, config, log, wakeups);
      log.info({ host: config.host, port: port(), data: config.dataFolder }, "listening");
    },
    stop: () => (stopping ??= release()),
  };
}

/** Its key is made at the first start. Push servers refuse a contact that is not on the web. */
async function openPushIdentity({ db, clock }: DataAccess, origin: () => string): Promise<PushIdentity> {
  const key = (await findPushKey(db)) ?? (await db.write("createPushKey", { key: createPushKey() }));
  return new PushIdentity(key, () => (origin().startsWith("https:") ? origin() : undefined), clock);
}

/** State that starts empty with each process. */
function madeAnew({ makeResolver = () => new Resolver(NAMES) }: Parts) {
  return {
    makeResolver,
    verifiedTokens: new VerifiedTokens(),
    activity: new Activity(),
    runningKeys: new Set<string>(),
    runningUploads: new Map<string, number>(),
    resumables: new Resumables(),
    runningArchives: new Map<string, number>(),
    eventHub: new EventHub(),
    damaged: new Set<string>(),
  };
}

/** Closes connections without any request yet, which browsers open in advance. Node does not count them as idle. */
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

/** A data folder has one server, so no request from before its start is still running. */
async function dropReservations(db: Database): Promise<void> {
  if (await hasReservations(db)) await db.write("dropReservations", undefined);
}

interface Jobs {
  jobs: Job[];
  /** Stopped after the last answer. */
  downloads: Job;
}

function startJobs(core: Core, config: Config, log: Log, wakeups: Wakeups): Jobs {
  const failed = (job: string) => (error: unknown) =>
    log.error({ job, ...errorFields(error) }, "background work failed");
  const eraser = startEraser(core, failed("eraser"));
  const downloads = startDownloads(core, failed("downloads"), (count) =>
    log.error({ count }, "downloads by link are missing in the audit trail"),
  );
  const profiles = startProfiles(core, failed("profiles"));
  const events = startEvents(core, failed("events"));
  const webhooks = startWebhooks(core, failed("webhooks"), ({ webhook, delivery, error, isNews }) =>
    log[isNews ? "warn" : "debug"]({ webhook, delivery, ...errorFields(error) }, "a webhook did not answer"),
  );
  wakeups.on("profiles", profiles.wake);
  wakeups.on("eraser", eraser.wake).on("events", events.wake).on("events", webhooks.wake);
  wakeups.on("downloads", downloads.wake);
  wakeups.on("outdated", () => core.eventHub.endAll());
  wakeups.on("broadcast", (texts) => void deliverTyping(core, texts).catch(failed("typing")));
  const sweep = startSweep(core, config.auditDays, failed("sweep"));
  const indexer = startIndexer(core, failed("indexer"));
  const activity = startActivity(core, failed("activity"));
  const clock = startClockWatch(core, {
    onSkew: (skew_ms) =>
      log.error({ skew_ms }, "the clock differs from that of the database server: synchronize both"),
    onJump: (jump_ms) => log.warn({ jump_ms }, "the clock was set, or the machine slept"),
  });
  const previews = core.previews ? [startPreviewSweep(core, core.previews, failed("previews"))] : [];
  return {
    jobs: [eraser, sweep, profiles, events, webhooks, indexer, activity, clock, ...previews],
    downloads,
  };
}

function identityProvider({ jwt }: Config, clock: Clock, log: Log): IdentityProvider | null {
  if (!jwt) return null;
  const failed = (error: unknown) =>
    log.warn(errorFields(error), "the keys of the identity provider cannot be fetched");
  const foundWeak = (kids: (string | undefined)[]) =>
    log.warn({ kids }, "RSA keys of the identity provider with less than 2048 bits are not accepted");
  const keySet = jwt.keySetUrl === null ? null : new KeySet(jwt.keySetUrl, clock, failed, foundWeak);
  return { ...jwt, keySet };
}

function openId(config: Config, log: Log): OpenId | null {
  const failed = (error: unknown) => log.warn(errorFields(error), "a sign-in at the OpenID provider failed");
  return config.openId && new OpenId(config.openId, failed);
}

/** Throws `OperatorError` if the scanner does not scan what it must. */
async function openScanner({ scan }: Config, log: Log): Promise<Scanner | null> {
  if (!scan) return null;
  const scanner = new Scanner(scan, (error) => log.error(errorFields(error), "a file could not be scanned"));
  await proveScanner(scanner);
  return scanner;
}

/** Throws `OperatorError` if sharp is not installed, or the folder cannot be used. */
async function openPreviews(
  { previews }: Config,
  { db, clock }: DataAccess,
  log: Log,
  open: PreviewParts["open"],
): Promise<Previews | null> {
  if (!previews) return null;
  const onFailure = (error: unknown) => log.error(errorFields(error), "a preview could not be made or kept");
  const makers = new PreviewMakers(findSharp(), onFailure);
  if (!makers.isLimited)
    log.warn({}, "prlimit is missing: pictures are decoded without limits on memory, files and CPU time");
  return new Previews({
    cache: await PreviewCache.open(previews, clock),
    makers,
    open,
    findShape: (id) => findShape(db, id),
    storePlaceholder: (input) => db.write("setPlaceholder", input),
    onFailure,
  });
}

async function listen(
  http: { listen(to: { host: string; port: number }): Promise<string> },
  config: Config,
): Promise<void> {
  try {
    // One address: for a name with several Fastify would open further servers without our settings.
    const { address } = await lookup(config.host);
    await http.listen({ host: address, port: config.port });
  } catch (error) {
    throw new OperatorError(
      `Cannot listen on ${config.host}:${config.port}: ${(error as Error).message}. Set PARLEY_HOST or PARLEY_PORT.`,
      { cause: error },
    );
  }
}
