// Lists made as expensive as possible: many contacts or files, of which a filter matches few. SQLite reads run on the
// thread that serves all users (CWE-407).
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { SCOPES } from "../../src/core/people/tokens.ts";
import type { Statement } from "../../src/db/sql.ts";
import { startApp, type TestApp, type TestUser, upload } from "../support/app.ts";
import { addFiles } from "../support/many-files.ts";
import { code, read, send } from "../support/people.ts";
import { openSocket } from "../support/raw-socket.ts";

/** How many contacts or files a search for ten results scans first, and then in each turn of the event loop. */
const FIRST_LOOK = 22;
const ROWS_PER_TURN = 500;

interface Listed {
  has_more: boolean;
  data: { id: string }[];
}

interface Filled {
  id: string;
  username: string;
  phone: string;
  blocked: boolean;
}

/** Ids of contacts start at 1. */
const idOf = (number: number) => `con_0${String(number).padStart(25, "0")}`;
const BEFORE_ALL = idOf(0);
const BEHIND_ALL = idOf(999_999);

/** Opens the server's database file. */
function openFile(t: TestContext, server: TestApp): DatabaseSync {
  const db = new DatabaseSync(join(server.config.dataFolder, "parley.db"), { timeout: 5000 });
  t.after(() => db.close());
  db.exec("PRAGMA synchronous = OFF");
  return db;
}

function fill(db: DatabaseSync, owner: TestUser, contacts: readonly Filled[]): void {
  const insert = db.prepare(`INSERT INTO contacts
    (owner_id, id, username_key, phone_digits, search_key, conversation_id, blocked_at, version, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?)`);
  db.exec("BEGIN");
  for (const { id, username, phone, blocked } of contacts) {
    const key = ` ${username}`;
    const body = JSON.stringify({ id, username });
    insert.run(owner.id, id, username, phone, key, `cnv_${id}`, blocked ? 1 : null, body);
  }
  db.exec("COMMIT");
}

/** Returns contacts that match no filter of these tests. */
const strangers = (count: number): Filled[] =>
  Array.from({ length: count }, (_, i) => ({
    id: idOf(i + 1),
    username: `somebody ${i}`,
    phone: `1${i}`,
    blocked: false,
  }));

interface Asked extends Statement {
  /** The turn of the event loop in which the statement ran. */
  turn: number;
}

/** Records the statements that read lists of contacts and names of files. */
function watch(t: TestContext, server: TestApp): Asked[] {
  const asked: Asked[] = [];
  const { db } = server.app.core;
  let turn = 0;
  let next = setImmediate(function count() {
    turn++;
    next = setImmediate(count);
  });
  t.after(() => clearImmediate(next));
  const note = (statement: Statement) => {
    if (/FROM (contacts c|grants g)\b.* LIMIT/s.test(statement.sql)) asked.push({ ...statement, turn });
  };
  for (const name of ["all", "get", "allValues", "getValues"] as const) {
    const read = db[name] as (statement: Statement) => Promise<never>;
    db[name] = (statement: Statement) => {
      note(statement);
      return read.call(db, statement);
    };
  }
  return asked;
}

/** Returns how many contacts a part of a search scans, or undefined for any other statement. */
const stepsOf = ({ sql, params }: Statement) =>
  / OFFSET /.test(sql) ? Number(params.at(-1)) + 1 : undefined;

function list(server: TestApp, user: TestUser, query: string): Promise<Listed> {
  return read(send(server, user, "GET", `/v1/contacts?${query}`), 200);
}

test("lists by username, phone_number and active=false read one range of an index", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const db = openFile(t, server);
  fill(
    db,
    user,
    strangers(1000).map((each, i) => (i % 250 === 0 ? { ...each, phone: "555", blocked: true } : each)),
  );
  const asked = watch(t, server);
  const indexes: Record<string, [index: string, found: number]> = {
    "username=somebody%207": ["contacts_by_username (owner_id=? AND username_key=?)", 1],
    "username=somebody%207&active=true": ["contacts_by_username (owner_id=? AND username_key=?)", 1],
    "phone_number=555": [
      "contacts_by_phone (owner_id=? AND (phone_digits,id)>(?,?) AND (phone_digits,id)<(?,?))",
      4,
    ],
    "active=false": ["contacts_blocked (owner_id=? AND <expr>{walk}?)", 4],
  };
  for (const [query, [index, found]] of Object.entries(indexes)) {
    for (const [cursor, walk] of [
      ["", "<"],
      [`&starting_after=${BEHIND_ALL}`, "<"],
      [`&ending_before=${BEFORE_ALL}`, ">"],
    ] as const) {
      asked.length = 0;
      assert.equal((await list(server, user, query + cursor)).data.length, found, query + cursor);
      assert.equal(asked.length, 1, query + cursor);
      const { sql, params } = asked[0]!;
      const [step] = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params) as { detail: string }[];
      assert.equal(step!.detail, `SEARCH c USING INDEX ${index.replace("{walk}", walk)}`, query + cursor);
    }
  }
});

