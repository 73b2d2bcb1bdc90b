// A request whose first answer was lost before an upgrade is retried after it: the key still stands for what was done.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { createToken } from "../../../src/core/people/tokens.ts";
import { startOn, testConfig, upload } from "../../support/app.ts";
import { code, fieldsOf, read, send } from "../../support/people.ts";

const MIGRATIONS = new URL("../../../src/db/engines/sqlite/migrations/", import.meta.url);
/** The last schema in which the result of a key was all that had been answered. */
const OLD_VERSION = 10;

const sha256 = (text: string) => hash("sha256", text, "buffer");
const id = (kind: string, number: number) => `${kind}_${String(number).padStart(26, "0")}`;

const CONTACT = {
  ...{ id: id("con", 1), ...fieldsOf("bob"), avatar_url: null, display_name: null },
  ...{ conversation_id: id("cnv", 2), last_active_at: null, created_at: 1 },
};
const FILE = {
  ...{ id: id("att", 1), conversation_id: id("cnv", 1), message_id: id("msg", 1), uploader_id: id("usr", 1) },
  ...{ filename: "a.txt", file_type: "text/plain", file_size: 4, created_at: 1000, version: 1 },
};

/** A database as the version before left it: a user, a contact and a file, both created with a key. */
async function layOld(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const db = new DatabaseSync(join(folder, "parley.db"));
  const names = (await readdir(MIGRATIONS)).sort().slice(0, OLD_VERSION);
  for (const name of names) db.exec(await readFile(new URL(name, MIGRATIONS), "utf8"));
  const insert = (table: string, row: Record<string, SQLInputValue>) => {
    const places = Object.keys(row).map(() => "?");
    db.prepare(`INSERT INTO ${table} (${Object.keys(row)}) VALUES (${places})`).run(...Object.values(row));
  };
  const user_id = FILE.uploader_id;
  const conversation = { conversation_id: FILE.conversation_id };
  insert("users", { id: user_id, username: "ann", username_key: "ann", ...conversation, created_at: 1 });
  insert("storage", { user_id, used: FILE.file_size });
  for (const conversation_id of [FILE.conversation_id, CONTACT.conversation_id])
    insert("members", { conversation_id, user_id, joined_at: 1 });
  insert("contacts", {
    ...{ owner_id: user_id, id: CONTACT.id, username_key: "bob", phone_digits: "555", search_key: " bob" },
    ...{ conversation_id: CONTACT.conversation_id, version: 1, body: JSON.stringify(CONTACT) },
  });
  insert("messages", { id: FILE.message_id, ...conversation, sender_id: user_id, created_at: 1000 });
  insert("attachments", { ...FILE, sha256: sha256("text"), blob_key: FILE.id });
  insert("small_files", { attachment_id: FILE.id, bytes: Buffer.from("text") });
  insert("grants", { user_id, attachment_id: FILE.id, ...conversation });
  const addKey = (key: string, asked: unknown[], result: string) =>
    insert("idempotency", {
      ...{ user_id, key_hash: sha256(key), fingerprint: sha256(JSON.stringify(asked)) },
      ...{ result, until: Date.now() + 3_600_000 },
    });
  // As that version wrote them: a contact as the JSON that was answered, a file as its row.
  addKey("the-contact", ["createContact", fieldsOf("bob")], JSON.stringify(JSON.stringify(CONTACT)));
  const asked = { filename: FILE.filename, type: "text/plain" };
  addKey("the-file", ["createAttachment", asked, sha256("text").toString("hex")], JSON.stringify(FILE));
  db.exec(`PRAGMA user_version = ${OLD_VERSION}`);
  db.close();
}

async function upgraded(t: TestContext) {
  const config = await testConfig(t);
  await layOld(config.dataFolder);
  const server = await startOn(t, config);
  const { token } = await createToken(server.app.core, null, FILE.uploader_id, {});
  const withKey = (key: string) => ({
    ...{ id: FILE.uploader_id, token },
    headers: { authorization: `Bearer ${token}`, "idempotency-key": key },
  });
  return { server, withKey };
}

test("a replay after the upgrade gets the contact that was created before", async (t) => {
  const { server, withKey } = await upgraded(t);
  const retry = (name: string) =>
    send(server, withKey("the-contact"), "POST", "/v1/contacts", fieldsOf(name));
  const answer = await retry("bob");
  assert.equal(answer.headers.get("idempotent-replayed"), "true");
  assert.deepEqual(await read(Promise.resolve(answer), 201), CONTACT);
  assert.equal(await code(retry("cyd"), 422), "idempotency_key_reused");
});

test("a replay after the upgrade gets the file that was uploaded before, and 404 once it is deleted", async (t) => {
  const { server, withKey } = await upgraded(t);
  const user = withKey("the-file");
  const retry = () => upload(server.url, user, new File(["text"], "a.txt", { type: "text/plain" }));
  const answer = await retry();
  assert.equal(answer.headers.get("idempotent-replayed"), "true");
  const made = await read<typeof FILE>(Promise.resolve(answer), 201);
  assert.deepEqual([made.id, made.message_id, made.filename], [FILE.id, FILE.message_id, FILE.filename]);
  const other = upload(server.url, user, new File(["other"], "a.txt", { type: "text/plain" }));
  assert.equal(await code(other, 422), "idempotency_key_reused");
  assert.equal((await send(server, user, "DELETE", `/v1/attachments/${FILE.id}`)).status, 204);
  assert.equal(await code(retry(), 404), "attachment_not_found");
});
