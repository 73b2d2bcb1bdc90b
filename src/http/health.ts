import type { FastifyInstance } from "fastify";
import type { Core } from "../core/core.ts";

/** For supervisors and load balancers: whether the process lives, and whether it can do its work. */
export function healthRoutes(app: FastifyInstance, core: Core): void {
  const open = { config: { public: true } };
  app.get("/healthz", open, async () => ({ status: "ok" }));
  app.get("/readyz", open, async () => {
    await core.db.get("SELECT 1 AS one");
    return { status: "ready" };
  });
}
