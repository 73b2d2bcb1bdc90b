// Uploads and messages while a member leaves or is erased: no row without bytes, and no bytes without a row.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { S3Settings } from "../../../src/config/parse.ts";
import { deleteUser } from "../../../src/core/people/users.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { startOn, type TestApp, testConfig, upload } from "../../support/app.ts";
import { testDatabase } from "../../support/engines/postgres.ts";
import { contentOf, noS3, testBucket } from "../../support/engines/s3.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { add, filesOf, type Person, person, send } from "../../support/people.ts";
import { scaled } from "../../support/scale.ts";

/** 200 rounds in the long version (PARLEY_FAULTS=long). */
const ROUNDS = scaled(8, 200);
/** With a folder as the store, one is kept in the database; the others are in the store. */
const SIZES = [10, 40_000, 100_000];

interface Place {
  nodes: readonly [TestApp, TestApp];
  /** Returns the keys of all files in the store. */
  stored(): Promise<string[]>;
}

async function onSqlite(t: TestContext): Promise<Place> {
  const server = await startOn(t, await testConfig(t));
  const stored = async () => (await storedFiles(server.config)).map((path) => basename(path));
  return { nodes: [server, server], stored };
}

async function onPostgres(t: TestContext): Promise<Place> {
  const store: S3Settings = testBucket(t);
  const shared = { databaseUrl: await testDatabase(t), store, secrets: ["s".repeat(32)] };
  const node = async () => startOn(t, { ...(await testConfig(t)), ...shared });
  const stored = async () => (await contentOf(store)).objects;
  return { nodes: [await node(), await node()], stored };
}

/** What one of the two does while both send: deletes the contact or the user. */
const departures = {
  "the receiver deletes the contact": (node: TestApp, receiver: Person, id: string) =>
    leave(node, receiver, id),
  "the sender deletes the contact": (node: TestApp, _: Person, __: string, sender: Person, own: string) =>
    leave(node, sender, own),
  "the receiver is erased": (node: TestApp, receiver: Person) => erase(node, receiver),
  "the sender is erased": (node: TestApp, _: Person, __: string, sender: Person) => erase(node, sender),
};

async function leave(node: TestApp, who: Person, contact: string): Promise<void> {
  assert.equal((await send(node, who, "DELETE", `/v1/contacts/${contact}`)).status, 204);
}

/** Sends a message with text and a file. */
function write(node: TestApp, who: Person, file: File, fields: object): Promise<Response> {
  const body = new FormData();
  for (const [name, value] of Object.entries({ ...fields, text: "with a file" })) body.set(name, value);
  body.set("file", file);
  return fetch(`${node.url}/v1/messages`, { method: "POST", headers: who.headers, body });
}

/** Repeats an erasure that was refused for too many conflicts. */
async function erase(node: TestApp, who: Person): Promise<void> {
  const erased = await eventually(() =>
    deleteUser(node.app.core, null, who.id).then(
      () => true,
      (error) => {
        if (error.code === "user_not_found") return true;
        if (error.code !== "unavailable") throw error;
        return false;
      },
    ),
  );
  assert.ok(erased);
}

/** Each query finds rows that must not exist. */
const WRONG = [
  `SELECT a.id FROM attachments a WHERE NOT EXISTS (SELECT 1 FROM grants g JOIN members m
     ON m.user_id = g.user_id AND m.conversation_id = a.conversation_id
     WHERE g.attachment_id = a.id AND g.conversation_id = a.conversation_id)`,
  `SELECT g.attachment_id AS id FROM grants g WHERE NOT EXISTS (SELECT 1 FROM attachments a WHERE a.id = g.attachment_id)
     OR NOT EXISTS (SELECT 1 FROM members m WHERE m.conversation_id = g.conversation_id AND m.user_id = g.user_id)`,
  `SELECT a.id FROM attachments a WHERE (a.blob_key = a.id)
     <> EXISTS (SELECT 1 FROM small_files s WHERE s.attachment_id = a.id)`,
  "SELECT attachment_id AS id FROM small_files WHERE attachment_id NOT IN (SELECT id FROM attachments)",
  "SELECT id FROM messages WHERE conversation_id NOT IN (SELECT conversation_id FROM members)",
  `SELECT b.id FROM message_bodies b WHERE (b.text IS NOT NULL OR b.data IS NOT NULL)
     AND b.id NOT IN (SELECT body_id FROM messages WHERE body_id IS NOT NULL)`,
  "SELECT id FROM messages WHERE body_id IS NOT NULL AND body_id NOT IN (SELECT id FROM message_bodies)",
  `SELECT w.user_id AS id FROM withheld w WHERE NOT EXISTS (SELECT 1 FROM members m
     WHERE m.conversation_id = w.conversation_id AND m.user_id = w.user_id)`,
  `SELECT p.user_id AS id FROM (SELECT user_id, conversation_id FROM places UNION ALL
     SELECT user_id, conversation_id FROM marks) AS p WHERE NOT EXISTS (SELECT 1 FROM members m
     WHERE m.conversation_id = p.conversation_id AND m.user_id = p.user_id)`,
  "SELECT user_id AS id FROM members WHERE user_id NOT IN (SELECT id FROM users)",
  `SELECT s.user_id AS id FROM storage s WHERE s.used <> COALESCE((SELECT SUM(a.file_size) FROM grants g
     JOIN attachments a ON a.id = g.attachment_id AND a.uploader_id = g.user_id WHERE g.user_id = s.user_id), 0)`,
];

