// Short reads on PostgreSQL share one connection. Each gets its own result, even if that connection fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import type { Database } from "../../src/db/database.ts";
import { openPostgres } from "../../src/db/engines/postgres/postgres.ts";
import { sql } from "../../src/db/sql.ts";
import { administer, testDatabase } from "../support/engines/postgres.ts";
import { startProxy } from "../support/engines/postgres-proxy.ts";
import { holds } from "../support/property.ts";
import { addUser } from "../support/rows.ts";
import { openOnPostgres } from "./databases.ts";

const pid = sql<[pid: number]>`SELECT pg_backend_pid() AS pid`;
const quotient = (divisor: number) => sql<[value: number]>`SELECT 100 / CAST(${divisor} AS INTEGER)`;
const echo = (text: string) => sql<[text: string]>`SELECT CAST(${text} AS TEXT)`;
const sleeping = (seconds: number) => sql<[pid: number]>`SELECT pg_backend_pid() FROM pg_sleep(${seconds})`;

const range = (size: number) => Array.from({ length: size }, (_, i) => i);

/** Reads until concurrent reads run on one connection, and returns the process id of its server. */
async function sharedPid(db: Database): Promise<number> {
  for (let tries = 0; tries < 500; tries++) {
    const pids = await Promise.all(range(20).map(() => db.getValues(pid)));
    if (new Set(pids.map((values) => values![0])).size === 1) return pids[0]![0];
    await sleep(10);
  }
  throw new Error("No connection is shared.");
}

/** Starts reads that wait for a slow one on the shared connection. */
async function readMany(db: Database): Promise<string[]> {
  const slow = db.getValues(sleeping(0.5));
  const reads = range(60).map(async (i) => (await db.getValues(echo(`text ${i}`)))![0]);
  const [, ...texts] = await Promise.all([slow, ...reads]);
  return texts;
}
const MANY = range(60).map((i) => `text ${i}`);

