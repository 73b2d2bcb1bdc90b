// In early schemas, two users who had each other as contacts had a conversation each. The migration merges each pair
// into the older conversation.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { createToken } from "../../../src/core/people/tokens.ts";
import { raw, sql } from "../../../src/db/sql.ts";
import { createIds } from "../../../src/util/ids.ts";
import { startOn, type TestApp } from "../../support/app.ts";
import { eventually } from "../../support/files-on-disk.ts";
import { type Engine, oldConfig, type Rows } from "../../support/old-databases.ts";
import { type Contact, filesOf, give, type Person, read, send, used } from "../../support/people.ts";

/** The last versions in which users did not share conversations. */
const BEFORE = { sqlite: 5, postgres: 1 };
const MADE_AT = Date.UTC(2026, 0, 1);

interface OldContact {
  owner: string;
  name: string;
  blocked?: boolean;
}

/** In order of creation. Each owner sent one file there, and one to the notes. */
const CONTACTS: OldContact[] = [
  { owner: "ann", name: "bob" },
  { owner: "bob", name: "ann" },
  { owner: "cyd", name: "dan", blocked: true },
  { owner: "dan", name: "cyd" },
  { owner: "eve", name: "fay" },
  { owner: "fay", name: "eve", blocked: true },
  { owner: "gil", name: "hal", blocked: true },
  { owner: "hal", name: "gil", blocked: true },
  { owner: "ivy", name: "ann" },
  { owner: "ivy", name: "nobody" },
  { owner: "ivy", name: "ivy" },
];
const NAMES = [...new Set(CONTACTS.map(({ owner }) => owner))];

/**
 * For each user and contact: the conversation that they share, the files in it, and whether the contact is shown as
 * active.
 */
const EXPECTED: Record<string, { name: string; with: string; sees: string[]; isActive: boolean }[]> = {
  ann: [{ name: "bob", with: "ann>bob", sees: ["ann>bob", "bob>ann"], isActive: true }],
  bob: [{ name: "ann", with: "ann>bob", sees: ["ann>bob", "bob>ann"], isActive: true }],
  cyd: [{ name: "dan", with: "cyd>dan", sees: ["cyd>dan"], isActive: true }],
  dan: [{ name: "cyd", with: "cyd>dan", sees: ["cyd>dan", "dan>cyd"], isActive: false }],
  eve: [{ name: "fay", with: "eve>fay", sees: ["eve>fay", "fay>eve"], isActive: false }],
  fay: [{ name: "eve", with: "eve>fay", sees: ["fay>eve"], isActive: true }],
  gil: [{ name: "hal", with: "gil>hal", sees: ["gil>hal"], isActive: false }],
  hal: [{ name: "gil", with: "gil>hal", sees: ["hal>gil"], isActive: false }],
  ivy: [
    { name: "ann", with: "ivy>ann", sees: ["ivy>ann"], isActive: false },
    { name: "nobody", with: "ivy>nobody", sees: ["ivy>nobody"], isActive: false },
    { name: "ivy", with: "ivy>ivy", sees: ["ivy>ivy"], isActive: false },
  ],
};

interface Old {
  rows: Rows;
  people: Map<string, string>;
  /** Keys are "owner>name". */
  conversations: Map<string, string>;
}

function oldDatabase(): Old {
  let now = MADE_AT;
  const newId = createIds(
    () => now,
    (bytes) => void bytes.fill(7),
  );
  const rows: Rows = [];
  const people = new Map(NAMES.map((name) => [name, newId("usr")]));
  const conversations = new Map<string, string>();
  const upload = (uploader: string, conversation: string, filename: string) => {
    const [id, message] = [newId("att"), newId("msg")];
    const sha256 = createHash("sha256").update(filename).digest();
    rows.push(
      ["messages", { id: message, conversation_id: conversation, sender_id: uploader, created_at: now }],
      [
        "attachments",
        {
          id,
          conversation_id: conversation,
          message_id: message,
          uploader_id: uploader,
          filename,
          file_type: "text/plain",
          file_size: filename.length,
          sha256,
          blob_key: id,
          created_at: now,
          version: 1,
          crc32: crc32(filename),
        },
      ],
      ["small_files", { attachment_id: id, bytes: Buffer.from(filename) }],
      ["grants", { user_id: uploader, attachment_id: id, conversation_id: conversation }],
    );
  };
  for (const [name, id] of people) {
    const notes = newId("cnv");
    const none = { phone_number: null, display_name: null, avatar_url: null };
    rows.push(
      ["users", { id, username: name, username_key: name, ...none, conversation_id: notes, created_at: now }],
      ["members", { conversation_id: notes, user_id: id, joined_at: now }],
    );
    upload(id, notes, "notes");
  }
  for (const { owner, name, blocked } of CONTACTS) {
    now += 60_000;
    const [id, conversation, ownerId] = [newId("con"), newId("cnv"), people.get(owner)!];
    conversations.set(`${owner}>${name}`, conversation);
    rows.push(...contactRows({ owner, name, blocked: blocked === true }, { id, conversation, ownerId }, now));
  }
  // All files are newer than all contacts. Files to later contacts come first.
  for (const { owner, name } of [...CONTACTS].reverse()) {
    now += 60_000;
    upload(people.get(owner)!, conversations.get(`${owner}>${name}`)!, `${owner}>${name}`);
  }
  return { rows, people, conversations };
}