test("active=true reads few contacts if few are blocked, and takes turns if nearly all are", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const db = openFile(t, server);
  fill(db, user, strangers(10_000));
  const asked = watch(t, server);
  assert.equal((await list(server, user, "active=true")).data.length, 10);
  assert.deepEqual(
    asked.map(stepsOf).filter((steps) => steps !== undefined),
    [FIRST_LOOK],
  );
  db.prepare("UPDATE contacts SET blocked_at = 1 WHERE id <> ?").run(idOf(1));
  asked.length = 0;
  assert.deepEqual(
    (await list(server, user, "active=true")).data.map(({ id }) => id),
    [idOf(1)],
  );
  const parts = asked.filter((each) => stepsOf(each) !== undefined);
  assert.deepEqual(parts.map(stepsOf), [FIRST_LOOK, ...Array(10_000 / ROWS_PER_TURN).fill(ROWS_PER_TURN)]);
  assert.equal(new Set(parts.map(({ turn }) => turn)).size, parts.length, "one part per turn");
});

test("concurrent searches together scan 500 contacts per turn of the event loop", async (t) => {
  const contacts = 20_000;
  const server = await startApp(t);
  const user = await server.user();
  fill(openFile(t, server), user, strangers(contacts));
  const asked = watch(t, server);
  const searches = ["q=nobody", "q=none", "q=noone&active=true", "active=true&q=nil"];
  await Promise.all(searches.map((query) => list(server, user, query)));
  const parts = asked.filter((each) => stepsOf(each) !== undefined);
  const later = parts.filter((each) => stepsOf(each) !== FIRST_LOOK);
  assert.equal(parts.length - later.length, searches.length);
  for (const each of later) assert.equal(stepsOf(each), ROWS_PER_TURN);
  assert.equal(later.length, searches.length * Math.ceil((contacts - FIRST_LOOK) / ROWS_PER_TURN));
  assert.equal(new Set(later.map(({ turn }) => turn)).size, later.length, "one part per turn");
});

test("searches of one user do not delay another user's by more than one step each", async (t) => {
  const server = await startApp(t);
  const [hostile, other] = [await server.user(), await server.user()];
  const db = openFile(t, server);
  fill(db, hostile, strangers(100_000));
  fill(db, other, strangers(5000));
  const asked = watch(t, server);
  const steps = () => asked.filter((each) => stepsOf(each) === ROWS_PER_TURN);
  const searches = [1, 2, 3, 4].map((i) => list(server, hostile, `q=nobody${i}`));
  while (steps().length < 4 && !t.signal.aborted) await new Promise(setImmediate);
  await Promise.all([list(server, other, "q=nobody"), ...searches]);
  const own = Math.ceil((5000 - FIRST_LOOK) / ROWS_PER_TURN);
  const order = steps().map(({ params }) => params.includes(other.id));
  assert.equal(order.filter((isOwn) => isOwn).length, own);
  const took = order.lastIndexOf(true) - order.indexOf(true) + 1;
  assert.ok(took <= 2 * own, `${took} steps until ${own} were done`);
});

test("a user's fifth concurrent search is 429, a list by index is not", async (t) => {
  const server = await startApp(t);
  const user = await server.user({ scopes: SCOPES });
  const other = await server.user();
  fill(openFile(t, server), user, strangers(100_000));
  const asked = watch(t, server);
  const searches = [1, 2, 3, 4].map((i) => list(server, user, `q=nobody${i}`));
  while (asked.length < 8 && !t.signal.aborted) await new Promise(setImmediate);
  const { conversation_id } = await read<{ conversation_id: string }>(
    send(server, user, "GET", "/v1/me"),
    200,
  );
  const refused = await Promise.all([
    send(server, user, "GET", "/v1/contacts?q=nobody5"),
    send(server, user, "GET", "/v1/messages?q=none"),
    send(server, user, "POST", "/v1/archives", { conversation_id }),
    send(server, user, "GET", "/v1/audit", undefined, { accept: "application/jsonl" }),
  ]);
  for (const answer of refused) {
    assert.equal(answer.headers.get("retry-after"), "1");
    assert.equal(await code(Promise.resolve(answer), 429), "rate_limited");
  }
  await Promise.all(
    [
      "/v1/contacts?q=somebody",
      "/v1/contacts?active=true",
      "/v1/conversations?unread=true",
      "/v1/attachments?q=none",
    ].map((path) => read(send(server, user, "GET", path), 200)),
  );
  await read(send(server, other, "GET", "/v1/messages?q=none"), 200);
  await Promise.all(searches);
  await list(server, user, "q=nobody5");
});

