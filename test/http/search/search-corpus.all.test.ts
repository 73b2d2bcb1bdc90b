// Searches in many scripts, compared with the full-text search of both databases.
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import pg from "pg";
import { startOn, testConfig } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { administer, testDatabase } from "../../support/engines/postgres.ts";
import { person, read, say, send } from "../../support/people.ts";
import { MESSAGES, QUERIES } from "./search-messages.ts";

/** For each query, the numbers of the messages found. */
type Found = number[][];

const expected: Found = QUERIES.map(({ hits, missed = [], extra = [] }) =>
  descending([...hits.filter((hit) => !missed.includes(hit)), ...extra]),
);

function descending(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => b - a);
}

async function byParley(t: TestContext, databaseUrl?: string): Promise<Found> {
  const server = await startOn(t, { ...(await testConfig(t)), ...(databaseUrl ? { databaseUrl } : {}) });
  const ann = await person(server, "ann");
  const { conversation_id } = await read<{ conversation_id: string }>(
    send(server, ann, "GET", "/v1/me"),
    200,
  );
  const numbers = new Map<unknown, number>();
  for (const [number, text] of MESSAGES) numbers.set(await say(server, ann, conversation_id, text), number);
  const found: Found = [];
  for (const { q } of QUERIES) {
    const path = `/v1/messages?limit=100&q=${encodeURIComponent(q)}`;
    const { data } = await read<{ data: Json[] }>(send(server, ann, "GET", path), 200);
    found.push(data.map(({ id }) => numbers.get(id)!));
  }
  return found;
}

const wordsOf = (q: string) => q.split(/\s+/);

function bySqlite(): Found {
  using db = new DatabaseSync(":memory:");
  db.exec("CREATE VIRTUAL TABLE found USING fts5 (text, tokenize = 'unicode61')");
  const insert = db.prepare("INSERT INTO found (rowid, text) VALUES (?, ?)");
  for (const [number, text] of MESSAGES) insert.run(number, text);
  const select = db.prepare("SELECT rowid FROM found WHERE found MATCH ? ORDER BY rowid DESC");
  return QUERIES.map(({ q }) => {
    const words = wordsOf(q).map((word) => `"${word.replaceAll('"', '""')}"`);
    return select.all(`${words.join(" AND ")} *`).map(({ rowid }) => Number(rowid));
  });
}

async function byPostgres(server: string): Promise<Found> {
  // The test database has the locale C, in which non-ASCII letters have no lower case.
  const name = `parley_test_${process.pid}_unicode`;
  await administer(
    server,
    `CREATE DATABASE ${name} TEMPLATE template0 LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8'`,
  );
  const url = new URL(server);
  url.pathname = name;
  const db = new pg.Client({ connectionString: url.href });
  await db.connect();
  try {
    await db.query("CREATE TEMPORARY TABLE found (number INTEGER, words TSVECTOR)");
    for (const message of MESSAGES)
      await db.query("INSERT INTO found VALUES ($1, to_tsvector('simple', $2))", message);
    const found: Found = [];
    for (const { q } of QUERIES) {
      const words = wordsOf(q).map((word) => `'${word.replaceAll("'", "''")}'`);
      const { rows } = await db.query(
        "SELECT number FROM found WHERE words @@ to_tsquery('simple', $1) ORDER BY number DESC",
        [`${words.join(" & ")}:*`],
      );
      found.push(rows.map(({ number }) => number));
    }
    return found;
  } finally {
    await db.end();
    await administer(server, `DROP DATABASE ${name}`);
  }
}

/** Returns precision and recall, in percent. */
function rate(found: Found): string {
  let [all, wanted, right, exact] = [0, 0, 0, 0];
  for (const [i, { hits }] of QUERIES.entries()) {
    const good = found[i]!.filter((number) => hits.includes(number)).length;
    all += found[i]!.length;
    wanted += hits.length;
    right += good;
    if (good === hits.length && good === found[i]!.length) exact++;
  }
  const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
  return `precision ${percent(right, all)}, recall ${percent(right, wanted)}, exact ${exact} of ${QUERIES.length} queries`;
}

test("searches in many scripts find what people expect, the same on both engines", async (t) => {
  assert.ok(MESSAGES.size >= 150);
  const databaseUrl = await testDatabase(t);
  const [found, onPostgres] = [await byParley(t), await byParley(t, databaseUrl)];
  for (const [i, { q }] of QUERIES.entries()) {
    assert.deepEqual(found[i], expected[i], `SQLite: ${q}`);
    assert.deepEqual(onPostgres[i], expected[i], `PostgreSQL: ${q}`);
  }
  t.diagnostic(`Parley: ${rate(found)}`);
  t.diagnostic(`FTS5 unicode61: ${rate(bySqlite())}`);
  t.diagnostic(`PostgreSQL simple: ${rate(await byPostgres(databaseUrl))}`);
});