function contactRows(
  { name, blocked }: OldContact,
  { id, conversation, ownerId }: { id: string; conversation: string; ownerId: string },
  at: number,
): Rows {
  const body = JSON.stringify({
    id,
    username: name,
    phone_number: "555",
    avatar_url: null,
    display_name: oddName(conversation),
    conversation_id: conversation,
    last_active_at: null,
    created_at: Math.floor(at / 1000),
  });
  const found = { username_key: name, phone_digits: "555", search_key: ` ${name}` };
  const more = { conversation_id: conversation, blocked_at: blocked ? at : null, version: 1, body };
  return [
    ["contacts", { owner_id: ownerId, id, ...found, ...more }],
    ["members", { conversation_id: conversation, user_id: ownerId, joined_at: at }],
  ];
}

/** Returns text that looks like the JSON member that the migration replaces. */
function oddName(conversation: string): string {
  return `","conversation_id":"${conversation}","x":"\\`;
}

async function signIn(server: TestApp, people: Old["people"]): Promise<Map<string, Person>> {
  const signedIn = new Map<string, Person>();
  for (const [name, id] of people) {
    const { token } = await createToken(server.app.core, null, id, {});
    signedIn.set(name, { id, name, token, headers: { authorization: `Bearer ${token}` } });
  }
  return signedIn;
}

type Shown = Contact & { username: string; display_name: string };

async function contactsOf(server: TestApp, who: Person): Promise<Shown[]> {
  return (await read<{ data: Shown[] }>(send(server, who, "GET", "/v1/contacts"), 200)).data.reverse();
}

async function filesIn(server: TestApp, who: Person, conversation: string): Promise<string[]> {
  const path = `/v1/attachments?conversation_id=${conversation}`;
  const { data } = await read<{ data: { id: string; filename: string }[] }>(
    send(server, who, "GET", path),
    200,
  );
  for (const { id, filename } of data) {
    const file = await send(server, who, "GET", `/files/${id}/${encodeURIComponent(filename)}`);
    assert.equal(await file.text(), filename);
  }
  return data.map((each) => each.filename);
}

for (const [engine, version] of Object.entries(BEFORE) as [Engine, number][]) {
  test(`${engine}: pairs of conversations are merged, and each user sees the files that were not blocked`, async (t) => {
    const { rows, people, conversations } = oldDatabase();
    const server = await startOn(t, await oldConfig(t, engine, version, rows));
    const users = await signIn(server, people);
    for (const [name, who] of users) {
      const contacts = await contactsOf(server, who);
      const expected = EXPECTED[name]!;
      assert.deepEqual(
        contacts.map((each) => [each.username, each.conversation_id, each.display_name]),
        expected.map((each) => [
          each.name,
          conversations.get(each.with),
          oddName(conversations.get(`${name}>${each.name}`)!),
        ]),
      );
      for (const [i, { sees }] of expected.entries()) {
        const seen = await filesIn(server, who, contacts[i]!.conversation_id);
        assert.deepEqual(seen.sort(), sees, `what ${name} sees`);
      }
      const all = ["notes", ...expected.flatMap(({ sees }) => sees)].sort();
      assert.deepEqual((await filesOf(server, who)).map(({ filename }) => filename).sort(), all);
      const sent = all.filter((each) => each === "notes" || each.startsWith(`${name}>`));
      assert.equal(await used(server, who), sent.join("").length);
    }
    const activity = async () => {
      const found: unknown[] = [];
      for (const [name, who] of users) {
        for (const each of await contactsOf(server, who)) {
          found.push([name, each.username, each.last_active_at !== null]);
        }
      }
      return found;
    };
    const wanted = Object.entries(EXPECTED).flatMap(([name, each]) =>
      each.map((e) => [name, e.name, e.isActive]),
    );
    await eventually(async () => JSON.stringify(await activity()) === JSON.stringify(wanted));
    assert.deepEqual(await activity(), wanted, "whose activity each user sees");

    const [ann, bob] = [users.get("ann")!, users.get("bob")!];
    const shared = conversations.get("ann>bob")!;
    assert.equal(
      (await send(server, bob, "GET", `/v1/attachments?conversation_id=${conversations.get("bob>ann")}`))
        .status,
      404,
    );
    await give(server, bob, shared, "new");
    assert.deepEqual(await filesIn(server, ann, shared), ["new", "ann>bob", "bob>ann"]);
    const [toBob] = await contactsOf(server, ann);
    assert.equal((await send(server, ann, "DELETE", `/v1/contacts/${toBob!.id}`)).status, 204);
    assert.equal(await used(server, ann), "notes".length);
    assert.deepEqual(await filesIn(server, bob, shared), ["new", "ann>bob", "bob>ann"]);
    const [toAnn] = await contactsOf(server, bob);
    assert.equal((await send(server, bob, "DELETE", `/v1/contacts/${toAnn!.id}`)).status, 204);
    assert.equal(await used(server, bob), "notes".length);
    const { db } = server.app.core;
    for (const table of ["attachments", "grants", "messages", "members"]) {
      const left = await db.all(sql`SELECT 1 AS one FROM ${raw(table)} WHERE conversation_id = ${shared}`);
      assert.deepEqual(left, [], table);
    }
    const loose = sql`SELECT 1 AS one FROM small_files WHERE attachment_id NOT IN (SELECT id FROM attachments)`;
    assert.deepEqual(await db.all(loose), []);
  });
}
