// Which plans each engine uses to find the rows that a step erases, in large tables.
import assert from "node:assert/strict";
import type { StatementSync } from "node:sqlite";
import { test } from "node:test";
import { escapeLiteral } from "pg";
import { deleteContact } from "../../../src/db/queries/people/contacts.ts";
import { bodiesAfter } from "../../../src/db/queries/search/search.ts";
import { deleteUser, eraseStep } from "../../../src/db/queries/upkeep/erasing.ts";
import { Statement } from "../../../src/db/sql.ts";
import type { Write } from "../../../src/db/write.ts";
import { anEntry } from "../../support/rows.ts";
import { openPlainSqlite } from "../databases.ts";
import { plansTest } from "../many-rows.ts";
import { numbered, plansOf } from "../postgres-plans.ts";

const ROWS = 4000;
const LIMIT = 250;

type Row = Record<string, string | number | null>;

/** Columns that store bytes. */
const BYTES = new Set(["sha256", "key_hash", "fingerprint"]);

/** The columns of a member of a direct conversation. */
const IN_NO_GROUP = { group_id: null, member_id: null, role: null, inviter_id: null };

/** This query sorts only the few members of one group. */
const SORTS_A_GROUP = /ORDER BY CASE WHEN role = 'admin'/;

const id = (prefix: string, number: number) => `${prefix}_${String(number).padStart(8, "0")}`;

/** Half of all groups and invitations belong to user 0, who has invited the members of the other half. */
function addGroup(add: (table: string, row: Row) => void, n: number, user: string): void {
  const group_id = id("grp", n);
  const group = { id: group_id, conversation_id: id("group", n), name: "a", history: "all" };
  add("groups", { ...group, created_at: 1, version: 1 });
  const seat = { conversation_id: group.conversation_id, user_id: user, joined_at: 1, since_id: "" };
  const inviter_id = id("usr", n % 2 === 0 ? 1 : 0);
  add("members", { ...seat, contact_id: null, group_id, member_id: id("mem", n), role: "admin", inviter_id });
  const invited = { group_id, member_id: id("mem", ROWS + n), inviter_id: user, created_at: 1 };
  // Half of the invitations also name user 0.
  add("invitations", { ...invited, username_key: n % 4 === 0 ? "0" : `${n}`, username: "a" });
  add("preparing", { conversation_id: group.conversation_id, user_id: user, blocks: "", after_id: "" });
}

/** A hard case for a planner: half of all rows belong to user 0, and half of the files are in one conversation. */
function rowsOfTables(): Record<string, Row[]> {
  const tables: Record<string, Row[]> = {};
  const add = (table: string, row: Row) => {
    tables[table] ??= [];
    tables[table].push(row);
  };
  for (let n = 0; n < ROWS; n++) {
    const user = id("usr", n % 2 === 0 ? 0 : n);
    const own = id("cnv", n);
    const conversation_id = n % 8 === 2 ? id("notes", 0) : n % 2 === 0 ? id("cnv", 0) : own;
    const attachment_id = id("att", n);
    const message_id = id("msg", n);
    add("users", {
      id: id("usr", n),
      username: `${n}`,
      username_key: `${n}`,
      conversation_id: id("notes", n),
      created_at: 1,
    });
    const found = {
      username_key: `${n}`,
      phone_digits: "5",
      search_key: "",
      version: 1,
      body: '{"username":"x"}',
    };
    add("contacts", { owner_id: user, id: id("con", n), conversation_id: own, ...found });
    const direct = { contact_id: id("con", n), ...IN_NO_GROUP };
    add("members", { conversation_id: own, user_id: user, joined_at: 1, since_id: "", ...direct });
    if (n % 40 === 0) add("conversations", { id: own, last_id: id("msg", ROWS) });
    add("places", { user_id: user, conversation_id: own, position: id("", n) });
    add("marks", { user_id: user, conversation_id: own });
    addGroup(add, n, user);
    add("blocks", { owner_id: user, username_key: `${n}`, username: `${n}`, created_at: 1 });
    add("departures", { conversation_id: own, user_id: id("usr", n + 1) });
    const file = { filename: "a", file_type: "a/b", file_size: 1, sha256: "", created_at: 1, version: 1 };
    const sent = {
      id: attachment_id,
      conversation_id,
      message_id,
      uploader_id: user,
      blob_key: attachment_id,
    };
    add("attachments", { ...sent, ...file });
    add("grants", { user_id: user, attachment_id, conversation_id });
    const message = { conversation_id, id: message_id, sender_id: user, type: "text", has_files: 1 };
    add("messages", { ...message, has_reactions: 1, body_id: n, created_at: 1, version: 1 });
    add("reactions", { message_id, place: 1, nth: 1, emoji: "a", user_id: user });
    add("message_bodies", { id: n, text: "a" });
    add("withheld", { user_id: user, conversation_id, from_id: message_id, to_id: message_id });
    // Half of the later messages are withheld from the other member of the conversation.
    if (n > ROWS / 2 && n % 4 === 0)
      add("withheld", { user_id: id("usr", 1), conversation_id, from_id: message_id, to_id: message_id });
    const identified = { user_id: user, client_id: `${n}`, fingerprint: "" };
    add("client_ids", { ...identified, conversation_id: own, message_id, until: n % 2 === 0 ? null : 1 });
    add("idempotency", { user_id: user, key_hash: `${n}`, fingerprint: "", result: "{}", until: 1 });
    const hook = { url: "a", all_users: 0, secret: "a", since_position: 0, created_at: 1, version: 1 };
    add("webhooks", { id: id("whk", n), user_id: user, ...hook });
    const event = {
      conversation_id,
      type: "contact.created",
      payload: "{}",
      recipient_id: user,
      created_at: 1,
    };
    add("events", { position: n + 1, number: n + 1, ...event });
    const state = { event_id: "evt", position: n, told_at: 1, state: "pending", attempts: 1, updated_at: 1 };
    add("deliveries", { webhook_id: id("whk", n % 2 === 0 ? 0 : n), id: id("dlv", n), ...event, ...state });
  }
  add("members", {
    ...{ conversation_id: id("cnv", 0), user_id: id("usr", 1), joined_at: 1 },
    since_id: id("msg", ROWS / 2),
  });
  // No body is in the search index.
  add("reindexing", { after_id: -1 });
  add("conversations", { id: id("notes", 0), last_id: id("msg", ROWS) });
  add("members", { conversation_id: id("notes", 0), user_id: id("usr", 0), joined_at: 1, since_id: "" });
  return tables;
}

