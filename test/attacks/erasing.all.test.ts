// Large deletes: hidden at once, erased in small transactions while others write.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { Limits } from "../../src/config/limits.ts";
import { TABLES } from "../../src/db/queries/upkeep/tables.ts";
import { raw, sql, type Value } from "../../src/db/sql.ts";
import { startOn, type TestApp, type TestUser, testConfig } from "../support/app.ts";
import { administer, testDatabase } from "../support/engines/postgres.ts";
import { eventually } from "../support/files-on-disk.ts";
import { add, code, filesOf, give, type Person, person, read, send, used } from "../support/people.ts";

const FILES = 3000;
const CONTACTS = 1000;
/** A step erases 250 files, each with a grant, an attachment and bytes; and the rows that the delete itself erases. */
const ROWS_OF_A_STEP = 3 * 250 + 20;
/** How far a reader's count may drop between two reads: the writer may do several steps meanwhile, but not all. */
const ROWS_BETWEEN_LOOKS = 4 * ROWS_OF_A_STEP;

const ERASED = `attachments grants small_files messages members conversations places marks contacts events
  idempotency`.split(/\s+/);

interface Place {
  server: TestApp;
  /** Runs SQL on a separate connection. */
  execute(sql: string): Promise<unknown>;
  /**
   * Counts the rows erased per transaction. The returned function stops counting, checks the largest count and returns
   * it.
   */
  countErased(): Promise<() => Promise<number>>;
  /** Restarts the server on the same data. */
  restart(): Promise<TestApp>;
}

async function onSqlite(t: TestContext, limits: Partial<Limits>): Promise<Place> {
  const config = await testConfig(t, limits);
  const server = await startOn(t, config);
  const { db } = server.app.core;
  const sum = ERASED.map((table) => `(SELECT COUNT(*) FROM ${table})`).join(" + ");
  const rows = async () => (await db.get<{ rows: number }>(sql`SELECT ${raw(sum)} AS rows`))!.rows;
  return {
    server,
    async execute(sql) {
      const own = new DatabaseSync(join(config.dataFolder, "parley.db"), { timeout: 5000 });
      own.exec(sql);
      own.close();
    },
    // The eraser starts a step only after this thread has heard of the previous one.
    async countErased() {
      let last = await rows();
      let most = 0;
      let ended = false;
      const counting = (async () => {
        while (!ended) {
          const now = await rows();
          most = Math.max(most, last - now);
          last = now;
          await setImmediate();
        }
      })();
      return async () => {
        ended = true;
        await counting;
        assert.ok(most <= ROWS_BETWEEN_LOOKS, `${most} rows at once`);
        return most;
      };
    },
    async restart() {
      await server.app.stop();
      return startOn(t, config);
    },
  };
}

async function onPostgres(t: TestContext, limits: Partial<Limits>): Promise<Place> {
  const databaseUrl = await testDatabase(t);
  const config = { ...(await testConfig(t, limits)), databaseUrl, secrets: ["s".repeat(32)] };
  const server = await startOn(t, config);
  const execute = (sql: string) => administer(databaseUrl, sql);
  return {
    server,
    execute,
    async countErased() {
      const triggers = ERASED.map(
        (table) =>
          `CREATE TRIGGER count_erased AFTER DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION count_erased()`,
      );
      await execute(`CREATE TABLE erased (transaction xid8);
        CREATE FUNCTION count_erased() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO erased VALUES (pg_current_xact_id()); RETURN NULL; END $$; ${triggers.join("; ")}`);
      return async () => {
        const sql = "SELECT COUNT(*)::int FROM erased GROUP BY transaction ORDER BY 1 DESC LIMIT 1";
        const most = Number((await execute(sql))[0]);
        assert.ok(most <= ROWS_OF_A_STEP, `${most} rows in one transaction`);
        return most;
      };
    },
    async restart() {
      await server.app.stop();
      return startOn(t, config);
    },
  };
}

async function addRows({ app }: TestApp, name: string, rows: Record<string, Value>[]): Promise<void> {
  const table = TABLES.find((each) => each.name === name)!;
  const values = rows.map((row) => table.columns.map((column) => row[column] ?? null));
  for (let i = 0; i < values.length; i += 500)
    await app.core.db.write("importRows", { table, rows: values.slice(i, i + 500) });
}