test("a search of contacts stops when its client disconnects", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  fill(openFile(t, server), user, strangers(100_000));
  const asked = watch(t, server);
  const partsOf = (word: string) => asked.filter(({ params }) => params.includes(` ${word}`)).length;
  const socket = await openSocket(server.url);
  socket.write(
    `GET /v1/contacts?q=gone HTTP/1.1\r\nhost: x\r\nauthorization: ${user.headers.authorization}\r\n\r\n`,
  );
  while (partsOf("gone") === 0 && !t.signal.aborted) await new Promise(setImmediate);
  socket.destroy();
  // This search takes turns with the first one, so it ends later.
  await list(server, user, "q=here");
  const parts = 1 + 100_000 / ROWS_PER_TURN;
  assert.equal(partsOf("here"), parts);
  t.diagnostic(`${partsOf("gone")} parts of ${parts}`);
  assert.ok(partsOf("gone") < parts, `${partsOf("gone")} parts of ${parts}`);
});

/** Returns a user with this many files, none of which a search finds. */
async function withFiles(server: TestApp, count: number): Promise<TestUser> {
  const user = await server.user();
  const made = await upload(server.url, user, new File(["x"], "first.txt"));
  addFiles(server, user.id, ((await made.json()) as { id: string }).id, "0000", count);
  return user;
}

test("concurrent searches together scan 500 file names per turn of the event loop", async (t) => {
  const files = 4999;
  const server = await startApp(t);
  const user = await withFiles(server, files);
  const asked = watch(t, server);
  const searches = ["q=nobody", "q=none&limit=10", "q=no%20one", "q=nil"];
  const answers = await Promise.all(
    searches.map((query) => read(send(server, user, "GET", `/v1/attachments?${query}`), 200)),
  );
  for (const answer of answers) assert.deepEqual(answer, { has_more: false, data: [] });
  const looks = asked.map(({ params }) => Number(params.at(-1)));
  const later = asked.filter((_, i) => looks[i] !== FIRST_LOOK);
  assert.equal(asked.length - later.length, searches.length);
  for (const look of looks) assert.ok(look === FIRST_LOOK || look === ROWS_PER_TURN);
  assert.equal(later.length, searches.length * Math.ceil((files + 1 - FIRST_LOOK) / ROWS_PER_TURN));
  assert.equal(new Set(later.map(({ turn }) => turn)).size, later.length, "one part per turn");
});

test("pages of a search have each contact once in both directions, while contacts come and go", async (t) => {
  const server = await startApp(t);
  const user = await server.user();
  const db = openFile(t, server);
  const all = Array.from({ length: 12_000 }, (_, i): Filled => {
    // So few matches that most pages take several turns. Some matches are at the ends of turns.
    const isMatch = i % 1000 === 500 || [5, 6, 2005, 2006, 9994, 11_994].includes(i);
    return {
      id: idOf(2 * i + 1),
      username: isMatch ? `ada ${i}` : `somebody ${i}`,
      phone: i % 3 === 0 ? "555" : `1${i}`,
      blocked: i % 2 === 0,
    };
  });
  fill(db, user, all);
  let changes = 0;
  const insert = db.prepare(`INSERT OR IGNORE INTO contacts
    (owner_id, id, username_key, phone_digits, search_key, conversation_id, version, body)
    SELECT ?, ?, ?, '1', ' new', 'cnv', 1, '{}'`);
  const remove = db.prepare(
    "DELETE FROM contacts WHERE owner_id = ? AND id = ? AND search_key LIKE ' somebody%'",
  );
  let next = setImmediate(function change() {
    for (let i = 0; i < 5; i++, changes++) {
      remove.run(user.id, idOf(2 * ((changes * 7919) % all.length) + 1));
      insert.run(user.id, idOf(2 * ((changes * 104_729) % all.length) + 2), `new ${changes}`);
    }
    next = setImmediate(change);
  });
  t.after(() => clearImmediate(next));
  const filters: [query: string, matches: (contact: Filled) => boolean][] = [
    ["q=ada", () => true],
    ["q=ada&active=true", ({ blocked }) => !blocked],
    ["q=ada&active=false", ({ blocked }) => blocked],
    ["q=ada&phone_number=555", ({ phone }) => phone === "555"],
    ["q=ada&phone_number=555&active=false", ({ phone, blocked }) => phone === "555" && blocked],
  ];
  for (const [query, matches] of filters) {
    const expected = all
      .filter((each) => each.username.startsWith("ada") && matches(each))
      .map(({ id }) => id);
    assert.ok(expected.length > 1, query);
    for (const [direction, from] of [
      ["starting_after", BEHIND_ALL],
      ["ending_before", BEFORE_ALL],
    ] as const) {
      const seen: string[] = [];
      for (let cursor = from, more = true; more; cursor = seen.at(-1)!) {
        const page = await list(server, user, `${query}&limit=2&${direction}=${cursor}`);
        const ids = page.data.map(({ id }) => id);
        assert.equal(ids.length, Math.min(2, expected.length - seen.length), `${query} ${direction}`);
        seen.push(...(direction === "starting_after" ? ids : ids.toReversed()));
        more = page.has_more;
      }
      const order = direction === "starting_after" ? expected.toReversed() : expected;
      assert.deepEqual(seen, order, `${query} ${direction}`);
    }
  }
  t.diagnostic(`${changes} contacts came and went`);
});
