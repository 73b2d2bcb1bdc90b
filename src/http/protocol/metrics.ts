import type { Server } from "node:http";
import { Counter, Gauge, Registry } from "@prometheus-io/client";
import type { Core } from "../../core/core.ts";
import { countTombstones, queuedWrites } from "../../core/upkeep/backlog.ts";
import { RequestStats } from "./request-stats.ts";

/** Counts what passes through the server. */
export class Metrics {
  readonly requests = new RequestStats();
  readonly #registry = new Registry();
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Measures a server, before its first connection. */
  watch(server: Server): void {
    const registers = [this.#registry];
    const bytes = new Counter({
      name: "parley_http_bytes_total",
      help: "Bytes of connections that have ended.",
      labelNames: ["direction"],
      registers,
    });
    addGauges(server, this.#core, registers);
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

function addGauges(server: Server, core: Core, registers: Registry[]): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  gauge(
    "parley_http_connections",
    "Open connections.",
    () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
  );
  gauge("parley_write_queue_length", "Writes that wait for a commit.", () => queuedWrites(core));
  gauge("parley_tombstones", "Deleted files whose bytes are still to be erased.", () =>
    countTombstones(core),
  );
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  gauge("process_uptime_seconds", "Since the start of the process.", () => process.uptime());
}