/** Adds messages with a one-byte file each to these conversations, visible to these users. */
async function addFiles(
  place: Place,
  uploader: Person,
  conversations: readonly string[],
  members: readonly Person[],
): Promise<string[]> {
  const { server } = place;
  const { newId } = server.app.core;
  const files = conversations.map((conversation_id) => ({
    ...{ id: newId("att"), conversation_id, message_id: newId("msg"), uploader_id: uploader.id },
    ...{ filename: "a" },
    ...{ file_type: "text/plain", file_size: 1, sha256: hash("sha256", "a", "buffer") },
    ...{ crc32: crc32("a"), created_at: 1, version: 1, unscanned: 0 },
  }));
  const attachments = files.map((file) => ({ ...file, blob_key: file.id }));
  await addRows(server, "attachments", attachments);
  const bytes = Buffer.from("a");
  await addRows(
    server,
    "small_files",
    files.map(({ id }) => ({ attachment_id: id, bytes })),
  );
  const messages = files.map((file) => ({
    ...{ ...file, id: file.message_id, sender_id: uploader.id, type: "text", has_files: 1, has_reactions: 0 },
  }));
  await addRows(server, "messages", messages);
  const lastIds = new Map(messages.map(({ conversation_id, id }) => [conversation_id, id]));
  const all = [...lastIds].map(([id, last_id]) => ({ id, last_id }));
  await addRows(server, "conversations", all);
  for (const { id: user_id } of members) {
    await addRows(
      server,
      "grants",
      files.map(({ id, conversation_id }) => ({ user_id, attachment_id: id, conversation_id })),
    );
    await addRows(
      server,
      "places",
      all.map(({ id, last_id }) => ({
        ...{ user_id, conversation_id: id, position: last_id.slice(4), maybe_unread: 0 },
        ...{ is_pinned: 0, is_archived: 0 },
      })),
    );
    await addRows(
      server,
      "marks",
      all.map(({ id, last_id }) => ({
        ...{ user_id, conversation_id: id, last_read_id: last_id, disclosed_read_id: "", version: 1 },
      })),
    );
  }
  await place.execute(`UPDATE storage SET used = used + ${files.length} WHERE user_id = '${uploader.id}'`);
  return files.map(({ id }) => id);
}

/** Ann and Bob share a conversation in which Ann sent thousands of files. */
async function share(place: Place) {
  const { server } = place;
  const [ann, bob] = [await person(server, "ann"), await person(server, "bob")];
  const toBob = await add(server, ann, "bob");
  const toAnn = await add(server, bob, "ann");
  const conversation = toBob.conversation_id;
  const files = await addFiles(place, ann, Array<string>(FILES).fill(conversation), [ann, bob]);
  return { ann, bob, toBob, toAnn, conversation, files };
}

async function remains({ app }: TestApp): Promise<boolean> {
  const begun = sql`SELECT 1 AS one FROM departing UNION ALL SELECT 1 FROM erasing LIMIT 1`;
  return (await app.core.db.get(begun)) !== undefined;
}

/** Creates contacts as another user until the erasing ends. Returns how many creates were acknowledged before that. */
async function writeMeanwhile(server: TestApp, other: Person): Promise<number> {
  let acknowledged = 0;
  while (await remains(server)) {
    await add(server, other, `name ${acknowledged}`);
    if (await remains(server)) acknowledged++;
  }
  return acknowledged;
}

const linkOf = async (server: TestApp, who: TestUser, id: string) =>
  (await read<{ file_url: string }>(send(server, who, "GET", `/v1/attachments/${id}`), 200)).file_url;

const open = async (url: string) => {
  const answer = await fetch(url);
  await answer.body?.cancel();
  return answer.status;
};

async function seesNone(
  server: TestApp,
  who: TestUser,
  ids: readonly string[],
  conversation: string,
): Promise<void> {
  assert.deepEqual(await filesOf(server, who), []);
  const list = `/v1/attachments?conversation_id=${conversation}`;
  assert.equal(await code(send(server, who, "GET", list), 404), "conversation_not_found");
  for (const id of [ids[0]!, ids.at(-1)!, ids[FILES / 2]!]) {
    for (const path of [`/v1/attachments/${id}`, `/files/${id}/a`])
      assert.equal(await code(send(server, who, "GET", path), 404), "attachment_not_found");
  }
}

async function rowsOf({ app }: TestApp, condition: Record<string, string>): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [table, where] of Object.entries(condition)) {
    const counted = sql<{ count: number }>`SELECT COUNT(*) AS count FROM ${raw(table)} WHERE ${raw(where)}`;
    const { count } = (await app.core.db.get(counted))!;
    if (count > 0) found[table] = count;
  }
  return found;
}