async function rowsAreRight({ nodes: [node] }: Place): Promise<void> {
  for (const wrong of WRONG) assert.deepEqual(await node.app.core.db.all(raw(wrong)), [], wrong);
}

/** Checks, once the eraser has run, that the store has exactly the files of the rows. */
async function storeIsRight({ nodes: [node], stored }: Place): Promise<void> {
  const { db } = node.app.core;
  const known = async () => {
    const rows = await db.all<{ key: string }>(
      sql`SELECT blob_key AS key FROM attachments WHERE blob_key <> id`,
    );
    return rows.map(({ key }) => key).sort();
  };
  const equal = async () => JSON.stringify(await known()) === JSON.stringify((await stored()).sort());
  if (!(await eventually(equal))) assert.deepEqual((await stored()).sort(), await known());
  assert.deepEqual(await db.all(sql`SELECT blob_key FROM intents`), []);
}

const engines = [
  ["sqlite", onSqlite, false],
  ["postgres", onPostgres, noS3],
] as const;

for (const [engine, start, skip] of engines) {
  test(`${engine}: uploads while a member leaves or is erased keep rows and bytes consistent`, {
    skip,
  }, async (t) => {
    const place = await start(t);
    const [here, there] = place.nodes;
    const statuses: Record<string, number> = {};
    for (let round = 0; round < ROUNDS; round++) {
      const receiver = await person(here, `receiver ${round}`);
      const sender = await person(here, `sender ${round}`);
      const toSender = await add(here, receiver, sender.name);
      const toReceiver = await add(here, sender, receiver.name);
      const [what, depart] = Object.entries(departures)[round % 4]!;
      // From then on only the sender sees new messages.
      if (round % 8 > 3) await send(here, receiver, "PUT", `/v1/contacts/${toSender.id}/block`);
      const files = SIZES.flatMap((size) => [randomBytes(size), randomBytes(size)]);
      const uploads = files.map(async (bytes, i) => {
        const node = i % 2 ? here : there;
        const file = new File([bytes], `${i}`);
        const fields = { conversation_id: toSender.conversation_id };
        const answer = await (i < 3
          ? upload(node.url, sender, file, fields)
          : write(node, sender, file, fields));
        await answer.body?.cancel();
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        const refused = what.startsWith("the sender") ? [201, 401, 404] : [201];
        assert.ok(refused.includes(answer.status), `${answer.status} when ${what}`);
        return answer.status === 201;
      });
      await sleep(Math.floor(round / 4) % 12);
      const departed = depart(there, receiver, toSender.id, sender, toReceiver.id);
      const sent = await Promise.all(uploads);
      await departed;
      await rowsAreRight(place);
      if (what === "the receiver deletes the contact") {
        assert.deepEqual(await filesOf(here, receiver), []);
        assert.equal((await filesOf(here, sender)).length, sent.length, "the sender has all that was taken");
      }
      const remaining = what.startsWith("the sender") ? receiver : sender;
      for (const { id, filename } of await filesOf(here, remaining)) {
        const got = await send(here, remaining, "GET", `/files/${id}/${filename}`);
        assert.ok(
          Buffer.from(await got.arrayBuffer()).equals(files[Number(filename)]!),
          `${filename} when ${what}`,
        );
      }
      if (round % 20 === 19) await storeIsRight(place);
      await Promise.all([erase(here, receiver), erase(there, sender)]);
    }
    await rowsAreRight(place);
    await storeIsRight(place);
    assert.deepEqual(await place.stored(), []);
    t.diagnostic(`${ROUNDS} rounds: ${JSON.stringify(statuses)}`);
  });
}
