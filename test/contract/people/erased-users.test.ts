// Which rows of an erased user remain, in any table, on both engines. docs/sharing.md lists them.
import assert from "node:assert/strict";
import type { Database } from "../../../src/db/database.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { TABLES } from "../../../src/db/queries/upkeep/tables.ts";
import { raw, type Statement } from "../../../src/db/sql.ts";
import { checkOrphans } from "../../support/orphans.ts";
import {
  aDeletion,
  addUser,
  anEntry,
  aToken,
  attachment,
  aUser,
  contact,
  message,
  messageId,
} from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";
import { block, eraseAll, eventsOf } from "../messages/talk.ts";

const ANN = "usr_ann";
const BOB = "usr_bob";
const SHARED = `cnv_${BOB}_1`;
/** Everything that Ann writes begins with this word. */
const WORD = "annwrote";

const file = (user: string, number: number) =>
  attachment(user, number, {}, { fileSize: 7, filename: user === ANN ? `${WORD}.txt` : "his.txt" }).file;

async function send(db: Database, user: string, number: number, more: object = {}, id = SHARED) {
  const text = user === ANN ? `${WORD} ${number}` : `his ${number}`;
  await db.write("createMessage", message(user, number, id, { text, ...more }));
}

const join = (db: Database, owner: string, name: string, number = 1, limit = 1000) =>
  db.write("createContact", { ...contact(owner, number), usernameKey: name, limit });

/** Adds rows of Ann's in each table that may have some. */
async function live(db: Database): Promise<void> {
  await db.write("createUser", aUser(ANN, { username: "Ann", usernameKey: "ann" }));
  await addUser(db, BOB);
  await db.write("createToken", aToken(ANN, 1));
  await join(db, BOB, "ann");
  for (const number of [1, 2, 3]) await send(db, BOB, number, { files: [file(BOB, number)] });
  // Its grants are still being written when Ann is erased.
  await join(db, ANN, BOB, 1, 1);
  const clientId = { id: "an id", fingerprint: new Uint8Array(32) };
  await send(db, ANN, 4, { files: [file(ANN, 4)], data: JSON.stringify({ place: WORD }), clientId });
  await send(db, BOB, 5, { mentions: [ANN, BOB], replyToId: messageId(4) });
  for (const [userId, number] of [
    [ANN, 1],
    [BOB, 4],
  ] as const)
    await db.write("addReaction", { userId, messageId: messageId(number), emoji: "x", now: 5 });
  await block(db, ANN, BOB);
  await send(db, BOB, 6);
  await block(db, BOB, "ann");
  // Only Ann sees these.
  await send(db, ANN, 7, { files: [file(ANN, 7)] });
  await send(db, ANN, 8, {}, `cnv_${ANN}_notes`);
  await join(db, ANN, "nobody", 2);
  await send(db, ANN, 9, { files: [file(ANN, 9)] }, `cnv_${ANN}_2`);
  const read = { messageId: messageId(3), isPrivate: false, now: 5 };
  await db.write("markRead", { userId: ANN, conversationId: SHARED, ...read });
  const settings = { isPinned: true, isArchived: true, mutedUntil: 2e9, expected: null, now: 5 };
  await db.write("updateConversation", { userId: ANN, conversationId: SHARED, ...settings });
  await eventsOf(db, ANN);
}

/** Returns the columns with one of these texts, as `table.column`. */
async function findIn(db: Database, texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const { name, columns } of TABLES) {
    const rows = await db.allValues(raw(`SELECT ${columns.join(", ")} FROM ${name}`) as Statement<unknown[]>);
    for (const row of rows) {
      for (const [i, value] of row.entries())
        if (texts.some((text) => String(value).includes(text))) found.push(`${name}.${columns[i]}`);
    }
  }
  return found.sort();
}

for (const limit of [2, 1000]) {
  onEachDatabase(
    `an erased user's rows are gone, except what others have received: ${limit} rows per step`,
    async (db) => {
      await live(db);
      const had = new Set((await findIn(db, [ANN, WORD])).map((column) => column.split(".")[0]));
      for (const table of [
        "blocks",
        "grants",
        "joining",
        "marks",
        "members",
        "reactions",
        "places",
        "withheld",
        "message_bodies",
      ])
        assert.ok(had.has(table), `nothing of hers was in ${table}`);
      await db.write("deleteUser", aDeletion(ANN, { deletedAt: 1_800_000_000_500, limit }));
      await eraseAll(db, limit);
      await eventsOf(db, BOB);
      assert.equal(await hasRemains(db), false);
      await checkOrphans(db);
      const kept = (await findIn(db, [ANN])).filter((column) => !column.startsWith("audit."));
      assert.deepEqual(kept, [
        "attachments.uploader_id",
        "events.payload",
        "messages.mentions",
        "messages.sender_id",
      ]);
      assert.deepEqual(await findIn(db, [WORD]), [
        "attachments.filename",
        "message_bodies.data",
        "message_bodies.text",
      ]);
      // The rest is erased when the last recipient leaves.
      await db.write("deleteContact", {
        ...{ ownerId: BOB, id: contact(BOB, 1).id, deletedAt: 9, limit, expected: null, entry: anEntry() },
      });
      await eraseAll(db, limit);
      await eventsOf(db, BOB);
      const left = (await findIn(db, [ANN, WORD, SHARED])).filter(
        (column) => !/^(?:audit|events|blocks)\./.test(column),
      );
      assert.deepEqual(left, []);
    },
  );
}
