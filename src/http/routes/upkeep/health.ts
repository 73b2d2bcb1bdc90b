import { described, listOf, object, oneOf, text } from "../../../core/resource/schema.ts";
import { checkReady, DEGRADATIONS } from "../../../core/upkeep/health.ts";
import { type Operation, operation } from "../../protocol/operation.ts";

const status = { status: text };
const degraded = described(
  listOf(oneOf(...DEGRADATIONS)),
  "What does not work although the service is ready. `storage_full`: the last write without room was less than a minute ago. `clock_skew`: the clock differs from that of the database server.",
);

/** Declares the checks for supervisors and load balancers. */
export const healthOperations: readonly Operation[] = [
  operation({
    name: "isAlive",
    method: "GET",
    path: "/healthz",
    access: "open",
    summary: "Check that the process is alive",
    answer: { status: 200, content: { "application/json": object(status) } },
    handle: async () => ({ status: "ok" }),
  }),
  operation({
    name: "isReady",
    method: "GET",
    path: "/readyz",
    access: "open",
    summary: "Check that the service can do its work",
    answer: { status: 200, content: { "application/json": object({ ...status, degraded }) } },
    handle: async ({ core }) => ({ degraded: await checkReady(core), status: "ready" }),
  }),
];
