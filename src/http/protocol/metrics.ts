import type { Server } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Registry } from "@prometheus-io/client";
import metadata from "../../../package.json" with { type: "json" };
import type { Core } from "../../core/node/core.ts";
import { TRANSPORTS } from "../../core/node/event-hub.ts";
import { countBacklogs, countTombstones, queuedWrites } from "../../core/upkeep/backlog.ts";
import { isUp, measureClockSkew, PARTS } from "../../core/upkeep/health.ts";
import { measureStorage } from "../../core/upkeep/storage.ts";
import { measureDisk, readLastBackup } from "../../util/data-folder.ts";
import { RequestStats } from "./request-stats.ts";

/** How often the delay of the event loop is measured. */
const TICK_MS = 20;

/** Data folders to measure. */
interface Folders {
  /** The one with the database or the files; null if both are elsewhere. */
  used: string | null;
  /** The one with both, which `parley backup` copies. */
  backedUp: string | null;
}

/** Counts requests, connections and bytes, and renders all metrics. */
export class Metrics {
  readonly requests = new RequestStats();
  readonly #registry = new Registry();
  readonly socketFrames = new Counter({
    name: "parley_websocket_frames_total",
    help: "Frames of the clients of WebSockets.",
    labelNames: ["type"],
    registers: [this.#registry],
  });
  readonly #core: Core;
  readonly #folders: Folders;

  constructor(core: Core, folders: Folders) {
    this.#core = core;
    this.#folders = folders;
  }

  /** Measures a server. Call this before its first connection. */
  watch(server: Server): void {
    const registers = [this.#registry];
    const bytes = new Counter({
      name: "parley_http_bytes_total",
      help: "Bytes of connections that have ended.",
      labelNames: ["direction"],
      registers,
    });
    addGauges(server, this.#core, this.#folders, registers);
    addStates(this.#core, registers);
    addLoad(this.#core, registers);
    server.on("connection", (socket) => {
      socket.once("close", () => {
        bytes.inc({ direction: "in" }, socket.bytesRead);
        bytes.inc({ direction: "out" }, socket.bytesWritten);
      });
    });
  }

  /** Renders all metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    return this.requests.text() + (await this.#registry.metrics());
  }

  get contentType(): string {
    return this.#registry.contentType;
  }
}

function addStates(core: Core, registers: Registry[]): void {
  const build = { name: "parley_build_info", help: "The version, as a label.", labelNames: ["version"] };
  new Gauge({ ...build, registers }).set({ version: metadata.version }, 1);
  new Gauge({
    name: "parley_up",
    help: "Whether a part of the service does its work: 1 or 0.",
    labelNames: ["part"],
    registers,
    async collect() {
      for (const part of PARTS) this.set({ part }, (await isUp(core, part)) ? 1 : 0);
    },
  });
}

/** Adds metrics that show why the service is slow: backlogs, connections to the database, the event loop and the heap. */
function addLoad(core: Core, registers: Registry[]): void {
  new Gauge({
    name: "parley_backlog",
    help: "What waits for background work, counted up to 10,000.",
    labelNames: ["work"],
    registers,
    async collect() {
      for (const [work, count] of await countBacklogs(core)) this.set({ work }, count);
    },
  });
  const delays = monitorEventLoopDelay({ resolution: TICK_MS });
  delays.enable();
  const gauge = gaugesOf(registers);
  gauge(
    "parley_event_loop_delay_seconds",
    "The longest delay of the event loop since the last request for metrics.",
    () => {
      // Node measures the time between two ticks.
      const longest = Math.max(0, delays.max / 1e6 - TICK_MS);
      delays.reset();
      return longest / 1000;
    },
  );
  gauge("process_heap_bytes", "The used heap of JavaScript.", () => process.memoryUsage().heapUsed);
  if (core.db.connectionStats() === null) return;
  const stats = () => core.db.connectionStats()!;
  new Gauge({
    name: "parley_database_connections",
    help: "Connections of the pool.",
    labelNames: ["state"],
    registers,
    collect() {
      this.set({ state: "used" }, stats().used);
      this.set({ state: "idle" }, stats().idle);
    },
  });
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  counter(
    "parley_write_conflicts_total",
    "Repetitions of writes that conflicted with others.",
    () => stats().conflicts,
  );
  counter(
    "parley_lost_sessions_total",
    "How often the session of this node in the database was lost.",
    () => stats().lostSessions,
  );
}

type Read = () => number | Promise<number>;

/** Returns a function that adds a gauge of a number. */
function gaugesOf(registers: Registry[]): (name: string, help: string, read: Read) => void {
  return (name, help, read) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
}

function addGauges(server: Server, core: Core, { used, backedUp }: Folders, registers: Registry[]): void {
  const gauge = gaugesOf(registers);
  gauge(
    "parley_http_connections",
    "Open connections.",
    () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
  );
  gauge("parley_storage_full", "1 if a write of the last minute found no room in the storage.", () =>
    Number(core.space.isFull()),
  );
  gauge(
    "parley_clock_skew_seconds",
    "By how much the clock is ahead of that of the database server; 0 without one.",
    () => measureClockSkew(core) / 1000,
  );
  gauge("parley_write_queue_length", "Writes that wait for a commit.", () => queuedWrites(core));
  gauge("parley_tombstones", "Deleted files whose bytes are still to be erased.", () =>
    countTombstones(core),
  );
  gauge("parley_stored_bytes", "Bytes of the files of all users, as their quotas count them.", () =>
    measureStorage(core),
  );
  new Gauge({
    name: "parley_event_streams",
    help: "Open streams of events.",
    labelNames: ["transport"],
    registers,
    collect() {
      for (const transport of TRANSPORTS) this.set({ transport }, core.eventHub.countListeners(transport));
    },
  });
  if (used !== null) {
    // NaN if the disk cannot be measured: the other metrics matter most then.
    const disk = () => measureDisk(used).catch(() => ({ free: Number.NaN, total: Number.NaN }));
    gauge("parley_disk_free_bytes", "Room on the disk of the data folder.", async () => (await disk()).free);
    gauge("parley_disk_total_bytes", "The size of that disk.", async () => (await disk()).total);
  }
  if (backedUp !== null)
    gauge(
      "parley_last_backup_timestamp_seconds",
      "The end of the last backup; 0 if there is none.",
      async () => Math.floor(((await readLastBackup(backedUp)) ?? 0) / 1000),
    );
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  gauge("process_uptime_seconds", "Since the start of the process.", () => process.uptime());
}
