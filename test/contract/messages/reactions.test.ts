// Reactions on both engines: who sees them, their order, their limit, and when they are deleted.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import {
  listBlockingReaders,
  listReactionReaders,
  listReactions,
  type Reaction,
} from "../../../src/db/queries/messages/reactions.ts";
import { sql } from "../../../src/db/sql.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { addUser, anEntry, messageId } from "../../support/rows.ts";
import { onTwoNodes } from "../databases.ts";
import { createGroup, deleteUser, join, leaveGroup, people } from "../groups/in-groups.ts";
import { block, count, eraseAll, eventsOf, leave, meet, SHARED, send } from "./talk.ts";

const M1 = messageId(1);

const react = (db: Database, userId: string, emoji: string, id = M1) =>
  db.write("addReaction", { userId, messageId: id, emoji, now: 5 });

const unreact = (db: Database, userId: string, emoji: string, id = M1) =>
  db.write("removeReaction", { userId, messageId: id, emoji, now: 5 });

/** Returns the emoji that the reader sees, each with its users. */
async function reactionsOf(db: Database, reader: string | null, id = M1): Promise<string[]> {
  const found = new Map<string, string>();
  for (const [, emoji, user] of await listReactions(db, [id], reader))
    found.set(emoji, `${found.get(emoji) ?? emoji} ${user}`);
  return [...found.values()];
}

/** Returns the events of reactions that the user got, oldest first. */
async function toldOf(db: Database, user: string): Promise<string[]> {
  await eventsOf(db, user);
  const rows = await db.all<{ type: string; payload: string }>(
    sql`SELECT type, payload FROM events WHERE recipient_id = ${user} AND type LIKE 'reaction.%' ORDER BY number`,
  );
  return rows.map(({ type, payload }) => {
    const { message_id, conversation_id, emoji, user_id } = JSON.parse(payload) as Reaction;
    assert.deepEqual([message_id, conversation_id], [M1, SHARED]);
    return `${type.slice("reaction.".length)} ${emoji} ${user_id}`;
  });
}

onTwoNodes("reacting needs a message that the user sees", async ([db]) => {
  await meet(db);
  await addUser(db, "c");
  await block(db, "b", "a");
  await send(db, "a", 1);
  for (const user of ["b", "c"]) {
    await assert.rejects(react(db, user, "👍"), { code: "message_not_found" });
    await assert.rejects(unreact(db, user, "👍"), { code: "message_not_found" });
  }
  assert.equal(await count(db, "reactions"), 0);
});

onTwoNodes("a message has at most 20 emoji, even if users react at once", async (nodes) => {
  const [db] = nodes;
  await meet(db);
  await send(db, "a", 1);
  const emoji = Array.from({ length: 24 }, (_, i) => String.fromCodePoint(0x1f600 + i));
  const asked = emoji.flatMap((each, i) => [
    react(nodes[i % 2]!, "a", each),
    react(nodes[(i + 1) % 2]!, "b", each),
  ]);
  const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === "rejected");
  for (const each of refused)
    assert.equal((each as PromiseRejectedResult).reason.code, "count_limit_reached");
  const found = await reactionsOf(db, "a");
  assert.equal(found.length, 20);
  assert.equal(await count(db, "reactions"), asked.length - refused.length);
  for (const each of found) {
    const [known] = each.split(" ");
    for (const user of ["a", "b"]) await react(db, user, known!);
  }
  assert.equal(await count(db, "reactions"), 40, "with an emoji that is there everybody can react");
  const [gone] = found[3]!.split(" ");
  for (const user of ["a", "b"]) await unreact(db, user, gone!);
  await react(db, "b", "🦊");
  assert.equal((await reactionsOf(db, "a")).at(-1), "🦊 b");
});

