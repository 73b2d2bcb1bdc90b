// Read positions and readers: whom they are disclosed to, and usernames of new users and contacts.
import type { Mutant } from "./mutant.ts";

export const reads: readonly Mutant[] = [
  {
    name: "readers: the contact who has blocked the sender is listed",
    find: "c.id = me.contact_id AND c.peer_id = s.user_id)",
    replace: "c.id = me.contact_id)",
    tests: ["http/read-positions"],
  },
  {
    name: "readers: members who have blocked the sender are missing",
    find: "(me.group_id IS NOT NULL AND s.since_id < ${id})",
    replace:
      "(me.group_id IS NOT NULL AND s.since_id < ${id} AND NOT EXISTS (SELECT 1 FROM withheld w WHERE w.user_id = s.user_id AND w.from_id <= ${id} AND w.to_id >= ${id}))",
    tests: ["http/read-positions"],
  },
  {
    name: "readers: a member who joined after the message is listed",
    find: "(me.group_id IS NOT NULL AND s.since_id < ${id})",
    replace: "me.group_id IS NOT NULL",
    tests: ["http/read-positions"],
  },
  {
    name: "readers: users who do not see the message get a page",
    find: 'if (!message) throw new ParleyError("message_not_found"); const rows',
    replace: "if (!message) return toPage(page, [], String); const rows",
    tests: ["http/matrix"],
  },
  {
    name: "readers: who reads privately is listed",
    find: "AND k.disclosed_read_id >= ${id}",
    replace: "AND k.last_read_id >= ${id}",
    tests: ["http/read-positions"],
  },
  {
    name: "members: a private read is shown",
    find: "(SELECT k.disclosed_read_id FROM members me",
    replace: "(SELECT k.last_read_id FROM members me",
    tests: ["http/read-positions"],
  },
  {
    name: "members: read positions before the reader joined are shown",
    find: "AND k.disclosed_read_id > me.since_id)",
    replace: ")",
    tests: ["http/read-positions"],
  },
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
