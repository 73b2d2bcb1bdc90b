import { object, text } from "../../../core/resource/schema.ts";
import { checkReady } from "../../../core/upkeep/health.ts";
import { type Operation, operation } from "../../protocol/operation.ts";

const answer = { status: 200, content: { "application/json": object({ status: text }) } } as const;

/** Declares the checks for supervisors and load balancers. */
export const healthOperations: readonly Operation[] = [
  operation({
    name: "isAlive",
    method: "GET",
    path: "/healthz",
    access: "open",
    summary: "Check that the process is alive",
    answer,
    handle: async () => ({ status: "ok" }),
  }),
  operation({
    name: "isReady",
    method: "GET",
    path: "/readyz",
    access: "open",
    summary: "Check that the service can do its work",
    answer,
    async handle({ core }) {
      await checkReady(core);
      return { status: "ready" };
    },
  }),
];
