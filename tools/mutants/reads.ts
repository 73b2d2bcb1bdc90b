// Read positions and readers: whom they are disclosed to, and usernames of new users and contacts.
import type { Mutant } from "./mutant.ts";

export const reads: readonly Mutant[] = [
  {
    name: "names: a contact of the own username is created",
    find: "WHERE id = ${ownerId} AND username_key <> ${usernameKey})",
    replace: "WHERE id = ${ownerId})",
    tests: ["http/own-name"],
  },
  {
    name: "names: a bulk creates a contact of the own username",
    find: "AND u.username_key <> input.username_key AND",
    replace: "AND",
    tests: ["http/own-name"],
  },
  {
    name: "names: a new user gets a name that differs from another only by case folding",
    find: "ON CONFLICT DO NOTHING RETURNING id`,",
    replace: "ON CONFLICT (username_key) DO UPDATE SET username = users.username RETURNING id`,",
    tests: ["http/users"],
  },
];
