import type { Database } from "../../../src/db/database.ts";
import type { CreateGroup } from "../../../src/db/queries/groups/groups.ts";
import { sql } from "../../../src/db/sql.ts";
import { usernameKey } from "../../../src/util/text.ts";
import { aDeletion, addUser, anEntry, messageId } from "../../support/rows.ts";
import { add, eventsOf } from "../messages/talk.ts";

let members = 0;
/** Message ids are used only once. */
let messages = 1000;

const nextMessageId = () => messageId(messages++);

/** Returns an invitation of this name, with a new id. */
const invited = (username: string) => ({
  memberId: `mem_${String(++members).padStart(4, "0")}`,
  username,
  usernameKey: usernameKey(username),
  index: null,
});

/** Adds users who all have each other as contacts. */
export async function people(db: Database, ...names: string[]): Promise<void> {
  for (const name of names) await addUser(db, name);
  for (const owner of names) for (const name of names) if (name !== owner) await add(db, owner, name);
}

/** Returns the events of groups that the user got, oldest first. */
export const groupEvents = async (db: Database, user: string) =>
  (await eventsOf(db, user)).filter((event) => event.startsWith("group."));

/** Creates a group of this user. Its conversation is `cnv_` and its id. */
export async function createGroup(
  db: Database,
  userId: string,
  id: string,
  names: readonly string[] = [],
  fields: Partial<CreateGroup> = {},
): Promise<void> {
  const { memberId } = invited(userId);
  await db.write("createGroup", {
    ...{ id, conversationId: `cnv_${id}`, memberId, messageId: nextMessageId(), userId, name: id },
    ...{ description: null, avatarUrl: null, history: "joined", invited: names.map(invited) },
    ...{ areJoined: false, maxMembers: 256, entry: anEntry(), ...fields },
  });
}

export async function inviteInto(
  db: Database,
  groupId: string,
  userId: string,
  name: string,
  entry = anEntry(),
) {
  const input = { groupId, userId, invited: invited(name), maxMembers: 256, entry };
  return (await db.write("inviteMember", input)).id;
}

/** Takes one step of preparing to join. Returns true after the last one. */
export const prepare = (db: Database, groupId: string, userId: string, limit = 2) =>
  db.write("prepareJoin", { groupId, userId, now: 1, messageId: nextMessageId(), limit });

export async function join(db: Database, groupId: string, userId: string, limit = 2): Promise<void> {
  while (!(await prepare(db, groupId, userId, limit)));
  await accept(db, groupId, userId, limit);
}

/** Joins, if no step of preparing is left. */
export const accept = (db: Database, groupId: string, userId: string, limit = 2) =>
  db.write("joinGroup", { groupId, userId, messageId: nextMessageId(), limit, entry: anEntry() });

export const leaveGroup = (db: Database, groupId: string, userId: string, limit = 2) =>
  db.write("leaveGroup", {
    ...{ groupId, userId, messageId: nextMessageId(), now: 1, limit, expected: null, entry: anEntry() },
  });

async function seatOf(db: Database, groupId: string, userId: string): Promise<string> {
  const seat = await db.get<{ member_id: string }>(
    sql`SELECT member_id FROM members WHERE group_id = ${groupId} AND user_id = ${userId}`,
  );
  return seat!.member_id;
}

export async function makeAdmin(db: Database, groupId: string, byUserId: string, userId: string) {
  const memberId = await seatOf(db, groupId, userId);
  const change = { groupId, userId: byUserId, memberId, messageId: nextMessageId(), expected: null };
  await db.write("updateMember", { ...change, role: "admin", entry: anEntry() });
}

export const removeMember = (db: Database, groupId: string, userId: string, memberId: string) =>
  db.write("removeMember", {
    ...{ groupId, userId, memberId, messageId: nextMessageId(), expected: null, limit: 2, entry: anEntry() },
  });

export const deleteUser = (db: Database, id: string, limit = 250) =>
  db.write("deleteUser", aDeletion(id, { deletedAt: anEntry().at, limit, messageId: nextMessageId() }));

/** Returns the roles of joined members, by their ids. */
export async function rolesIn(db: Database, groupId: string): Promise<Record<string, string>> {
  const rows = await db.all<{ user_id: string; role: string }>(
    sql`SELECT user_id, role FROM members WHERE group_id = ${groupId}`,
  );
  return Object.fromEntries(rows.map(({ user_id, role }) => [user_id, role]));
}
