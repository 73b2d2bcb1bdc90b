import { Counter, Gauge, Registry } from "@prometheus-io/client";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { countTombstones, queuedWrites } from "../core/backlog.ts";
import type { Core } from "../core/core.ts";
import { readFields } from "../core/fields.ts";
import { queryOf } from "./operation.ts";
import { RequestStats } from "./request-stats.ts";

/** The status of an answer, or "aborted" where the client hung up before its end. */
export function outcomeOf(reply: FastifyReply): string | number {
  return reply.raw.destroyed && !reply.raw.writableFinished ? "aborted" : reply.statusCode;
}

/** To be called once for each answer. */
type Count = (request: FastifyRequest, reply: FastifyReply, route: string | undefined, ms: number) => void;

/** Counts what passes through the server, and shows it at `/metrics` to tokens with the scope `admin`. */
export function metricsRoutes(app: FastifyInstance, core: Core): Count {
  const registry = new Registry();
  const registers = [registry];
  const stats = new RequestStats();
  const bytes = new Counter({
    name: "parley_http_bytes_total",
    help: "Bytes of connections that have ended.",
    labelNames: ["direction"],
    registers,
  });
  addGauges(app, core, registers);

  const count: Count = (request, reply, route, ms) => {
    stats.add(request.method, route ?? "none", outcomeOf(reply), ms / 1000);
  };
  app.server.on("connection", (socket) => {
    socket.once("close", () => {
      bytes.inc({ direction: "in" }, socket.bytesRead);
      bytes.inc({ direction: "out" }, socket.bytesWritten);
    });
  });
  app.get("/metrics", { config: { scope: "admin" } }, async (request, reply) => {
    readFields({}, queryOf(request));
    reply.header("content-type", registry.contentType);
    return stats.text() + (await registry.metrics());
  });
  return count;
}

function addGauges(app: FastifyInstance, core: Core, registers: Registry[]): void {
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
        app.server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
  );
  gauge("parley_write_queue_length", "Writes that wait for a commit.", () => queuedWrites(core));
  gauge("parley_tombstones", "Deleted files whose bytes are still to be erased.", () =>
    countTombstones(core),
  );
  gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  gauge("process_uptime_seconds", "Since the start of the process.", () => process.uptime());
}
