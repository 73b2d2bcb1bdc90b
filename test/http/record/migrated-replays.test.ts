// Retries across an upgrade: the Idempotency-Key still returns the first result.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { type TestContext, test } from "node:test";
import { createToken } from "../../../src/core/people/tokens.ts";
import { startOn, upload } from "../../support/app.ts";
import { oldConfig, type Rows } from "../../support/old-databases.ts";
import { code, fieldsOf, read, send } from "../../support/people.ts";

/** The last schema in which the stored result of a key is the whole answer. */
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

const user_id = FILE.uploader_id;
const conversation = { conversation_id: FILE.conversation_id };

/** Returns a key as that version stored it. The result is the JSON of the contact, or the row of the file. */
function keyRow(key: string, asked: unknown[], result: string): Rows[number] {
  const hashes = { key_hash: sha256(key), fingerprint: sha256(JSON.stringify(asked)) };
  return ["idempotency", { user_id, ...hashes, result, until: Date.now() + 3_600_000 }];
}

/** A user, a contact and a file, the last two created with a key. */
const ROWS: Rows = [
  ["users", { id: user_id, username: "ann", username_key: "ann", ...conversation, created_at: 1 }],
  ["storage", { user_id, used: FILE.file_size }],
  ...[FILE, CONTACT].map(({ conversation_id }): Rows[number] => [
    "members",
    { conversation_id, user_id, joined_at: 1 },
  ]),
  [
    "contacts",
    {
      ...{ owner_id: user_id, id: CONTACT.id, username_key: "bob", phone_digits: "555", search_key: " bob" },
      ...{ conversation_id: CONTACT.conversation_id, version: 1, body: JSON.stringify(CONTACT) },
    },
  ],
  ["messages", { id: FILE.message_id, ...conversation, sender_id: user_id, created_at: 1000 }],
  ["attachments", { ...FILE, sha256: sha256("text"), blob_key: FILE.id }],
  ["small_files", { attachment_id: FILE.id, bytes: Buffer.from("text") }],
  ["grants", { user_id, attachment_id: FILE.id, ...conversation }],
  keyRow("the-contact", ["createContact", fieldsOf("bob")], JSON.stringify(JSON.stringify(CONTACT))),
  keyRow(
    "the-file",
    ["createAttachment", { filename: FILE.filename, type: "text/plain" }, sha256("text").toString("hex")],
    JSON.stringify(FILE),
  ),
];

async function upgraded(t: TestContext) {
  const server = await startOn(t, await oldConfig(t, "sqlite", OLD_VERSION, ROWS));
  const { token } = await createToken(server.app.core, null, FILE.uploader_id, {});
  const withKey = (key: string) => ({
    ...{ id: FILE.uploader_id, token },
    headers: { authorization: `Bearer ${token}`, "idempotency-key": key },
  });
  return { server, withKey };
}

test("a replay after an upgrade returns the contact created before", async (t) => {
  const { server, withKey } = await upgraded(t);
  const retry = (name: string) =>
    send(server, withKey("the-contact"), "POST", "/v1/contacts", fieldsOf(name));
  const answer = await retry("bob");
  assert.equal(answer.headers.get("idempotent-replayed"), "true");
  assert.deepEqual(await read(Promise.resolve(answer), 201), { ...CONTACT, profile_name: null });
  assert.equal(await code(retry("cyd"), 422), "idempotency_key_reused");
});

test("a replay after an upgrade returns the file uploaded before, and is 404 once it is deleted", async (t) => {
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
