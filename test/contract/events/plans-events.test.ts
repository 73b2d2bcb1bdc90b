// Which plans each engine uses for events, in a large table.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as events from "../../../src/db/queries/events/events.ts";
import { listBacklog } from "../../../src/db/queries/webhooks/hand-out.ts";
import { type Reader, Statement } from "../../../src/db/sql.ts";
import { batch, type Write } from "../../../src/db/write.ts";
import { openPlainSqlite } from "../databases.ts";
import { plansTest } from "../many-rows.ts";
import { numbered, plansOf } from "../postgres-plans.ts";

type Behind = Parameters<typeof listBacklog>[1];
type Run = (statement: Statement) => Promise<unknown[]>;

/** Runs every query and write of events, and returns its statements. */
async function doAll(run: Run): Promise<Statement[]> {
  const done: Statement[] = [];
  const all = async <R>(statement: Statement<R>): Promise<R[]> => {
    done.push(statement);
    return (await run(statement)) as R[];
  };
  const db: Reader = {
    all,
    get: async <R>(statement: Statement<R>) => (await all(statement))[0],
  };
  const recipientId = "usr_0007";
  for (const newer of [false, true]) {
    for (const types of [null, ["contact.created", "contact.deleted"]])
      await events.listEvents(db, {
        recipientId,
        cursor: 100,
        newer,
        until: newer ? 200 : 0,
        since: 1,
        limit: 10,
        types,
      });
  }
  await events.lastEvent(db, recipientId);
  await events.firstNumber(db, recipientId, 1);
  await events.eventsAfter(db, (await events.lastPosition(db)) - 10, 10);
  await events.hasUnnumbered(db);
  assert.ok((await events.listRecipients(db, 100, 110)).length > 0);
  await listBacklog(db, { user_id: recipientId, all_users: 0, backlog_from: 100 } as Behind, 200, 10);
  await listBacklog(db, { user_id: recipientId, all_users: 1, backlog_from: 100 } as Behind, 200, 10);
  assert.equal((await events.oldestEvents(db, "usr_0003", 5)).length, 5);
  const steps = function* (): Write<void> {
    yield* events.eventWrites.numberEvents({ limit: 10 });
    yield* events.eventWrites.forgetEvents({ recipientId, before: 50, limit: 10 });
    yield* batch([
      events.publishReference("attachment.created", 1, "cnv_x", "att_x", "msg_x"),
      events.publishReferenceTo(recipientId, "message.deleted", 1, "cnv_x", "msg_x"),
    ]);
    yield* events.forgetEventsOf(recipientId, 10);
  };
  const write = steps();
  for (let step = write.next(); !step.done; ) {
    const rows: unknown[][] = [];
    for (const statement of step.value) {
      assert.ok(statement instanceof Statement);
      rows.push(await all(statement));
    }
    step = write.next(rows);
  }
  return done;
}

/** These statements sort only the few recipients of one query, or the events numbered in one batch. */
const sortsFew = (sql: string) => /WITH (?:RECURSIVE recipients|unnumbered AS)/.test(sql);

/** The table has the events of 40 recipients. One of them has half of the events. */
const EVENTS = 24_000;
const RECIPIENT = "CASE WHEN n % 2 = 0 THEN 'usr_0007' ELSE 'usr_' || substr('000' || n % 40, -4) END";

test("sqlite: each statement finds its events by an index: no scan, no sort", async (t) => {
  const db = await openPlainSqlite(t);
  db.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${EVENTS})
    INSERT INTO events SELECT n, ${RECIPIENT}, n, 'contact.created', 'cnv', n, '{}' FROM numbers; ANALYZE`);
  const done = await doAll(async ({ sql, params }) => db.prepare(sql).all(...params));
  for (const { sql, params } of done) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
    // The view `outbox` is empty, so only a condition that no row meets is evaluated.
    if (sql.includes("FROM outbox")) continue;
    const told = plan.map(({ detail }) => detail).join("\n");
    assert.doesNotMatch(told, /SCAN (?!recipients|CONSTANT)/, `${sql}\n${told}`);
    if (!sortsFew(sql)) assert.doesNotMatch(told, /TEMP B-TREE/, `${sql}\n${told}`);
  }
  t.diagnostic(`${done.length} statements`);
});

plansTest(
  "among many events each statement finds its own by an index: no scan, no sort",
  async (t, client, fillTables) => {
    const recipient = RECIPIENT.replace("substr('000' || n % 40, -4)", "lpad((n % 40)::text, 4, '0')");
    const rows = `${recipient}, n, 'contact.created', 'cnv', n, '{}' FROM generate_series(1, ${EVENTS}) n`;
    await fillTables([
      `INSERT INTO events SELECT n, ${rows}`,
      `INSERT INTO users (id, username, username_key, conversation_id, created_at)
      SELECT 'usr_' || lpad(n::text, 4, '0'), n, n, 'cnv', 1 FROM generate_series(0, 9) n`,
      `INSERT INTO outbox (recipient_id, type, conversation_id, created_at, payload)
      SELECT ${rows.replace(", n, 'contact", ", 'contact")}`,
    ]);
    const done = await doAll(async ({ sql, params }) => (await client.query(numbered(sql), params)).rows);
    for await (const { statement, plan, told } of plansOf(client, done)) {
      // `event_positions` has one row.
      assert.doesNotMatch(plan, /Seq Scan on (?!event_positions)/, told);
      if (!sortsFew(statement.sql)) assert.doesNotMatch(plan, /Sort/, told);
    }
    t.diagnostic(`${done.length} statements`);
  },
);
