import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { countTombstones, queuedWrites } from "../core/backlog.ts";
import type { Core } from "../core/core.ts";
import { readFields } from "../core/fields.ts";
import { queryOf } from "./operation.ts";

/** Seconds; from a read out of memory to a large upload. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];

/** The status of an answer, or "aborted" where the client hung up before its end. */
export function outcomeOf(reply: FastifyReply): string {
  return reply.raw.destroyed && !reply.raw.writableFinished ? "aborted" : String(reply.statusCode);
}

/** To be called once for each answer. */
type Count = (request: FastifyRequest, reply: FastifyReply, ms: number) => void;

/** Counts what passes through the server, and shows it at `/metrics` to tokens with the scope `admin`. */
export function metricsRoutes(app: FastifyInstance, core: Core): Count {
  const registry = new Registry();
  const registers = [registry];
  const labelNames = ["method", "route", "status"];
  const requests = new Counter({
    name: "parley_http_requests_total",
    help: "Requests answered.",
    labelNames,
    registers,
  });
  const durations = new Histogram({
    name: "parley_http_request_duration_seconds",
    help: "From the headers' arrival to the answer's end.",
    labelNames: ["method", "route"],
    buckets: BUCKETS,
    registers,
  });
  const bytes = new Counter({
    name: "parley_http_bytes_total",
    help: "Bytes of connections that have ended.",
    labelNames: ["direction"],
    registers,
  });
  addGauges(app, core, registers);

  function count(request: FastifyRequest, reply: FastifyReply, ms: number): void {
    const route = request.routeOptions.url ?? "none";
    const { method } = request;
    requests.inc({ method, route, status: outcomeOf(reply) });
    durations.observe({ method, route }, ms / 1000);
  }
  app.server.on("connection", (socket) => {
    socket.once("close", () => {
      bytes.inc({ direction: "in" }, socket.bytesRead);
      bytes.inc({ direction: "out" }, socket.bytesWritten);
    });
  });
  app.get("/metrics", { config: { scope: "admin" } }, async (request, reply) => {
    readFields({}, queryOf(request));
    reply.header("content-type", registry.contentType);
    return registry.metrics();
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
