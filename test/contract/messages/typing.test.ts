// Typists are found and broadcast in batches, on both engines.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Typists } from "../../../src/core/node/typists.ts";
import { type Callbacks, type Database, NO_CALLBACKS } from "../../../src/db/database.ts";
import { migratePostgres } from "../../../src/db/engines/postgres/migrate.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { migrate } from "../../../src/db/engines/sqlite/migrate.ts";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import { listTypingAudience, type Typist } from "../../../src/db/queries/messages/typing.ts";
import { sql } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { addUser, contact } from "../../support/rows.ts";
import { deleteUser, people } from "../groups/in-groups.ts";

/** A node, and the broadcasts that it received. */
interface Node {
  db: Database;
  texts: string[];
}

function listener(): { callbacks: Callbacks; texts: string[] } {
  const texts: string[] = [];
  return { texts, callbacks: { ...NO_CALLBACKS, onBroadcast: (some) => texts.push(...some) } };
}

async function onSqlite(t: TestContext): Promise<Node[]> {
  const folder = await mkdtemp(join(tmpdir(), "parley-typing-"));
  const { callbacks, texts } = listener();
  const db = openSqlite(join(folder, "parley.db"), createFuse(assert.ifError), migrate, callbacks);
  t.after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return [{ db, texts }];
}

async function onPostgres(t: TestContext): Promise<Node[]> {
  const url = await testDatabase(t);
  const open = async () => {
    const { callbacks, texts } = listener();
    const db = await openPostgres(url, migratePostgres, false, callbacks);
    t.after(() => db.close());
    return { db, texts };
  };
  return [await open(), await open()];
}

/** More than fit into one batch, and into one notification of PostgreSQL. */
const CONTACTS = 600;

function typingContract(name: string, open: (t: TestContext) => Promise<Node[]>): void {
  test(`${name}: all typists are broadcast to all nodes, each once`, async (t) => {
    const nodes = await open(t);
    const { db } = nodes[0]!;
    await addUser(db, "a");
    const all = Array.from({ length: CONTACTS }, (_, i) => contact("a", i + 1));
    await Promise.all(all.map((each) => db.write("createContact", each)));
    let now = 1000;
    const typists = new Typists(db, () => now);
    const type = async (userId: string) =>
      Promise.all(
        all.map(({ conversationId }) => typists.add({ conversation_id: conversationId, user_id: userId })),
      );
    const told = async (count: number) => {
      const has = async () => nodes.every(({ texts }) => texts.length >= count);
      assert.ok(await eventually(has), nodes.map(({ texts }) => texts.length).join());
    };
    assert.deepEqual(await type("b"), Array(CONTACTS).fill(false), "who is no member");
    for (let i = 0; i < 2; i++) assert.deepEqual(await type("a"), Array(CONTACTS).fill(true));
    await told(CONTACTS);
    now += 3001;
    await type("a");
    await told(2 * CONTACTS);
    for (const { texts } of nodes) {
      const broadcast = texts.map((text) => JSON.parse(text));
      const conversations = all.map(({ conversationId }) => conversationId).sort();
      for (const [from, expires_at] of [
        [0, 7],
        [CONTACTS, 11],
      ] as const) {
        const some = broadcast.slice(from, from + CONTACTS);
        assert.deepEqual(some.map(({ conversation_id }) => conversation_id).sort(), conversations);
        for (const each of some) assert.deepEqual([each.user_id, each.expires_at], ["a", expires_at]);
      }
      assert.equal(texts.length, 2 * CONTACTS);
    }
  });

  test(`${name}: nobody sees that a user who is being erased is typing`, async (t) => {
    const [{ db }] = (await open(t)) as [Node];
    await people(db, "a", "b", "c", "d");
    const seats = () =>
      db.all<Typist>(sql`SELECT conversation_id, user_id FROM members WHERE user_id = ${"b"}`);
    assert.equal((await listTypingAudience(db, await seats())).length, 3);
    await deleteUser(db, "b", 1);
    const left = await seats();
    assert.ok(left.length >= 2, `${left.length} are left to erase`);
    assert.deepEqual(await listTypingAudience(db, left), []);
  });
}

typingContract("sqlite", onSqlite);
typingContract("postgres", onPostgres);