test("reads of values share a connection and its settings; reads of objects and background reads do not", async (t) => {
  const db = await openOnPostgres(t);
  await addUser(db, "a");
  const shared = await sharedPid(db);
  const names = ["enable_seqscan", "lock_timeout", "default_transaction_read_only", "tcp_keepalives_idle"];
  const settings = sql<[pid: number, ...settings: string[]]>`SELECT pg_backend_pid() AS pid,
    current_setting(${names[0]!}) AS a, current_setting(${names[1]!}) AS b,
    current_setting(${names[2]!}) AS c, current_setting(${names[3]!}) AS d`;
  const [ours, ...values] = (await db.getValues(settings))!;
  const [other, ...others] = (await db.background.allValues(settings))[0]!;
  assert.equal(ours, shared);
  assert.notEqual(other, shared);
  assert.deepEqual(values, ["off", "5s", "on", "10"]);
  assert.deepEqual(others, values);
  const found = sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`;
  assert.notEqual((await db.get(found))!.pid, shared);
  assert.notEqual((await db.all(found))[0]!.pid, shared);
  await assert.rejects(db.allValues(sql<[]>`DELETE FROM users`), { code: "unavailable" });
  assert.deepEqual(await db.allValues(sql<[string]>`SELECT id FROM users`), [["a"]]);
});

test("a database opened for exclusive use shares no connection, and its statements may take long", async (t) => {
  const db = await openPostgres(await testDatabase(t), undefined, true);
  t.after(() => db.close());
  const timeout = sql<[string]>`SELECT current_setting('statement_timeout')`;
  for (let i = 0; i < 50; i++) {
    assert.deepEqual(await db.getValues(timeout), ["0"]);
    await sleep(5);
  }
});

test("a hundred reads queue for the shared connection, and the next one takes another", async (t) => {
  const db = await openOnPostgres(t);
  const shared = await sharedPid(db);
  const reads = [db.getValues(sleeping(0.2)), ...range(99).map(() => db.getValues(pid))];
  const more = db.getValues(pid);
  assert.deepEqual(
    (await Promise.all(reads)).map((values) => values![0]),
    range(100).map(() => shared),
  );
  assert.notEqual((await more)![0], shared);
  assert.equal(await sharedPid(db), shared);
});

test("a failing statement fails no other read, even if it cannot be prepared", async (t) => {
  const db = await openOnPostgres(t);
  const shared = await sharedPid(db);
  const broken = sql<[]>`SELECT no_function()`;
  const settled = await Promise.allSettled(
    range(60).flatMap((i) => [db.getValues(quotient(i % 3)), ...(i % 5 === 0 ? [db.allValues(broken)] : [])]),
  );
  const failures = settled.flatMap((each) => (each.status === "rejected" ? [each.reason.message] : []));
  assert.deepEqual(new Set(failures), new Set(["division by zero", "function no_function() does not exist"]));
  assert.equal(failures.length, 20 + 12);
  const answers = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  assert.deepEqual(
    answers,
    range(40).map((i) => [i % 2 === 0 ? 100 : 50]),
  );
  assert.equal(await sharedPid(db), shared);
});

test("a slow statement moves to another connection, so that later reads are answered", async (t) => {
  const db = await openOnPostgres(t);
  const shared = await sharedPid(db);
  const slow = db.getValues(sleeping(1.5));
  assert.deepEqual(await db.getValues(pid), [shared]);
  assert.notEqual((await slow)![0], shared);
});

test("if the connection ends during reads, all are answered and a new one is shared", async (t) => {
  const url = await testDatabase(t);
  const db = await openPostgres(url);
  t.after(() => db.close());
  for (let round = 0; round < 3; round++) {
    const shared = await sharedPid(db);
    const reads = readMany(db);
    assert.deepEqual(await administer(url, `SELECT pg_terminate_backend(${shared})`), [true]);
    assert.deepEqual(await reads, MANY);
    assert.notEqual(await sharedPid(db), shared);
  }
});

test("if the connection is cut within an answer, all reads are answered and a new one is shared", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  const shared = await sharedPid(db);
  let cuts = 0;
  proxy.onAnswer = (piece) => {
    const at = piece.indexOf("text 30");
    if (at === -1 || cuts > 0) return undefined;
    cuts++;
    return at + 4;
  };
  assert.deepEqual(await readMany(db), MANY);
  assert.equal(cuts, 1);
  assert.notEqual(await sharedPid(db), shared);
});

test("if the server hangs, reads are eventually refused, and work once it is back", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  const db = await openPostgres(proxy.url);
  t.after(() => db.close());
  await sharedPid(db);
  proxy.stall(true);
  const reads = range(120).map((i) => assert.rejects(db.getValues(echo(String(i))), { code: "unavailable" }));
  await Promise.all(reads);
  proxy.stall(false);
  await sharedPid(db);
  assert.deepEqual(await readMany(db), MANY);
});

test("closing ends running reads, whether the server answers or hangs", async (t) => {
  const proxy = await startProxy(t, await testDatabase(t));
  for (const hangs of [false, true]) {
    const db = await openPostgres(proxy.url);
    await sharedPid(db);
    proxy.stall(hangs);
    const reads = readMany(db);
    const ended = hangs
      ? assert.rejects(reads, { code: "unavailable" })
      : reads.then((texts) => assert.deepEqual(texts, MANY));
    await db.close();
    await ended;
    await assert.rejects(db.getValues(pid), { code: "unavailable" });
    proxy.stall(false);
  }
});

/** A read with its expected result, or undefined if it must fail. */
const anyRead = fc.oneof(
  fc.record({ text: fc.string({ maxLength: 20_000, size: "max" }) }),
  fc.record({ text: fc.string({ maxLength: 20 }), rows: fc.nat(40) }),
  fc.record({ divisor: fc.nat(5) }),
);

test("no read ever gets the result of another", async (t) => {
  const url = await testDatabase(t);
  const db = await openPostgres(url);
  t.after(() => db.close());
  const run = async (read: { text?: string; rows?: number; divisor?: number }): Promise<void> => {
    const { text, rows, divisor } = read;
    if (divisor === 0) return assert.rejects(db.getValues(quotient(0)), /division by zero/);
    if (divisor !== undefined)
      return assert.deepEqual(await db.getValues(quotient(divisor)), [Math.floor(100 / divisor)]);
    if (rows === undefined) return assert.deepEqual(await db.getValues(echo(text!)), [text]);
    const series = sql<[i: number, text: string]>`SELECT i, CAST(${text!} AS TEXT)
      FROM generate_series(1, CAST(${rows} AS INTEGER)) AS i`;
    assert.deepEqual(
      await db.allValues(series),
      range(rows).map((i) => [i + 1, text]),
    );
  };
  const moments = fc.array(fc.array(anyRead, { maxLength: 60 }), { maxLength: 4 });
  const property = fc.asyncProperty(moments, fc.boolean(), async (reads, isEnded) => {
    const shared = isEnded ? await sharedPid(db) : undefined;
    const all = reads.map(async (some, i) => {
      await sleep(5 * i);
      await Promise.all(some.map(run));
    });
    const ended = shared && administer(url, `SELECT pg_terminate_backend(${shared})`);
    await Promise.all([...all, ended]);
  });
  await holds(property, 60);
});
