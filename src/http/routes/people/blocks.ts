import { blockResource, listBlocks, setBlock } from "../../../core/people/blocks.ts";
import { blockedUsername, username } from "../../../core/resource/fields.ts";
import { namePageFields } from "../../../core/resource/page.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

export const blockOperations: readonly Operation[] = [
  operation({
    name: "listBlocks",
    method: "GET",
    path: "/v1/blocks",
    scope: "contacts:read",
    summary: "List blocked usernames",
    query: namePageFields,
    answer: { status: 200, page: blockResource },
    handle: (call) => sendPage(call, (page) => listBlocks(call.core, call.caller, page)),
  }),
  operation({
    name: "blockUsername",
    method: "PUT",
    path: "/v1/blocks/:username",
    pathField: { name: "username", field: blockedUsername },
    scope: "contacts:write",
    summary: "Block a username: the caller receives nothing from its user",
    answer: { status: 204 },
    errors: ["invalid_parameter"],
    handle: ({ core, caller, pathValue }) => setBlock(core, caller, pathValue, true),
  }),
  operation({
    name: "unblockUsername",
    method: "DELETE",
    path: "/v1/blocks/:username",
    pathField: { name: "username", field: username },
    scope: "contacts:write",
    summary: "Unblock a username",
    answer: { status: 204 },
    errors: ["invalid_parameter"],
    handle: ({ core, caller, pathValue }) => setBlock(core, caller, pathValue, false),
  }),
];
