// How each engine comes by events, among many.
import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import * as events from "../../src/db/events.ts";
import { openPostgres } from "../../src/db/postgres.ts";
import type { Reader, Statement, Value, Write } from "../../src/db/sql.ts";
import { testDatabase } from "../engines/postgres.ts";
import { openPlainSqlite } from "./databases.ts";

type Run = (statement: Statement) => Promise<unknown[]>;

/** Does everything that is done with events, and returns each statement of it. */
async function doAll(run: Run): Promise<Statement[]> {
  const done: Statement[] = [];
  const all = async <R>(sql: string, ...params: Value[]): Promise<R[]> => {
    done.push({ sql, params });
    return (await run({ sql, params })) as R[];
  };
  const db: Reader = {
    all,
    get: async <R>(sql: string, ...params: Value[]) => (await all<R>(sql, ...params))[0],
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
  await events.lastNumber(db, recipientId);
  await events.firstNumber(db, recipientId, 1);
  await events.recipientsBehind(db, (await events.lastPosition(db)) - 10, 10);
  await events.hasUnnumbered(db);
  assert.equal((await events.oldestEvents(db, "usr_0003", 5)).length, 5);
  const steps = function* (): Write<void> {
    yield* events.numberEvents({ limit: 10 });
    yield* events.forgetEvents({ recipientId, before: 50, limit: 10 });
    yield [
      events.tellOfNewContact(1, recipientId, "con_x"),
      events.tellOfAttachment("attachment.created", 1, "cnv_x", { id: "att_x" }),
      events.forgetEventsOf(recipientId),
    ];
  };
  const write = steps();
  for (let step = write.next(); !step.done; ) {
    const rows: unknown[][] = [];
    for (const { sql, params } of step.value) rows.push(await all(sql, ...params));
    step = write.next(rows);
  }
  return done;
}

/** The few recipients that one query has found are put in order. */
const isWalk = (sql: string) => sql.includes("WITH RECURSIVE recipients");

/** Events of 40 recipients, of whom one has half of them. */
const EVENTS = 24_000;
const RECIPIENT = "CASE WHEN n % 2 = 0 THEN 'usr_0007' ELSE 'usr_' || substr('000' || n % 40, -4) END";

test("sqlite: among many events each statement finds its own by an index: no scan, no sort", async (t) => {
  const db = await openPlainSqlite(t);
  db.exec(`WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${EVENTS})
    INSERT INTO events SELECT n, ${RECIPIENT}, n, 'contact.created', 'cnv', n, '{}' FROM numbers; ANALYZE`);
  const done = await doAll(async ({ sql, params }) => db.prepare(sql).all(...params));
  for (const { sql, params } of done) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
    // Of the view that nothing waits in, only the condition that nothing meets is asked.
    if (sql.includes("FROM outbox")) continue;
    const told = plan.map(({ detail }) => detail).join("\n");
    assert.doesNotMatch(told, /SCAN (?!recipients|CONSTANT)/, `${sql}\n${told}`);
    if (!isWalk(sql)) assert.doesNotMatch(told, /TEMP B-TREE/, `${sql}\n${told}`);
  }
  t.diagnostic(`${done.length} statements`);
});

const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

test("postgres: among many events each statement finds its own by an index: no scan, no sort", async (t) => {
  const url = await testDatabase(t);
  await (await openPostgres(url)).close();
  const client = new pg.Client({ connectionString: url, types });
  // Its database goes before it does.
  client.on("error", () => {});
  await client.connect();
  t.after(() => client.end());
  const recipient = RECIPIENT.replace("substr('000' || n % 40, -4)", "lpad((n % 40)::text, 4, '0')");
  const rows = `${recipient}, n, 'contact.created', 'cnv', n, '{}' FROM generate_series(1, ${EVENTS}) n`;
  await client.query(`INSERT INTO events SELECT n, ${rows}`);
  await client.query(`INSERT INTO users (id, username, username_key, conversation_id, created_at)
    SELECT 'usr_' || lpad(n::text, 4, '0'), n, n, 'cnv', 1 FROM generate_series(0, 9) n`);
  await client.query(`INSERT INTO outbox (recipient_id, type, conversation_id, created_at, payload)
    SELECT ${rows.replace(", n, 'contact", ", 'contact")}`);
  // As the service does.
  await client.query("ANALYZE; SET enable_seqscan = off");
  const numbered = (sql: string) => {
    let number = 0;
    return sql.replaceAll("?", () => `$${++number}`);
  };
  const done = await doAll(async ({ sql, params }) => (await client.query(numbered(sql), params)).rows);
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    await client.query(`SET plan_cache_mode = ${mode}`);
    for (const [i, { sql, params }] of done.entries()) {
      await client.query(`PREPARE ${mode}_${i} AS ${numbered(sql)}`);
      const values = params.map((value) => (typeof value === "number" ? value : `'${value}'`));
      const execute = `EXPLAIN EXECUTE ${mode}_${i} ${values.length > 0 ? `(${values})` : ""}`;
      const { rows: lines } = await client.query({ text: execute, rowMode: "array" });
      const plan = lines.flat().join("\n");
      // There is one row of positions.
      assert.doesNotMatch(plan, /Seq Scan on (?!event_positions)/, `${mode}: ${sql}\n${plan}`);
      if (!isWalk(sql)) assert.doesNotMatch(plan, /Sort/, `${mode}: ${sql}\n${plan}`);
    }
  }
  t.diagnostic(`${done.length} statements`);
});
