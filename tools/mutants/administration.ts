// What only admins see of users and tokens.
import type { Mutant } from "./mutant.ts";

export const administration: readonly Mutant[] = [
  {
    name: "administration: every token finds tokens by their secrets",
    find: 'path: "/v1/token_search", scope: "admin",',
    replace: 'path: "/v1/token_search", scope: "contacts:read",',
    tests: ["http/administration"],
  },
  {
    name: "administration: every token lists the files of a user",
    find: 'path: "/v1/users/:id/attachments", id, scope: "admin",',
    replace: 'path: "/v1/users/:id/attachments", id, scope: "attachments:read",',
    tests: ["http/administration"],
  },
  {
    name: "administration: every token lists the groups of a user",
    find: 'path: "/v1/users/:id/groups", id, scope: "admin",',
    replace: 'path: "/v1/users/:id/groups", id, scope: "groups:read",',
    tests: ["http/administration"],
  },
  {
    name: "administration: a list of failing webhooks has those of other users",
    find: "if (userId !== null) return sql`SELECT ${HOOK_COLUMNS}",
    replace: "if (userId !== null && !isFailing) return sql`SELECT ${HOOK_COLUMNS}",
    tests: ["http/administration"],
  },
  {
    name: "administration: a token was last used at another time",
    find: "if (caller.tokenId !== null) core.activity.note(caller.tokenId, now);",
    replace: "if (caller.tokenId !== null) core.activity.note(caller.tokenId, now - 3_600_000);",
    tests: ["http/administration"],
  },
];
