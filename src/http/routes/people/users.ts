import { listFilesOf, userFileResource } from "../../../core/files/attachments.ts";
import { listGroupsOf, userGroupResource } from "../../../core/groups/groups.ts";
import {
  checkUser,
  createUser,
  deleteUser,
  getUserWithUnread,
  listUsers,
  updateUser,
  userChanges,
  userFields,
  userFilters,
  userResource,
  userWithUnreadResource,
} from "../../../core/people/users.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { expectedVersions, inFirstVersion, markReplay } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "user_id", kind: "usr", unknown: "user_not_found" } as const;

/** Declares the operations of users, for the integrator's back end, which also creates its users here. */
export const userOperations: readonly Operation[] = [
  operation({
    name: "listUsers",
    method: "GET",
    path: "/v1/users",
    scope: "admin",
    summary: "List users",
    query: { ...pageFields("usr"), ...userFilters },
    answer: { status: 200, page: userResource },
    handle: (call) => sendPage(call, (page, turns) => listUsers(call.core, page, turns)),
  }),
  operation({
    name: "createUser",
    method: "POST",
    path: "/v1/users",
    scope: "admin",
    summary: "Create a user",
    body: userFields,
    answer: { status: 201, resource: userResource, versioned: true },
    errors: ["username_taken", "identity_taken"],
    async handle({ core, caller, body, key, reply }) {
      const { replayed, ...user } = await createUser(core, caller, body, key);
      if (replayed) markReplay(reply);
      return inFirstVersion(user);
    },
  }),
  operation({
    name: "retrieveUser",
    method: "GET",
    path: "/v1/users/:id",
    id,
    scope: "admin",
    summary: "Retrieve a user",
    answer: { status: 200, resource: userWithUnreadResource, versioned: true },
    errors: ["user_not_found", "precondition_failed"],
    handle: ({ core, id }) => getUserWithUnread(core, id),
  }),
  operation({
    name: "updateUser",
    method: "PUT",
    path: "/v1/users/:id",
    id,
    scope: "admin",
    summary: "Update, pause or resume a user",
    body: userChanges,
    answer: { status: 200, resource: userWithUnreadResource, versioned: true },
    errors: ["user_not_found", "identity_taken", "count_limit_reached", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateUser(core, caller, id, body, expectedVersions(request)),
  }),
  operation({
    name: "listUserFiles",
    method: "GET",
    path: "/v1/users/:id/attachments",
    id,
    scope: "admin",
    summary: "List the files that a user sees, without their bytes",
    query: pageFields("att"),
    answer: { status: 200, page: userFileResource },
    errors: ["user_not_found"],
    async handle(call) {
      await checkUser(call.core, call.id);
      return sendPage(call, (page) => listFilesOf(call.core, call.id, page));
    },
  }),
  operation({
    name: "listUserGroups",
    method: "GET",
    path: "/v1/users/:id/groups",
    id,
    scope: "admin",
    summary: "List the groups of a user",
    query: pageFields("grp"),
    answer: { status: 200, page: userGroupResource },
    errors: ["user_not_found"],
    async handle(call) {
      await checkUser(call.core, call.id);
      return sendPage(call, (page) => listGroupsOf(call.core, call.id, page));
    },
  }),
  operation({
    name: "deleteUser",
    method: "DELETE",
    path: "/v1/users/:id",
    id,
    scope: "admin",
    summary: "Delete a user and their data",
    answer: { status: 204 },
    errors: ["user_not_found", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteUser(core, caller, id, expectedVersions(request)),
  }),
];
