// The search index has exactly the words of the texts, in whatever order its updates and other writes run.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { type Database, NO_CALLBACKS } from "../../../src/db/database.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { openSqlite } from "../../../src/db/engines/sqlite/sqlite.ts";
import { sql } from "../../../src/db/sql.ts";
import { createFuse } from "../../../src/util/fuse.ts";
import { testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { holds } from "../../support/property.ts";
import { anEntry, aUser, message, messageId } from "../../support/rows.ts";
import { scaled } from "../../support/scale.ts";
import { type Column, columnOf, findIndexProblems } from "../../support/search-index.ts";

/** In the form of a conversation id. */
const NOTES = "cnv_01kc0000000000000000000000";

/** A database. PostgreSQL opens it twice, as two nodes. */
interface Site {
  nodes: [Database, Database];
  column: Column;
  /** The damages of the index that the engine has found and repairs. */
  damages: unknown[];
}

async function onSqlite(t: TestContext): Promise<Site> {
  const { dataFolder } = await testConfig(t);
  await mkdir(dataFolder);
  const damages: unknown[] = [];
  const db = openSqlite(`${dataFolder}/parley.db`, createFuse(assert.ifError), undefined, {
    ...NO_CALLBACKS,
    onDamagedIndex: (cause) => void damages.push(cause),
  });
  t.after(() => db.close());
  return { nodes: [db, db], column: columnOf({ databaseUrl: null, dataFolder }), damages };
}

async function onPostgres(t: TestContext): Promise<Site> {
  const databaseUrl = await testDatabase(t);
  const nodes: [Database, Database] = [await openPostgres(databaseUrl), await openPostgres(databaseUrl)];
  t.after(() => Promise.all(nodes.map((node) => node.close())));
  return { nodes, column: columnOf({ databaseUrl, dataFolder: "" }), damages: [] };
}

const ENGINES = { sqlite: onSqlite, postgres: onPostgres };

/** A word that does not compress, with an end that both engines keep. */
const LONG_WORD = Array.from({ length: 100 }, (_, i) =>
  createHash("sha512").update(`${i}`).digest("hex"),
).join("");

const texts = fc.oneof(
  fc.constantFrom(
    "red fox",
    "red fox jumps",
    "東京都",
    "東京 fox 都",
    "?!",
    "the THE thé",
    "👍 fox",
    LONG_WORD.slice(0, 10_000),
  ),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).filter((text) => !text.includes("\0")),
);

type Step =
  | { do: "send" | "edit"; text: string; which: number }
  | { do: "delete" | "index" | "rebuild"; which: number };

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const), text: texts, which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("edit" as const), text: texts, which: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("delete" as const), which: fc.nat(20) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("index" as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rebuild" as const), which: fc.nat(20) }) },
);

/** Few texts per step, so that there are many steps. */
const PORTION = { limit: 3, characters: 40 };

class Talk {
  readonly #site: Site;
  #count = 0;
  readonly #sent: string[] = [];

  constructor(site: Site) {
    this.#site = site;
  }

  async run(step: Step): Promise<void> {
    const db = this.#site.nodes[step.which % 2]!;
    const own = { userId: "a", expected: null, now: 1 };
    const id = this.#sent[step.which % Math.max(1, this.#sent.length)] ?? "";
    switch (step.do) {
      case "send": {
        const number = ++this.#count;
        await db.write("createMessage", message("a", number, NOTES, { text: step.text }));
        this.#sent.push(messageId(number));
        return;
      }
      case "edit":
        return ifThere(db.write("updateMessage", { ...own, id, text: step.text, data: undefined }));
      case "delete":
        return ifThere(db.write("deleteMessage", { ...own, id, entry: anEntry() }));
      case "index":
        await db.write("indexMessages", PORTION);
        return;
      case "rebuild":
        return db.write("rebuildIndex", undefined);
    }
  }
}

async function ifThere(writing: Promise<void>): Promise<void> {
  await writing.catch((error) => assert.equal(error.code, "message_not_found", error));
}

async function indexAll(db: Database): Promise<void> {
  while (await db.write("indexMessages", PORTION));
}

for (const [name, open] of Object.entries(ENGINES)) {
  test(`${name}: a text that was never indexed is deleted, also while the index is rebuilt`, async (t) => {
    const site = await open(t);
    const [db] = site.nodes;
    await db.write("createUser", aUser("a", { conversationId: NOTES }));
    const own = { userId: "a", expected: null, now: 1, entry: anEntry() };
    for (const isRebuilt of [false, true]) {
      const id = messageId(isRebuilt ? 1 : 0);
      await db.write("createMessage", message("a", isRebuilt ? 1 : 0, NOTES));
      if (isRebuilt) await db.write("rebuildIndex", undefined);
      await db.write("deleteMessage", { ...own, id });
      await indexAll(db);
      assert.deepEqual(await findIndexProblems(site.column), []);
    }
    assert.deepEqual(site.damages, []);
  });

  test(`${name}: after any order of sends, edits, deletes and index updates, the index has the words of the texts`, async (t) => {
    const site = await open(t);
    await site.nodes[0].write("createUser", aUser("a", { conversationId: NOTES }));
    const talk = new Talk(site);
    const property = fc.asyncProperty(
      fc.array(fc.array(steps, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
      async (rounds) => {
        // The steps of a round run at the same time.
        for (const round of rounds) await Promise.all(round.map((step) => talk.run(step)));
        await indexAll(site.nodes[0]);
        assert.deepEqual(await findIndexProblems(site.column), []);
        assert.deepEqual(site.damages, []);
      },
    );
    await holds(property, scaled(40, 1000));
  });
}

test("sqlite: writes that find a damaged index succeed, and the index is rebuilt", async (t) => {
  const { dataFolder } = await testConfig(t);
  await mkdir(dataFolder);
  const path = `${dataFolder}/parley.db`;
  const damages: unknown[] = [];
  const onDamage = (cause: unknown) => void damages.push(cause);
  const db = openSqlite(path, createFuse(assert.ifError), undefined, {
    ...NO_CALLBACKS,
    onDamagedIndex: onDamage,
  });
  t.after(() => db.close());
  await db.write("createUser", aUser("a", { conversationId: NOTES }));
  await db.write("createMessage", message("a", 1, NOTES));
  await indexAll(db);
  const other = new DatabaseSync(path, { timeout: 5000 });
  other.enableDefensive(false);
  other.exec(`UPDATE message_index_data SET block = x'${"ff".repeat(41)}' WHERE id = 10`);
  other.close();
  const erase = { userId: "a", id: messageId(1), expected: null, now: 1, entry: anEntry() };
  // All of these share one commit.
  await Promise.all([
    db.write("createUser", aUser("b")),
    db.write("deleteMessage", erase),
    db.write("createUser", aUser("c")),
  ]);
  assert.equal(damages.length, 1);
  const users = await db.allValues(sql<[id: string]>`SELECT id FROM users ORDER BY id`);
  assert.deepEqual(users.flat(), ["a", "b", "c"]);
  await assert.rejects(db.write("deleteMessage", erase), { code: "message_not_found" });
  await indexAll(db);
  assert.deepEqual(await findIndexProblems(columnOf({ databaseUrl: null, dataFolder })), []);
});
