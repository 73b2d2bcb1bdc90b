// Which rows of groups remain when members leave or are erased, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { findInvitation } from "../../../src/db/queries/groups/groups.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { addUser, anEntry, attachment, aUser, message, messageId } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { add, block, eraseAll, eventsOf } from "../messages/talk.ts";
import {
  accept,
  createGroup,
  deleteUser,
  groupEvents,
  inviteInto,
  join,
  leaveGroup,
  makeAdmin,
  people,
  prepare,
  rolesIn,
} from "./in-groups.ts";

/** The tables that may have rows of a group. */
const TABLES = [
  ...["groups", "invitations", "preparing", "members", "places", "marks", "conversations", "messages"],
  ...["message_bodies", "attachments", "grants", "withheld", "departures", "departing", "joining"],
];

/** Erases the rest in steps. No step leaves a row that refers to a missing one. */
async function eraseInSteps(db: Database, limit: number): Promise<void> {
  for (let steps = 0; await hasRemains(db); steps++) {
    await db.write("eraseStep", { limit, now: 1, messageId: messageId(5000 + 10 * steps) });
    await checkOrphans(db);
    assert.ok(steps < 200);
  }
}

/** Returns the tables with rows of this group or its conversation. Rows of notes and contacts do not count. */
async function tablesWith(db: Database, id: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of TABLES) {
    const rows = await db.all(raw(`SELECT * FROM ${table}`) as ReturnType<typeof sql<object>>);
    if (rows.some((row) => Object.values(row).some((value) => String(value).includes(id)))) found.push(table);
  }
  return found;
}

const erase = (db: Database, _groupId: string, userId: string) => deleteUser(db, userId, 2);

for (const limit of [3, 1000]) {
  onEachDatabase(`an erased admin leaves all groups, ${limit} rows per step`, async (db) => {
    await people(db, "a", "b", "c", "d");
    for (const id of ["grp_1", "grp_2", "grp_3"]) {
      await createGroup(db, "a", id, ["b", "c"]);
      await join(db, id, "b");
      await inviteInto(db, id, "a", "d");
    }
    // A second admin also invites d into one of the groups.
    await makeAdmin(db, "grp_3", "a", "b");
    await inviteInto(db, "grp_3", "b", "d");
    await eventsOf(db, "a");
    await deleteUser(db, "a", limit);
    for (const id of ["grp_1", "grp_2"]) assert.equal(await findInvitation(db, "d", id), undefined);
    await eraseInSteps(db, limit);
    for (const id of ["grp_1", "grp_2", "grp_3"]) assert.deepEqual(await rolesIn(db, id), { b: "admin" });
    assert.deepEqual(await groupEvents(db, "d"), [
      ...["group.created grp_1", "group.created grp_2", "group.created grp_3"],
      // In the third group d still has the other invitation, and now sees its inviter.
      ...["group.deleted grp_1", "group.deleted grp_2", "group.updated grp_3"],
    ]);
    assert.equal((await findInvitation(db, "d", "grp_3"))?.inviter_id, "b");
    assert.deepEqual(await groupEvents(db, "a"), []);
    const said = await db.all<{ type: string }>(
      sql`SELECT type FROM messages WHERE conversation_id = 'cnv_grp_1' ORDER BY id`,
    );
    assert.deepEqual(
      said.map(({ type }) => type),
      // No remaining member has seen that a joined.
      ["joined", "left", "role"],
    );
  });
}

for (const limit of [3, 1000]) {
  onEachDatabase(`an erased user is nobody's inviter, ${limit} rows per step`, async (db) => {
    await people(db, "a", "b", "c", "d", "e");
    for (const id of ["grp_1", "grp_2"]) {
      await createGroup(db, "a", id, ["b", "c", "d"]);
      for (const name of ["b", "c", "d"]) await join(db, id, name);
    }
    await makeAdmin(db, "grp_1", "a", "b");
    await inviteInto(db, "grp_1", "b", "e");
    await join(db, "grp_1", "e");
    await leaveGroup(db, "grp_2", "a");
    const inviters = async () => {
      const rows = await db.all<{ user_id: string; inviter_id: string }>(
        sql`SELECT user_id, inviter_id FROM members WHERE inviter_id IS NOT NULL`,
      );
      return rows.map(({ user_id, inviter_id }) => `${user_id} ${inviter_id}`);
    };
    assert.equal((await inviters()).length, 7);
    await deleteUser(db, "a", limit);
    await eraseInSteps(db, limit);
    assert.deepEqual(await inviters(), ["e b"]);
  });
}

