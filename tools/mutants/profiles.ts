// Who sees which profile, and who is informed of its changes.
import type { Mutant } from "./mutant.ts";

export const profiles: readonly Mutant[] = [
  {
    name: "a contact shows the profile of a user who does not have its owner, or blocks them",
    find: "CASE WHEN c.peer_id IS NOT NULL THEN (SELECT u.id || ' ' || COALESCE(u.avatar_id, '') || ' ' || COALESCE(u.avatar_url, '') || ' ' || COALESCE(u.display_name, '') FROM users u WHERE u.id = c.peer_id) END`;",
    replace:
      "(SELECT u.id || ' ' || COALESCE(u.avatar_id, '') || ' ' || COALESCE(u.avatar_url, '') || ' ' || COALESCE(u.display_name, '') FROM users u WHERE u.username_key = c.username_key)`;",
    tests: ["http/profiles"],
  },
  {
    name: "a profile is shown to those who share no conversation",
    find: "AND (r.id = users.id OR EXISTS",
    replace: "AND (r.id IS NOT NULL OR EXISTS",
    tests: ["contract/profiles", "http/profiles"],
  },
  {
    name: "a user who has left is noticed by missing events",
    find: "WHERE d.user_id = ${userId} AND s.user_id > ${after} AND s.group_id IS NULL",
    replace: "WHERE d.user_id = '' AND s.user_id > ${after} AND s.group_id IS NULL",
    tests: ["http/profiles"],
  },
  {
    name: "members of a group that the user has left are informed",
    find: "WHERE d.user_id = ${userId} AND s.user_id > ${after} AND s.group_id IS NULL",
    replace: "WHERE d.user_id = ${userId} AND s.user_id > ${after}",
    tests: ["http/profiles"],
  },
  {
    name: "a change while readers are left does not restart",
    find: "DO UPDATE SET after_id = ''`;",
    replace: "DO NOTHING`;",
    tests: ["contract/profiles"],
  },
  {
    name: "a change of data is an event",
    find: 'const isSeen = changed.includes("display_name") || changed.includes("avatar_url");',
    replace: "const isSeen = isChange;",
    tests: ["contract/profiles"],
  },
  {
    name: "a profile of another version is overwritten",
    find: "checkVersion(expected, was.version);",
    replace: "",
    tests: ["http/profile-fields"],
  },
  {
    name: "claims overwrite a field that was cleared",
    find: "known.includes(name) || given[name] !== undefined",
    replace: "known.includes(name) || (given[name] ?? undefined) !== undefined",
    tests: ["http/profile-fields"],
  },
  {
    name: "a change of an erased user stays",
    find: "sql`DELETE FROM profile_changes WHERE user_id = ${id}`,",
    replace: "",
    tests: ["contract/profiles"],
  },
  {
    name: "If-Match of a deleted user is not checked in the transaction",
    find: "checkVersion(expected, user.version); const lastEntry",
    replace: "checkVersion(null, user.version + Number(expected)); const lastEntry",
    tests: ["http/users"],
  },
  {
    name: "a refused delete of a user has revoked the tokens",
    find: "if (!expected) { await revokeTokensOf(core, caller, id);",
    replace: "if (expected !== undefined) { await revokeTokensOf(core, caller, id);",
    tests: ["http/users"],
  },
];
