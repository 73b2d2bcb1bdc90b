// Migrations of databases without a search index: a search is refused until the index is built, then finds all
// messages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../../src/app.ts";
import type { Config } from "../../../src/config/settings.ts";
import { createToken } from "../../../src/core/people/tokens.ts";
import { openPostgres } from "../../../src/db/engines/postgres/postgres.ts";
import { holdWrites } from "../../../src/db/engines/sqlite/lock.ts";
import { databaseOf } from "../../../src/util/data-folder.ts";
import { startOn, type TestApp, type TestUser } from "../../support/app.ts";
import type { Json } from "../../support/asker.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { type Engine, oldConfig, type Rows } from "../../support/old-databases.ts";
import { read, say, send } from "../../support/people.ts";
import { messageId } from "../../support/rows.ts";
import { columnOf, findIndexProblems } from "../../support/search-index.ts";

/** Uses the index for any number of messages. */
const INDEXED = { messagesReadAtOnce: 0 };

const OWN = `cnv_${"0".repeat(26)}`;

/** Returns old, edited and deleted messages. A deleted message, and the text before an edit, leave an empty body. */
function rowsOf(): Rows {
  const user = { id: "usr_1", username: "ann", username_key: "ann", conversation_id: OWN, created_at: 1 };
  const own = { user_id: "usr_1", conversation_id: OWN };
  const message = { conversation_id: OWN, sender_id: "usr_1", type: "text", has_files: 0, version: 1 };
  const sent = (number: number, body_id: number, edited_at: number | null = null): Rows[number] => [
    "messages",
    { ...message, id: messageId(number), body_id, created_at: 1_800_000_000_000 + number, edited_at },
  ];
  return [
    ["users", user],
    ["storage", { user_id: "usr_1", used: 0 }],
    ["members", { ...own, joined_at: 1 }],
    ["places", { ...own, position: messageId(5).slice(4) }],
    ["marks", own],
    ["conversations", { id: OWN, last_id: messageId(5) }],
    ["message_bodies", { id: 1, text: "old red" }],
    ["message_bodies", { id: 2, text: null }],
    ["message_bodies", { id: 3, text: null }],
    ["message_bodies", { id: 4, text: "edited red 東京" }],
    ["message_bodies", { id: 5, text: "last red" }],
    ["message_bodies", { id: 6, text: "first red" }],
    sent(1, 6),
    sent(2, 1),
    sent(3, 4, 1_800_000_000_900),
    sent(5, 5),
  ];
}

/** The schema versions with messages and without search. */
const SCHEMAS: [Engine, number][] = [
  ...[11, 12, 13].map((version): [Engine, number] => ["sqlite", version]),
  ...[7, 8, 9].map((version): [Engine, number] => ["postgres", version]),
];

/** Migrates like a start, without background work. Returns a token. */
async function migrate(config: Config): Promise<string> {
  const app = await createApp(config);
  const { token } = await createToken(app.core, null, "usr_1", {});
  await app.stop();
  return token;
}

/** Blocks writes to the index. */
async function hold({ databaseUrl, dataFolder }: Config): Promise<() => Promise<void>> {
  if (databaseUrl === null) {
    const held = holdWrites(databaseOf(dataFolder));
    return async () => held.release();
  }
  const other = await openPostgres(databaseUrl);
  assert.ok(await other.claim("indexer"));
  return () => other.close();
}

const search = (server: TestApp, who: TestUser, q: string) =>
  send(server, who, "GET", `/v1/messages?q=${encodeURIComponent(q)}`);

async function textsOf(server: TestApp, who: TestUser, q: string): Promise<unknown[]> {
  const page = await read<Json>(search(server, who, q), 200);
  return (page.data as Json[]).map(({ text }) => text);
}

for (const [engine, version] of SCHEMAS) {
  test(`${engine}: after a migration from schema ${version} a search is 503 until the index is built, then finds each text once`, async (t) => {
    const config = await oldConfig(t, engine, version, rowsOf(), INDEXED);
    const token = await migrate(config);
    const me = { id: "usr_1", token, headers: { authorization: `Bearer ${token}` } };
    const change = async (server: TestApp) => {
      await say(server, me, OWN, "new red");
      await read(send(server, me, "PUT", `/v1/messages/${messageId(1)}`, { text: "first blue" }), 200);
      assert.equal((await send(server, me, "DELETE", `/v1/messages/${messageId(5)}`)).status, 204);
    };
    const release = await hold(config);
    const server = await startOn(t, config);
    try {
      const refused = await search(server, me, "red");
      assert.equal((await read<Json>(Promise.resolve(refused), 503)).code, "unavailable");
      assert.equal(refused.headers.get("retry-after"), "1");
      // On SQLite this lock blocks all writes.
      if (engine === "postgres") await change(server);
      assert.equal((await search(server, me, "red")).status, 503);
    } finally {
      await release();
    }
    if (engine === "sqlite") await change(server);
    assert.ok(await eventually(async () => (await search(server, me, "red")).status === 200));
    assert.deepEqual(await textsOf(server, me, "red"), ["new red", "edited red 東京", "old red"]);
    assert.deepEqual(await textsOf(server, me, "東京"), ["edited red 東京"]);
    assert.deepEqual(await textsOf(server, me, "first"), ["first blue"]);
    assert.deepEqual(await findIndexProblems(columnOf(config)), []);
  });
}
