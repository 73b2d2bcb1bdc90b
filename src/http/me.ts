import type { Limits } from "../config.ts";
import { getMe } from "../core/me.ts";
import { type Operation, operation } from "./operation.ts";

/** The caller. `limits` are those that a client can run into. */
export function meOperation(limits: Limits): Operation {
  return operation({
    name: "retrieveMe",
    method: "GET",
    path: "/v1/me",
    summary: "Retrieve the caller",
    query: {},
    body: {},
    answer: { status: 200, schema: "Me" },
    errors: [],
    async handle({ core, caller }) {
      return {
        ...(await getMe(core, caller)),
        limits: {
          max_file_size: limits.maxFileBytes || null,
          max_body_size: limits.maxBodyBytes,
          rate_limit: limits.requestsPerSecond || null,
        },
      };
    },
  });
}
