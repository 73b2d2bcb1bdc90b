import { getMe, meResource } from "../../../core/people/me.ts";
import { type Operation, operation } from "../../protocol/operation.ts";

export const meOperation: Operation = operation({
  name: "retrieveMe",
  method: "GET",
  path: "/v1/me",
  summary: "Retrieve the caller",
  answer: { status: 200, resource: meResource },
  handle: ({ core, caller }) => getMe(core, caller),
});