onEachDatabase("erasing a user declines their invitations without an event", async (db) => {
  await people(db, "a", "b");
  await createGroup(db, "a", "grp_1", ["b"]);
  await createGroup(db, "a", "grp_2", ["b"]);
  await createGroup(db, "a", "grp_3");
  const before = await eventsOf(db, "a");
  await deleteUser(db, "b", 2);
  const entry = anEntry();
  await inviteInto(db, "grp_3", "a", "b", { ...entry, at: entry.at + 1 });
  // A new user takes the name before the erasing ends, and has the inviter as a contact.
  await db.write("createUser", aUser("new", { usernameKey: "b" }));
  await add(db, "new", "a");
  assert.equal(await findInvitation(db, "new", "grp_2"), undefined);
  await eraseInSteps(db, 2);
  for (const id of ["grp_1", "grp_2"]) {
    assert.equal(await findInvitation(db, "new", id), undefined);
    await inviteInto(db, id, "a", "B");
    assert.equal(await findInvitation(db, "new", id), undefined, "it stands until it is withdrawn");
  }
  assert.deepEqual(await groupEvents(db, "new"), []);
  assert.equal((await findInvitation(db, "new", "grp_3"))?.inviter_id, "a", "invited since");
  assert.deepEqual(await eventsOf(db, "a"), before);
});

onEachDatabase("a group is erased after its last member leaves", async (db) => {
  await people(db, "a", "b", "c");
  await createGroup(db, "a", "grp_1", ["b", "c", "nobody"], { history: "all" });
  const say = (user: string, number: number) =>
    db.write("createMessage", message(user, number, "cnv_grp_1", { files: [attachment(user, number).file] }));
  await join(db, "grp_1", "b");
  await block(db, "c", "b");
  for (const number of [2001, 2002, 2003]) await say("b", number);
  for (const number of [2004, 2005]) await say("a", number);
  await join(db, "grp_1", "c");
  await say("b", 2006);
  // d is preparing to join when all members leave.
  await addUser(db, "d");
  await add(db, "d", "a");
  await block(db, "d", "b");
  await inviteInto(db, "grp_1", "a", "d");
  for (let step = 0; step < 2; step++) assert.equal(await prepare(db, "grp_1", "d"), false);
  await leaveGroup(db, "grp_1", "c");
  await inviteInto(db, "grp_1", "a", "c");
  await checkOrphans(db);
  assert.deepEqual(
    await tablesWith(db, "grp_1"),
    TABLES.filter((table) => !["message_bodies", "joining"].includes(table)),
  );
  await leaveGroup(db, "grp_1", "b");
  await eraseInSteps(db, 2);
  await leaveGroup(db, "grp_1", "a");
  await checkOrphans(db);
  await eraseInSteps(db, 2);
  assert.deepEqual(await tablesWith(db, "grp_1"), []);
});

for (const [how, go] of Object.entries({ leaves: leaveGroup, "is erased": erase })) {
  onEachDatabase(`joining shows no message that was visible only to a member who ${how}`, async (db) => {
    await people(db, "a", "b", "c");
    await createGroup(db, "a", "grp_1", ["b", "c"], { history: "all" });
    await join(db, "grp_1", "b");
    await block(db, "a", "b");
    for (const number of [2001, 2002, 2003, 2004, 2005])
      await db.write("createMessage", message("b", number, "cnv_grp_1"));
    await db.write("createMessage", message("a", 2006, "cnv_grp_1"));
    await go(db, "grp_1", "b");
    await assert.rejects(accept(db, "grp_1", "c"), { code: "unavailable" });
    await join(db, "grp_1", "c");
    const sent = await db.all<{ id: string }>(sql`SELECT id FROM messages WHERE type = 'text'`);
    assert.deepEqual(
      sent.map(({ id }) => id),
      [messageId(2006)],
    );
    assert.deepEqual(await rolesIn(db, "grp_1"), { a: "admin", c: "member" });
    await eraseInSteps(db, 2);
    assert.equal((await groupEvents(db, "c")).length, 2);
  });
}

onEachDatabase("erasing a user who is joining leaves no row", async (db) => {
  await people(db, "a", "b", "c");
  await createGroup(db, "a", "grp_1", ["b", "c"], { history: "all" });
  await join(db, "grp_1", "b");
  await block(db, "c", "b");
  for (const number of [2001, 2002, 2003]) await db.write("createMessage", message("b", number, "cnv_grp_1"));
  for (let step = 0; step < 2; step++) await prepare(db, "grp_1", "c");
  const left = sql<{
    user_id: string;
  }>`SELECT user_id FROM preparing UNION ALL SELECT user_id FROM withheld`;
  const rows = await db.all(left);
  assert.deepEqual(
    rows.map(({ user_id }) => user_id),
    ["c", "c"],
  );
  await checkOrphans(db);
  await deleteUser(db, "c", 2);
  await eraseInSteps(db, 2);
  await eraseAll(db);
  assert.deepEqual(await db.all(left), []);
});
