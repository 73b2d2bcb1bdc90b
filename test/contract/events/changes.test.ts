// The events of one change stay together on both engines, however many users see it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsAfter, groupByChange, hasUnnumbered } from "../../../src/db/queries/events/events.ts";
import { sql } from "../../../src/db/sql.ts";
import { addUser, message } from "../../support/rows.ts";
import { onEachDatabase, openOnPostgres } from "../databases.ts";

const MEMBERS = 30;
const CONVERSATIONS = 6;
const SENT = 8;

onEachDatabase(
  "the events of one change get successive positions while others are sent and numbered",
  async (db) => {
    const members = Array.from({ length: MEMBERS }, (_, i) => `u${String(i).padStart(2, "0")}`);
    for (const user of members) await addUser(db, user);
    const conversations = Array.from({ length: CONVERSATIONS }, (_, i) => `cnv_${i}`);
    const columns = ["conversation_id", "user_id", "joined_at"];
    for (const id of conversations) {
      const rows = members.map((user) => [id, user, 1]);
      await db.write("importRows", { table: { name: "members", key: [], columns }, rows });
    }
    // Two nodes number at the same time, each in batches smaller than a change.
    let ended = false;
    const numbering = [7, 50].map(async (limit) => {
      while (!ended) {
        await db.write("numberEvents", { limit }).catch(() => {});
        const [split] = await db.all(
          sql`SELECT payload FROM events GROUP BY payload HAVING COUNT(*) <> ${MEMBERS}`,
        );
        assert.equal(split, undefined);
      }
    });
    const sending = conversations.map(async (conversationId, at) => {
      for (let i = 0; i < SENT; i++) {
        const sender = members[at]!;
        await db.write("createMessage", message(sender, at * SENT + i + 1, conversationId));
      }
    });
    await Promise.all(sending).finally(() => {
      ended = true;
      return Promise.all(numbering);
    });
    while (await hasUnnumbered(db)) await db.write("numberEvents", { limit: 50 });
    const all = MEMBERS * SENT * CONVERSATIONS;
    const { changes } = groupByChange(await eventsAfter(db, 0, all + 1), all + 1)!;
    assert.deepEqual(
      changes.map(({ length }) => length),
      Array.from({ length: SENT * CONVERSATIONS }, () => MEMBERS),
    );
  },
);

test("postgres: changes published at the same time are numbered one after the other", async (t) => {
  const db = await openOnPostgres(t);
  for (const user of ["a", "b"]) await addUser(db, user);
  const columns = ["transaction_id", "recipient_id", "type", "conversation_id", "created_at", "payload"];
  const row = (transaction: number, user: string) => [
    ...[transaction, user, "message.created", "cnv", 1, `{"id":"msg_${transaction}"}`],
  ];
  const rows = [row(1, "a"), row(2, "a"), row(1, "b"), row(2, "b")];
  await db.write("importRows", { table: { name: "outbox", key: [], columns }, rows });
  await db.write("numberEvents", { limit: 50 });
  const events = await eventsAfter(db, 0, 10);
  assert.deepEqual(
    events.map(({ payload, recipient_id }) => [JSON.parse(payload).id, recipient_id]),
    [
      ["msg_1", "a"],
      ["msg_1", "b"],
      ["msg_2", "a"],
      ["msg_2", "b"],
    ],
  );
});
