// Read positions and settings of conversations, on both engines.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { listMuted } from "../../../src/db/queries/messages/conversation-state.ts";
import { findConversations } from "../../../src/db/queries/messages/inbox.ts";
import { aDeletion, messageId } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { count, eventsOf, meet, SHARED, send } from "./talk.ts";

const read = (db: Database, userId: string, number: number, isPrivate = false) =>
  db.write("markRead", {
    ...{ userId, conversationId: SHARED, messageId: messageId(number), isPrivate, now: 5 },
  });

interface Settings {
  isPinned?: boolean;
  isArchived?: boolean;
  mutedUntil?: number | null;
}

const change = (
  db: Database,
  { isPinned, isArchived, mutedUntil }: Settings,
  expected: number[] | null = null,
) =>
  db.write("updateConversation", {
    ...{ userId: "a", conversationId: SHARED, isPinned, isArchived, mutedUntil, expected, now: 5 },
  });

onEachDatabase("the read position of a contact is hidden while the contact is being erased", async (db) => {
  await meet(db);
  for (let number = 1; number <= 4; number++) await send(db, "b", number);
  await read(db, "a", 1);
  const contactRead = async () => (await findConversations(db, "b", [SHARED]))[0]!.contact_read_id || null;
  assert.equal(await contactRead(), messageId(1));
  // Events are erased first.
  assert.ok((await eventsOf(db, "a")).length > 0);
  await db.write("deleteUser", aDeletion("a", { limit: 1 }));
  assert.equal(await count(db, "marks WHERE user_id = 'a' AND disclosed_read_id <> ''"), 1);
  assert.equal(await contactRead(), null);
});

onEachDatabase("a mute ends at its exact second", async (db) => {
  await meet(db);
  await change(db, { mutedUntil: 100 });
  const muted = async (users: string[], conversations: string[], now: number) =>
    (await listMuted(db, users, conversations, now)).map((row) => row.user_id);
  assert.deepEqual(await muted(["a", "b"], [SHARED, "cnv_x"], 99), ["a"]);
  assert.deepEqual(await muted(["a", "b"], [SHARED], 100), []);
  assert.deepEqual(await muted(["b"], [SHARED], 99), []);
  assert.deepEqual(await muted(["a"], ["cnv_a_notes"], 99), []);
});
