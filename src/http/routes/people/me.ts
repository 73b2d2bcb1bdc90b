import { getMe, meResource, updateMe } from "../../../core/people/me.ts";
import { profileFields } from "../../../core/people/profiles.ts";
import { expectedVersions } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";

/** Declares the operations of the caller's own account, which any token may use. */
export const meOperations: readonly Operation[] = [
  operation({
    name: "retrieveMe",
    method: "GET",
    path: "/v1/me",
    summary: "Retrieve the caller",
    answer: { status: 200, resource: meResource, versioned: true },
    errors: ["precondition_failed"],
    handle: ({ core, caller }) => getMe(core, caller),
  }),
  operation({
    name: "updateMe",
    method: "PUT",
    path: "/v1/me",
    summary: "Update the caller's profile",
    body: profileFields,
    answer: { status: 200, resource: meResource, versioned: true },
    errors: ["precondition_failed"],
    handle: ({ core, caller, body, request }) => updateMe(core, caller, body, expectedVersions(request)),
  }),
];
