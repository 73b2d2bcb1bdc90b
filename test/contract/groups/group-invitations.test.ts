// Invitations by several admins, and blocks that change while a user joins, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { OLDEST } from "../../../src/db/page.ts";
import { findInvitation } from "../../../src/db/queries/groups/groups.ts";
import { listMessageRows } from "../../../src/db/queries/messages/messages.ts";
import { findSeat } from "../../../src/db/queries/visibility/seats.ts";
import { sql } from "../../../src/db/sql.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { message } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { add, block, eventsOf, leave } from "../messages/talk.ts";
import {
  createGroup,
  deleteUser,
  groupEvents,
  inviteInto,
  join,
  leaveGroup,
  makeAdmin,
  people,
  prepare,
  removeMember,
} from "./in-groups.ts";

const GROUP = "grp_1";
const CONVERSATION = `cnv_${GROUP}`;

/** Adds users who all have each other as contacts. All but the last have joined a group of the first. */
async function meet(db: Database, names: string[], history: "joined" | "all" = "joined"): Promise<void> {
  await people(db, ...names);
  await createGroup(db, names[0]!, GROUP, names, { history });
  for (const name of names.slice(1, -1)) await join(db, GROUP, name);
}

const inviterOf = async (db: Database, user: string) => (await findInvitation(db, user, GROUP))?.inviter_id;

/** Returns the texts that the user sees, oldest first. */
async function textsSeenBy(db: Database, user: string): Promise<(string | null)[]> {
  const seat = await findSeat(db, CONVERSATION, user);
  const rows = seat ? await listMessageRows(db, seat, { cursor: OLDEST, newer: true, limit: 100 }) : [];
  return rows.filter(({ type }) => type === "text").map(({ text }) => text);
}

onEachDatabase(
  "an invited name has one id, and shows the first inviter whom the reader knows",
  async (db) => {
    await meet(db, ["a", "b", "c"]);
    const [{ id }] = (await db.all<{ id: string }>(sql`SELECT member_id AS id FROM invitations`)) as [
      { id: string },
    ];
    await makeAdmin(db, GROUP, "a", "b");
    assert.equal(await inviteInto(db, GROUP, "b", "C"), id);
    assert.equal(await inviterOf(db, "c"), "a");
    await block(db, "c", "a");
    assert.equal(await inviterOf(db, "c"), "b");
    await block(db, "c", "b");
    assert.equal(await inviterOf(db, "c"), undefined);
    for (const name of ["a", "b"]) await block(db, "c", name, null);
    await leaveGroup(db, GROUP, "a");
    assert.equal(await inviterOf(db, "c"), "b", "the other's invitation stands");
    await removeMember(db, GROUP, "b", id);
    assert.equal(await inviterOf(db, "c"), undefined);
    // The events match the list: the invitation of another inviter was already shown, so it is neither created nor
    // deleted, but its `invited_by` changes.
    const [created, updated, deleted] = ["created", "updated", "deleted"].map(
      (type) => `group.${type} ${GROUP}`,
    );
    assert.deepEqual(await groupEvents(db, "c"), [created, updated, deleted, created, updated, deleted]);
    await checkOrphans(db);
  },
);

onEachDatabase("the invited user gets an event only when the shown inviter changes", async (db) => {
  await meet(db, ["a", "b", "d", "c"]);
  for (const name of ["b", "d"]) {
    await makeAdmin(db, GROUP, "a", name);
    await inviteInto(db, GROUP, name, "c");
  }
  await eventsOf(db, "c");
  const updated = `group.updated ${GROUP}`;
  const steps: [step: () => Promise<unknown>, shown: string, events: string[]][] = [
    [() => block(db, "c", "d"), "a", []],
    [() => block(db, "c", "d", null), "a", []],
    [() => block(db, "c", "a"), "b", [updated]],
    [() => block(db, "c", "a", null), "a", [updated]],
    [() => leave(db, "c"), "b", [updated]],
    [() => add(db, "c", "a"), "a", [updated]],
    [() => leaveGroup(db, GROUP, "b"), "a", []],
    [() => deleteUser(db, "a"), "d", [updated]],
  ];
  let told = (await groupEvents(db, "c")).length;
  for (const [step, shown, events] of steps) {
    await step();
    assert.equal(await inviterOf(db, "c"), shown, `${step}`);
    const all = await groupEvents(db, "c");
    assert.deepEqual(all.slice(told), events, `${step}`);
    told = all.length;
  }
});

onEachDatabase("no admin can invite a user who declined until an invitation is withdrawn", async (db) => {
  await meet(db, ["a", "b", "c"]);
  await makeAdmin(db, GROUP, "a", "b");
  await leaveGroup(db, GROUP, "c");
  const id = await inviteInto(db, GROUP, "b", "c");
  assert.equal(await inviteInto(db, GROUP, "a", "c"), id);
  assert.equal(await inviterOf(db, "c"), undefined);
  await removeMember(db, GROUP, "b", id);
  assert.notEqual(await inviteInto(db, GROUP, "b", "c"), id);
  assert.equal(await inviterOf(db, "c"), "b");
});

onEachDatabase("joining withholds messages of users who are blocked at that time", async (db) => {
  await meet(db, ["a", "b", "d", "c"], "all");
  const sent = [..."abdbbdabda"].map((sender, n) => message(sender, 3000 + n, CONVERSATION));
  for (const each of sent) await db.write("createMessage", each);
  await block(db, "c", "b");
  for (let step = 0; step < 4; step++) assert.equal(await prepare(db, GROUP, "c"), false);
  assert.deepEqual(await textsSeenBy(db, "c"), [], "nothing before all is withheld");
  await block(db, "c", "d", 2);
  await block(db, "c", "b", null);
  for (let step = 0; step < 3; step++) await prepare(db, GROUP, "c");
  await join(db, GROUP, "c");
  const expected = sent.filter(({ senderId }) => senderId !== "d").map(({ text }) => text);
  assert.deepEqual(await textsSeenBy(db, "c"), expected);
  assert.deepEqual(await db.all(sql`SELECT 1 AS one FROM preparing`), []);
  await checkOrphans(db);
  // Later messages are withheld when they are sent.
  await db.write("createMessage", message("d", 4000, CONVERSATION));
  assert.deepEqual(await textsSeenBy(db, "c"), expected);
});
