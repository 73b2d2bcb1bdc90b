// Files that their uploaders had deleted for themselves counted in their storage once, if somebody else saw them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { findMiscounts } from "../../../src/db/queries/storage/storage-used.ts";
import { sql } from "../../../src/db/sql.ts";
import {
  AB,
  CONVERSATION,
  fileRows,
  id,
  member,
  onPostgres,
  onSqlite,
  type Rows,
  userRows,
  valuesOf,
} from "./old-databases.ts";

/** How many migrations there were before hidden files left the storage of their uploaders. */
const BEFORE_HIDDEN = { sqlite: 20, postgres: 18 };

/** Files of a: hidden by a, seen by both, and hidden by b. One of b that a has hidden. */
function hiddenRows(): Rows {
  const file = (number: number, by: string, grants: readonly string[]): Rows => [
    [
      "messages",
      {
        conversation_id: CONVERSATION,
        id: id("msg", number),
        sender_id: by,
        type: "text",
        has_files: 1,
        created_at: 1,
        version: 1,
      },
    ],
    ...fileRows({ number, message: number, by, grants }),
  ];
  const run = (user_id: string, number: number): Rows[number] => [
    "withheld",
    { user_id, conversation_id: CONVERSATION, from_id: id("msg", number), to_id: id("msg", number) },
  ];
  return [
    ...AB.flatMap(userRows).filter(([table]) => table !== "storage"),
    ...AB.flatMap(member),
    ["storage", { user_id: "a", used: 3 }],
    ["storage", { user_id: "b", used: 1 }],
    ...file(10, "a", AB),
    ...file(20, "a", AB),
    ...file(30, "a", ["a"]),
    ...file(40, "b", ["b"]),
    ...[run("a", 10), run("b", 30), run("a", 40)],
  ];
}

for (const [engine, open] of Object.entries({ sqlite: onSqlite, postgres: onPostgres })) {
  test(`${engine}: a file that its uploader has hidden leaves the storage of the uploader`, async (t) => {
    const db = await open(t, BEFORE_HIDDEN[engine as "sqlite"], hiddenRows());
    const used = await valuesOf(db, sql`SELECT user_id, used FROM storage ORDER BY user_id`);
    assert.deepEqual(used, [
      ["a", 2],
      ["b", 1],
    ]);
    const grants = await valuesOf(
      db,
      sql`SELECT user_id, attachment_id FROM grants ORDER BY user_id, attachment_id`,
    );
    assert.deepEqual(grants, [
      ...[20, 30].map((number) => ["a", id("att", number)]),
      ...[10, 20, 40].map((number) => ["b", id("att", number)]),
    ]);
    for await (const miscount of findMiscounts(db)) assert.fail(JSON.stringify(miscount));
  });
}
