import { getMe, meResource } from "../../../core/people/me.ts";
import { type Operation, operation } from "../../protocol/operation.ts";

export const meOperation: Operation = operation({
  name: "retrieveMe",
  method: "GET",
  path: "/v1/me",
  summary: "Retrieve the caller",
  query: {},
  body: {},
  answer: { status: 200, resource: meResource },
  errors: [],
  handle: ({ core, caller }) => getMe(core, caller),
});
