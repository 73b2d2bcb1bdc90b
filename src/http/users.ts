import {
  avatarUrl,
  displayName,
  nullable,
  optional,
  pageFields,
  phoneNumber,
  toPageRequest,
  username,
} from "../core/fields.ts";
import { createUser, eraseUser, getUser, listUserPages } from "../core/users.ts";
import { expectOnlyVersion, sendUnchanging, tellReplay } from "./conditions.ts";
import { type Operation, operation } from "./operation.ts";
import { sendPage } from "./pages.ts";

const id = { kind: "usr", unknown: "user_not_found" } as const;

/** For the integrator's back end, which makes the users of its own service here, too. */
export const userOperations: readonly Operation[] = [
  operation({
    name: "listUsers",
    method: "GET",
    path: "/v1/users",
    scope: "admin",
    summary: "List users",
    query: { ...pageFields("usr"), username: optional(username) },
    body: {},
    answer: { status: 200, schema: "UserPage" },
    errors: [],
    async handle({ core, query, request, reply }) {
      const page = toPageRequest(query);
      return sendPage(core, request, reply, page, await listUserPages(core, page));
    },
  }),
  operation({
    name: "createUser",
    method: "POST",
    path: "/v1/users",
    scope: "admin",
    summary: "Create a user",
    query: {},
    body: {
      username,
      phone_number: optional(nullable(phoneNumber)),
      display_name: optional(displayName),
      avatar_url: optional(avatarUrl),
    },
    answer: { status: 201, schema: "User" },
    errors: ["username_taken"],
    async handle({ core, caller, body, key, request, reply }) {
      const { replayed, ...user } = await createUser(core, caller, body, key);
      reply.header("location", `${core.origin()}/v1/users/${user.id}`);
      tellReplay(reply, replayed);
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
    answer: { status: 200, schema: "User" },
    errors: ["user_not_found", "precondition_failed"],
    handle: async ({ core, id, request, reply }) => sendUnchanging(request, reply, await getUser(core, id)),
  }),
  operation({
    name: "deleteUser",
    method: "DELETE",
    path: "/v1/users/:id",
    id,
    scope: "admin",
    summary: "Erase a user and all that is theirs",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["user_not_found", "precondition_failed"],
    async handle({ core, caller, id, request }) {
      await getUser(core, id);
      expectOnlyVersion(request);
      await eraseUser(core, caller, id);
    },
  }),
];
