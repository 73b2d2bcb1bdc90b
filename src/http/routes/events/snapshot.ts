import { getSnapshot, snapshotFields, snapshotResource } from "../../../core/events/snapshot.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { inTurns } from "../../protocol/turns.ts";

export const snapshotOperation: Operation = operation({
  name: "retrieveSnapshot",
  method: "GET",
  path: "/v1/snapshot",
  scope: "messages:read",
  summary: "Retrieve the newest conversations with their messages, and the cursor of later events",
  query: snapshotFields,
  answer: { status: 200, resource: snapshotResource, versioned: true },
  errors: ["precondition_failed"],
  handle: (call) => inTurns(call, (turns) => getSnapshot(call.core, call.caller, call.query, turns)),
});
