// Every query of who sees which message agrees with a plain list, on both engines.
import assert from "node:assert/strict";
import fc from "fast-check";
import { columns } from "../../../src/db/columns.ts";
import type { Database } from "../../../src/db/database.ts";
import { NEWEST, OLDEST } from "../../../src/db/page.ts";
import { countUnread, findConversations } from "../../../src/db/queries/messages/inbox.ts";
import {
  findLastMessages,
  findMessages,
  findNewestMessages,
} from "../../../src/db/queries/messages/messages.ts";
import { TABLES } from "../../../src/db/queries/upkeep/tables.ts";
import { listSeeing, walkVisible } from "../../../src/db/queries/visibility/visibility.ts";
import { sql, type Value } from "../../../src/db/sql.ts";
import { holds } from "../../support/property.ts";
import { addUser, messageId } from "../../support/rows.ts";
import { onEachDatabase } from "../databases.ts";

/** A message in the conversation. */
interface Place {
  isGone: boolean;
  isOwn: boolean;
  isWithheld: boolean;
  /** Whether a new withheld run begins here, although the previous message is withheld, too. */
  splits: boolean;
}

const places: fc.Arbitrary<Place[]> = fc.array(
  fc.record({
    isGone: fc.nat(4).map((n) => n === 0),
    isOwn: fc.nat(3).map((n) => n === 0),
    isWithheld: fc.boolean(),
    splits: fc.nat(4).map((n) => n === 0),
  }),
  { maxLength: 40, size: "max" },
);

const cases = fc.record({
  places,
  /** How many messages were sent before the member joined, and how many the member has read. */
  since: fc.oneof(fc.constant(0), fc.nat(40)),
  read: fc.nat(40),
  walks: fc.array(
    fc.record({ cursor: fc.nat(41), newer: fc.boolean(), limit: fc.integer({ min: 1, max: 12 }) }),
    { minLength: 4, maxLength: 4 },
  ),
});

type Case = typeof cases extends fc.Arbitrary<infer T> ? T : never;
/** Returns the id of the message in this place, from 1. */
type IdOf = (place: number) => string;

async function fill(db: Database, name: string, rows: Value[][]): Promise<void> {
  await db.write("importRows", { table: TABLES.find((table) => table.name === name)!, rows });
}

async function lay(db: Database, id: string, idOf: IdOf, { places, since, read }: Case): Promise<void> {
  const rows = places.flatMap(({ isGone, isOwn }, i) =>
    isGone ? [] : [[id, idOf(i + 1), isOwn ? "a" : "b", "text", null, 0, 0, null, null, 1, null, 1, null]],
  );
  const runs: [from: string, to: string][] = [];
  for (const [i, { isWithheld, splits }] of places.entries()) {
    if (!isWithheld) continue;
    const goesOn = i > 0 && places[i - 1]!.isWithheld && !splits;
    if (goesOn) runs.at(-1)![1] = idOf(i + 1);
    else runs.push([idOf(i + 1), idOf(i + 1)]);
  }
  await fill(db, "members", [[id, "a", 1, since === 0 ? "" : idOf(since), null, 0, null, null, null, null]]);
  await fill(db, "conversations", [[id, idOf(41)]]);
  await fill(db, "places", [["a", id, idOf(41).slice("msg_".length), 1, 0, 0]]);
  await fill(db, "marks", [["a", id, read === 0 ? "" : idOf(read), "", null, 1]]);
  await fill(db, "messages", rows);
  await fill(
    db,
    "withheld",
    runs.map(([from, to]) => ["a", id, from, to]),
  );
}

onEachDatabase("pages, lookups, counts and the newest messages agree with a plain list", async (db) => {
  await addUser(db, "a");
  let round = 0;
  /** The visible messages of the conversation of the round before. */
  let previous: string[] = [];
  const newestOf = (all: readonly string[], limit: number) => all.slice(-limit).reverse();
  const property = fc.asyncProperty(cases, async (given) => {
    const { places, since, read } = given;
    const id = `cnv_${++round}`;
    const idOf = (place: number) => messageId(round * 100 + place);
    // Before the first message, at one, or after the last.
    const cursorOf = (n: number) => (n === 0 ? OLDEST : n > places.length ? NEWEST : idOf(n));
    await lay(db, id, idOf, given);
    const numbers = places.map((_, i) => i + 1);
    const place = (number: number) => places[number - 1]!;
    const wanted = numbers.filter((n) => n > since && !place(n).isWithheld && !place(n).isGone);
    const ids = wanted.map(idOf);
    const seat = {
      user_id: "a",
      conversation_id: id,
      since_id: since === 0 ? "" : idOf(since),
    };
    for (const { cursor, newer, limit } of given.walks) {
      const walk = { cursor: cursorOf(cursor), newer, limit };
      const walked = await walkVisible(db, columns({ id: sql<string>`m.id` }), seat, walk);
      const ahead = newer ? wanted.filter((n) => n > cursor) : wanted.filter((n) => n < cursor).reverse();
      assert.deepEqual(
        walked.map((row) => row.id),
        ahead.slice(0, limit).map(idOf),
        JSON.stringify(walk),
      );
    }
    const found = numbers.length === 0 ? [] : await findMessages(db, "a", numbers.map(idOf));
    assert.deepEqual(found.map((row) => row.id).sort(), ids);
    for (const number of numbers.slice(-3)) {
      const sees = number > since && !place(number).isWithheld;
      assert.deepEqual(await listSeeing(db, id, idOf(number), ["a", "b"]), sees ? ["a"] : []);
    }
    const [row] = await findConversations(db, "a", [id]);
    const unread = wanted.filter((n) => n > read && !place(n).isOwn).length;
    assert.equal((await countUnread(db, row!)).count, unread);
    assert.equal((await countUnread(db, { ...row!, unread: null })).count, unread);
    const [last] = await findLastMessages(db, [row!]);
    assert.equal(last?.id, ids.at(-1));
    for (const limit of [1, 5, 50]) {
      const newest = await findNewestMessages(db, "a", [`cnv_${round - 1}`, id], limit);
      assert.deepEqual(
        newest.map((each) => each.id),
        [...newestOf(ids, limit), ...newestOf(previous, limit)],
        `the newest ${limit}`,
      );
    }
    previous = ids;
  });
  await holds(property, 100);
});