onTwoNodes("reactions of blocked users are hidden while the block lasts", async ([db]) => {
  await meet(db);
  await send(db, "a", 1);
  await react(db, "b", "👍");
  await react(db, "a", "👍");
  await block(db, "a", "b");
  await block(db, "a", "a");
  await react(db, "b", "❤️");
  await unreact(db, "b", "👍");
  assert.deepEqual(await reactionsOf(db, "a"), ["👍 a"]);
  assert.deepEqual(await reactionsOf(db, "b"), ["👍 a", "❤️ b"]);
  assert.deepEqual(await toldOf(db, "a"), ["created 👍 b", "created 👍 a"]);
  assert.equal((await toldOf(db, "b")).length, 4);
  assert.deepEqual(await listBlockingReaders(db, ["a", "b"], ["a", "b"]), ["a"]);
  assert.deepEqual(await listBlockingReaders(db, ["a"], ["a", "b"]), []);
  assert.deepEqual((await listBlockingReaders(db, ["a", "erased"], ["a", "b"])).sort(), ["a", "b"]);
  const heart = { message_id: M1, conversation_id: SHARED, emoji: "❤️", user_id: "b" };
  assert.deepEqual(await listReactionReaders(db, heart, true, ["a", "b"]), ["b"]);
  await block(db, "a", "b", null);
  assert.deepEqual(await reactionsOf(db, "a"), ["👍 a", "❤️ b"]);
  assert.deepEqual(await listBlockingReaders(db, ["a", "b"], ["a", "b"]), []);
  assert.deepEqual((await listReactionReaders(db, heart, true, ["a", "b"])).sort(), ["a", "b"]);
  const gone = { ...heart, emoji: "👍" };
  assert.deepEqual(await listReactionReaders(db, gone, true, ["a", "b"]), []);
  assert.deepEqual((await listReactionReaders(db, gone, false, ["a", "b"])).sort(), ["a", "b"]);
});

onTwoNodes("reactions of members who left stay, those of erased users are erased in steps", async ([db]) => {
  await people(db, "a", "b", "c");
  await createGroup(db, "a", "grp_1", ["b", "c"]);
  for (const user of ["b", "c"]) await join(db, "grp_1", user);
  const ids: string[] = [];
  for (let number = 2001; number <= 2004; number++)
    ids.push(await send(db, "a", number, { conversationId: "cnv_grp_1" }));
  for (const id of ids) for (const user of ["a", "b", "c"]) await react(db, user, "👍", id);
  await leaveGroup(db, "grp_1", "b");
  assert.deepEqual(await reactionsOf(db, "a", ids[0]), ["👍 a b c"]);
  await assert.rejects(unreact(db, "b", "👍", ids[0]), { code: "message_not_found" });
  await deleteUser(db, "c", 2);
  assert.deepEqual(await reactionsOf(db, "a", ids[0]), ["👍 a b"], "before all rows are erased");
  assert.deepEqual(await reactionsOf(db, null, ids[0]), ["👍 a b"]);
  await checkOrphans(db);
  await eraseAll(db, 2);
  assert.equal(await count(db, "reactions"), 8);
  await leaveGroup(db, "grp_1", "a");
  await eraseAll(db, 2);
  assert.equal(await count(db, "reactions"), 0);
  await checkOrphans(db);
});

onTwoNodes("deleting a message deletes its reactions", async ([db]) => {
  await meet(db);
  for (const number of [1, 2, 3]) {
    await send(db, "a", number);
    for (const user of ["a", "b"])
      for (const emoji of ["👍", "❤️"]) await react(db, user, emoji, messageId(number));
  }
  const input = { id: M1, expected: null, now: 5, entry: anEntry() };
  await db.write("deleteMessage", { ...input, userId: "a" });
  assert.equal(await count(db, "reactions"), 8);
  await checkOrphans(db);
  await leave(db, "b");
  assert.equal(await count(db, "reactions"), 8);
  await leave(db, "a", undefined, 3);
  assert.equal(await count(db, "reactions"), 5, "a step erases no more than it may");
  await checkOrphans(db);
  await eraseAll(db, 3);
  for (const table of ["reactions", "messages", "departing"]) assert.equal(await count(db, table), 0, table);
});
