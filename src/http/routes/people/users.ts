import {
  createUser,
  deleteUser,
  getUser,
  getUserWithUnread,
  listUsers,
  userFields,
  userFilters,
  userResource,
  userWithUnreadResource,
} from "../../../core/people/users.ts";
import { pageFields, toPageRequest } from "../../../core/resource/fields.ts";
import { expectOnlyVersion, markReplay, sendUnchanging, sendVersioned } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";
import { inTurns } from "../../protocol/turns.ts";

const id = { name: "user_id", kind: "usr", unknown: "user_not_found" } as const;

/** For the integrator's back end, which creates its users here, too. */
export const userOperations: readonly Operation[] = [
  operation({
    name: "listUsers",
    method: "GET",
    path: "/v1/users",
    scope: "admin",
    summary: "List users",
    query: { ...pageFields("usr"), ...userFilters },
    body: {},
    answer: { status: 200, page: userResource },
    errors: [],
    async handle(call) {
      const { core, query, request, reply } = call;
      const page = toPageRequest(query);
      const found = await inTurns(call, (turns) => listUsers(core, page, turns));
      return sendPage(core, request, reply, page, found);
    },
  }),
  operation({
    name: "createUser",
    method: "POST",
    path: "/v1/users",
    scope: "admin",
    summary: "Create a user",
    query: {},
    body: userFields,
    answer: { status: 201, resource: userResource, versioned: true },
    errors: ["username_taken"],
    async handle({ core, caller, body, key, request, reply }) {
      const { replayed, ...user } = await createUser(core, caller, body, key);
      reply.header("location", `${core.origin()}/v1/users/${user.id}`);
      if (replayed) markReplay(reply);
      return sendUnchanging(request, reply, user);
    },
  }),
  operation({
    name: "retrieveUser",
    method: "GET",
    path: "/v1/users/:id",
    id,
    scope: "admin",
    summary: "Retrieve a user",
    query: {},
    body: {},
    answer: { status: 200, resource: userWithUnreadResource, versioned: true },
    errors: ["user_not_found", "precondition_failed"],
    handle: async ({ core, id, request, reply }) =>
      sendVersioned(request, reply, await getUserWithUnread(core, id)),
  }),
  operation({
    name: "deleteUser",
    method: "DELETE",
    path: "/v1/users/:id",
    id,
    scope: "admin",
    summary: "Delete a user and their data",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["user_not_found", "precondition_failed"],
    async handle({ core, caller, id, request }) {
      await getUser(core, id);
      expectOnlyVersion(request);
      await deleteUser(core, caller, id);
    },
  }),
];
