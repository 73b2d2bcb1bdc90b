import {
  getMember,
  invitationFields,
  inviteMember,
  listMembers,
  memberChanges,
  memberResource,
  removeMember,
  updateMember,
} from "../../../core/groups/group-members.ts";
import {
  createGroup,
  getGroup,
  groupChanges,
  groupFields,
  groupResource,
  joinGroup,
  leaveGroup,
  listGroups,
  updateGroup,
} from "../../../core/groups/groups.ts";
import { pageFields } from "../../../core/resource/page.ts";
import { idOf } from "../../../core/resource/resource.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "group_id", kind: "grp", unknown: "group_not_found" } as const;
const innerId = { name: "member_id", kind: "mem", unknown: "member_not_found" } as const;

export const groupOperations: readonly Operation[] = [
  operation({
    name: "listGroups",
    method: "GET",
    path: "/v1/groups",
    scope: "groups:read",
    summary: "List groups and invitations",
    query: pageFields("grp"),
    answer: { status: 200, page: groupResource },
    handle: (call) => sendPage(call, (page, turns) => listGroups(call.core, call.caller, page, turns)),
  }),
  operation({
    name: "createGroup",
    method: "POST",
    path: "/v1/groups",
    scope: "groups:write",
    summary: "Create a group and invite into it",
    body: groupFields,
    answer: { status: 201, resource: groupResource, versioned: true },
    errors: ["count_limit_reached"],
    async handle({ core, caller, body, key, reply }) {
      const created = await createGroup(core, caller, body, key);
      reply.header("location", `${core.origin()}/v1/groups/${idOf(created.json)}`);
      return created;
    },
  }),
  operation({
    name: "retrieveGroup",
    method: "GET",
    path: "/v1/groups/:id",
    id,
    scope: "groups:read",
    summary: "Retrieve a group",
    answer: { status: 200, resource: groupResource, versioned: true },
    errors: ["group_not_found", "precondition_failed"],
    handle: ({ core, caller, id }) => getGroup(core, caller, id),
  }),
  operation({
    name: "updateGroup",
    method: "PUT",
    path: "/v1/groups/:id",
    id,
    scope: "groups:write",
    readScope: "groups:read",
    showsOthers: true,
    summary: "Update a group, as an admin",
    body: groupChanges,
    answer: { status: 200, resource: groupResource, versioned: true },
    errors: ["group_not_found", "not_admin", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateGroup(core, caller, id, body, expectedVersions(request)),
  }),
  operation({
    name: "leaveGroup",
    method: "DELETE",
    path: "/v1/groups/:id",
    id,
    scope: "groups:write",
    summary: "Leave a group, or decline an invitation",
    answer: { status: 204 },
    errors: ["group_not_found", "precondition_failed"],
    handle: ({ core, caller, id, request }) => leaveGroup(core, caller, id, expectedVersions(request)),
  }),
  operation({
    name: "joinGroup",
    method: "POST",
    path: "/v1/groups/:id/join",
    id,
    scope: "groups:write",
    readScope: "groups:read",
    showsOthers: true,
    summary: "Accept an invitation",
    answer: { status: 200, resource: groupResource, versioned: true },
    errors: ["group_not_found"],
    handle: ({ core, caller, id, key }) => joinGroup(core, caller, id, key),
  }),
  operation({
    name: "listMembers",
    method: "GET",
    path: "/v1/groups/:id/members",
    id,
    scope: "groups:read",
    summary: "List members; for admins also those who are invited",
    query: pageFields("mem"),
    answer: { status: 200, page: memberResource },
    errors: ["group_not_found"],
    handle: (call) => sendPage(call, (page) => listMembers(call.core, call.caller, call.id, page)),
  }),
  operation({
    name: "inviteMember",
    method: "POST",
    path: "/v1/groups/:id/members",
    id,
    scope: "groups:write",
    readScope: "groups:read",
    showsOthers: true,
    summary: "Invite a username, as an admin",
    body: invitationFields,
    answer: { status: 201, resource: memberResource, versioned: true },
    errors: ["group_not_found", "not_admin", "count_limit_reached"],
    async handle({ core, caller, id, body, key, reply }) {
      const invited = await inviteMember(core, caller, id, body, key);
      reply.header("location", `${core.origin()}/v1/groups/${id}/members/${idOf(invited.json)}`);
      return invited;
    },
  }),
  operation({
    name: "retrieveMember",
    method: "GET",
    path: "/v1/groups/:id/members/:member_id",
    id,
    innerId,
    scope: "groups:read",
    summary: "Retrieve a member; as an admin also somebody who is invited",
    answer: { status: 200, resource: memberResource, versioned: true },
    errors: ["group_not_found", "member_not_found", "precondition_failed"],
    handle: ({ core, caller, id, innerId }) => getMember(core, caller, id, innerId),
  }),
  operation({
    name: "updateMember",
    method: "PUT",
    path: "/v1/groups/:id/members/:member_id",
    id,
    innerId,
    scope: "groups:write",
    readScope: "groups:read",
    showsOthers: true,
    summary: "Change the role of a member, as an admin",
    body: memberChanges,
    answer: { status: 200, resource: memberResource, versioned: true },
    errors: ["group_not_found", "not_admin", "member_not_found", "precondition_failed"],
    handle: ({ core, caller, id, innerId, body, request }) =>
      updateMember(core, caller, id, innerId, body, expectedVersions(request)),
  }),
  operation({
    name: "removeMember",
    method: "DELETE",
    path: "/v1/groups/:id/members/:member_id",
    id,
    innerId,
    scope: "groups:write",
    summary: "Remove a member or withdraw an invitation, as an admin",
    answer: { status: 204 },
    errors: ["group_not_found", "not_admin", "member_not_found", "precondition_failed"],
    handle: ({ core, caller, id, innerId, request }) =>
      removeMember(core, caller, id, innerId, expectedVersions(request)),
  }),
];