for (const [engine, start] of Object.entries({ sqlite: onSqlite, postgres: onPostgres })) {
  test(`${engine}: deleting a contact with ${FILES} files hides them at once and erases them in steps`, async (t) => {
    const place = await start(t, {});
    const { server } = place;
    const { ann, bob, toBob, toAnn, conversation, files } = await share(place);
    const other = await person(server, "other");
    const link = await linkOf(server, ann, files[7]!);
    const linkOfBob = await linkOf(server, bob, files[7]!);
    const stop = await place.countErased();
    assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
    const writing = writeMeanwhile(server, other);
    await seesNone(server, ann, files, conversation);
    assert.equal(await open(link), 404, "it was made for her");
    assert.equal(await open(linkOfBob), 200, "the other one keeps it");
    let between = await writing;
    assert.equal(await used(server, ann), 0);
    assert.equal((await filesOf(server, bob)).length, 100);
    // The last member leaves, so everything of the conversation is erased.
    assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${toAnn.id}`)).status, 204);
    await seesNone(server, bob, files, conversation);
    assert.equal(await open(linkOfBob), 404, "nobody sees it any more");
    between += await writeMeanwhile(server, await person(server, "another"));
    assert.ok(between > 0, "others write while the eraser is at work");
    const most = await stop();
    const here = `conversation_id = '${conversation}'`;
    const left = await rowsOf(server, {
      ...{ grants: here, attachments: here, messages: here, members: here, departures: here },
      ...{ places: here, marks: here, conversations: `id = '${conversation}'` },
      small_files: "attachment_id LIKE 'att%'",
    });
    assert.deepEqual(left, {});
    t.diagnostic(`at most ${most} rows at once; ${between} writes of others in between`);
  });

  test(`${engine}: erasing a user with ${CONTACTS} contacts hides them at once and erases them in steps`, async (t) => {
    const place = await start(t, {});
    const { server } = place;
    const { newId } = server.app.core;
    const { ann, bob, toAnn, conversation } = await share(place);
    const admin = await server.user({ scopes: ["admin"] });
    const other = await person(server, "other");
    const own = Array.from({ length: CONTACTS }, () => newId("cnv"));
    await addRows(
      server,
      "contacts",
      own.map((conversation_id, i) => ({
        ...{ owner_id: ann.id, id: newId("con"), username_key: `stranger ${i}`, phone_digits: "555" },
        ...{ search_key: "", conversation_id, version: 1, body: "{}" },
      })),
    );
    await addRows(
      server,
      "members",
      own.map((conversation_id) => ({
        ...{ conversation_id, user_id: ann.id, joined_at: 1, since_id: "", contact_joined: 0 },
      })),
    );
    const sent = await addFiles(place, ann, own, [ann]);
    const keys = Array.from({ length: CONTACTS }, (_, i) => ({
      ...{
        user_id: ann.id,
        key_hash: Buffer.from(String(i)),
        fingerprint: Buffer.alloc(32),
        result: "{}",
        until: 9e15,
      },
    }));
    await addRows(server, "idempotency", keys);
    const link = await linkOf(server, ann, sent[7]!);
    const stop = await place.countErased();
    assert.equal((await send(server, admin, "DELETE", `/v1/users/${ann.id}`)).status, 204);
    const writing = writeMeanwhile(server, other);
    assert.equal(await code(send(server, admin, "GET", `/v1/users/${ann.id}`), 404), "user_not_found");
    assert.equal(await code(send(server, ann, "GET", "/v1/me"), 401), "invalid_token");
    assert.equal(await open(link), 404);
    const seen = await read<{ last_active_at: unknown }>(
      send(server, bob, "GET", `/v1/contacts/${toAnn.id}`),
      200,
    );
    assert.equal(seen.last_active_at, null);
    await person(server, "ann");
    await give(server, bob, conversation, "while she is being erased");
    const between = await writing;
    assert.ok(between > 0, "others write while the eraser is at work");
    const most = await stop();
    assert.equal((await filesOf(server, bob)).length, 100);
    const hers = `user_id = '${ann.id}'`;
    const left = await rowsOf(server, {
      ...{ grants: hers, members: hers, storage: hers, idempotency: hers, activity: hers, tokens: hers },
      ...{ contacts: `owner_id = '${ann.id}'`, events: `recipient_id = '${ann.id}'` },
      ...{ places: hers, marks: hers, conversations: `id IN (${own.map((id) => `'${id}'`)})` },
      ...{
        attachments: `conversation_id <> '${conversation}'`,
        messages: `conversation_id <> '${conversation}'`,
      },
    });
    assert.deepEqual(left, {});
    t.diagnostic(`at most ${most} rows at once; ${between} writes of others in between`);
  });

  test(`${engine}: the next start continues the erasing that a stop interrupted`, async (t) => {
    const place = await start(t, { erasedRowsAtOnce: 1 });
    const { ann, bob, toBob, files, conversation } = await share(place);
    const hers = { grants: `user_id = '${ann.id}'`, contacts: `owner_id = '${ann.id}'` };
    assert.equal((await send(place.server, ann, "DELETE", `/v1/contacts/${toBob.id}`)).status, 204);
    const again = await place.restart();
    const { grants } = await rowsOf(again, hers);
    assert.ok(grants! > FILES / 2, `${grants} of ${FILES} grants were left`);
    await seesNone(again, ann, files, conversation);
    const admin = await again.user({ scopes: ["admin"] });
    // On a busy machine the transactions of the eraser can make all attempts of one request fail.
    for (const { id } of [ann, bob])
      assert.ok(
        await eventually(async () => (await send(again, admin, "DELETE", `/v1/users/${id}`)).status === 204),
      );
    await again.app.stop();
    const last = await startOn(t, {
      ...again.config,
      limits: { ...again.config.limits, erasedRowsAtOnce: 250 },
    });
    assert.ok(await remains(last), "the users are still being erased");
    while (await remains(last)) await sleep(20);
    const left = await rowsOf(last, {
      ...{ ...hers, attachments: "id <> ''", small_files: "attachment_id <> ''", messages: "id <> ''" },
      ...{ conversations: "id <> ''", places: hers.grants, marks: hers.grants },
      members: `user_id IN ('${ann.id}', '${bob.id}')`,
    });
    assert.deepEqual(left, {});
  });
}