/** Deletes the contact with all those files and the user with all those rows, in steps. Returns every statement. */
async function eraseAll(run: (statement: Statement) => Promise<unknown[]>): Promise<Statement[]> {
  const done = new Map<string, Statement>();
  async function perform<T>(write: Write<T>): Promise<T> {
    let step = write.next();
    while (!step.done) {
      const rows: unknown[][] = [];
      for (const each of step.value) {
        assert.ok(each instanceof Statement);
        done.set(each.sql, each);
        rows.push(await run(each));
      }
      step = write.next(rows);
    }
    return step.value;
  }
  const input = { expected: null, deletedAt: 1, limit: LIMIT, entry: anEntry() };
  await perform(deleteContact({ ...input, ownerId: id("usr", 0), id: id("con", 0) }));
  await perform(deleteUser({ ...input, messageId: "m", entry: anEntry(), id: id("usr", 0) }));
  while (await perform(eraseStep({ limit: LIMIT, now: 1, messageId: "m" })));
  return [...done.values()];
}

test("sqlite: each erasing step uses an index: no scan, no sort", async (t) => {
  const db = await openPlainSqlite(t);
  db.exec("BEGIN");
  for (const [table, rows] of Object.entries(rowsOfTables())) {
    const columns = Object.keys(rows[0]!);
    const insert = db.prepare(
      `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    );
    for (const row of rows)
      insert.run(
        ...columns.map((name) => (BYTES.has(name) ? Buffer.from(String(row[name])) : (row[name] ?? null))),
      );
  }
  db.exec("COMMIT; ANALYZE; BEGIN");
  const prepared = new Map<string, StatementSync>();
  const done = await eraseAll(async ({ sql, params }) => {
    const statement = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(...params);
  });
  db.exec("ROLLBACK");
  for (const { sql, params } of done) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
    const told = plan.map(({ detail }) => detail).join("\n");
    // `revocations` has one row, and the tables of pending work have few.
    assert.doesNotMatch(
      told,
      /SCAN (?!CONSTANT|revocations|joining|departing|erasing|deleted_webhooks|g\b)/,
      `${sql}\n${told}`,
    );
    if (!SORTS_A_GROUP.test(sql)) assert.doesNotMatch(told, /TEMP B-TREE/, `${sql}\n${told}`);
  }
  t.diagnostic(`${done.length} statements`);
});

plansTest(
  "each step of erasing and indexing uses an index: no scan, no sort",
  async (t, client, fillTables) => {
    const inserts = Object.entries(rowsOfTables()).map(([table, rows]) => {
      const columns = Object.keys(rows[0]!).join(", ");
      return `INSERT INTO ${table} (${columns}) SELECT ${columns}
      FROM json_populate_recordset(NULL::${table}, ${escapeLiteral(JSON.stringify(rows))})`;
    });
    await fillTables(inserts);
    // Runs in a transaction that is rolled back, so that all plans are those of full tables.
    await client.query("BEGIN");
    const names = new Map<string, string>();
    const done = await eraseAll(async ({ sql, params: values }) => {
      const name = names.get(sql) ?? `statement_${names.size}`;
      names.set(sql, name);
      return (await client.query({ name, text: numbered(sql), values })).rows;
    });
    await client.query("ROLLBACK");
    for await (const { plan, told } of plansOf(client, done)) {
      // `revocations` has one row.
      assert.doesNotMatch(plan, /Seq Scan on (?!revocations)/, told);
      if (!SORTS_A_GROUP.test(told))
        assert.doesNotMatch(plan, /Sort|Hash (?:Left |Semi |Anti )?Join|Merge/, told);
    }
    await client.query("DEALLOCATE ALL");
    for await (const { plan, told } of plansOf(client, [bodiesAfter(ROWS / 2, 200)]))
      assert.equal(plan.match(/Index Cond: /g)?.length, 2, told);
    t.diagnostic(`${done.length} statements`);
  },
);
