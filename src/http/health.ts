import type { FastifyInstance } from "fastify";
import type { Core } from "../core/core.ts";
import { readFields } from "../core/fields.ts";
import { checkReady } from "../core/health.ts";
import { queryOf } from "./operation.ts";

/** For supervisors and load balancers: whether the process lives, and whether it can do its work. */
export function healthRoutes(app: FastifyInstance, core: Core): void {
  const open = { config: { public: true } };
  app.get("/healthz", open, async (request) => {
    readFields({}, queryOf(request));
    return { status: "ok" };
  });
  app.get("/readyz", open, async (request) => {
    readFields({}, queryOf(request));
    await checkReady(core);
    return { status: "ready" };
  });
}
