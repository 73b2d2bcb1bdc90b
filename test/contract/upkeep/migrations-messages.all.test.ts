// Migrations that decide who sees what: from files with grants to messages with one visibility rule, and to hidden
// files that no longer count against their uploader's storage.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Database } from "../../../src/db/database.ts";
import { findAttachments, listAttachments } from "../../../src/db/queries/files/attachments.ts";
import { findMiscounts } from "../../../src/db/queries/storage/storage-used.ts";
import { type Statement, sql } from "../../../src/db/sql.ts";
import { type Engine, openOld, type Rows, valuesOf } from "../../support/old-databases.ts";
import { holds } from "../../support/property.ts";
import { attachment, message, walk } from "../../support/rows.ts";
import { eraseAll, seenBy } from "../messages/talk.ts";

/**
 * The schemas with shared conversations, the first one that erases departures in steps, and the last one that counts
 * hidden files.
 */
const SCHEMAS = {
  sqlite: { shared: [6, 7, 8, 9, 10], stepwise: 9, beforeHidden: 20 },
  postgres: { shared: [2, 3, 4, 5, 6], stepwise: 5, beforeHidden: 18 },
};
const ENGINES = Object.entries(SCHEMAS) as [Engine, (typeof SCHEMAS)["sqlite"]][];

const id = (kind: string, number: number) => `${kind}_${String(number).padStart(26, "0")}`;
const CONVERSATION = id("cnv", 1);
const AB = ["a", "b"];

/** A file and the users who have a grant for it. */
interface OldFile {
  number: number;
  message: number;
  by: string;
  grants: readonly string[];
}

function userRows(name: string): Rows {
  const conversation_id = id("cnv", 900 + name.charCodeAt(0));
  const user = { id: name, username: name, username_key: name, conversation_id, created_at: 1 };
  return [
    ["users", user],
    ["members", { conversation_id, user_id: name, joined_at: 1 }],
    ["storage", { user_id: name, used: 0 }],
  ];
}

function fileRows({ number, message, by, grants }: OldFile): Rows {
  const of = { id: id("att", number), conversation_id: CONVERSATION, message_id: id("msg", message) };
  const bytes = { file_size: 1, sha256: new Uint8Array(32), blob_key: `blob-${number}`, crc32: 1 };
  const file = { uploader_id: by, filename: "a", file_type: "a/b", created_at: 6, version: 1 };
  const grant = { attachment_id: of.id, conversation_id: CONVERSATION };
  return [
    ["attachments", { ...of, ...file, ...bytes }],
    ...grants.map((user_id): Rows[number] => ["grants", { user_id, ...grant }]),
  ];
}

const member = (user_id: string): Rows => [
  ["members", { conversation_id: CONVERSATION, user_id, joined_at: 1 }],
];

function contactRows(owner: string, name: string, blocked: boolean): Rows {
  const body = JSON.stringify({ id: id("con", 1), username: name.toUpperCase() });
  const found = { username_key: name, phone_digits: "", search_key: "", version: 1, body };
  const row = { owner_id: owner, id: `con_${owner}`, conversation_id: CONVERSATION, ...found };
  return [["contacts", { ...row, blocked_at: blocked ? 7 : null }]];
}

function messageRow(number: number, by: string): Rows {
  return [
    ["messages", { id: id("msg", number), conversation_id: CONVERSATION, sender_id: by, created_at: 5 }],
  ];
}

const departed = (user_id: string): Rows => [["departures", { conversation_id: CONVERSATION, user_id }]];

const FILES: OldFile[] = [
  { number: 11, message: 10, by: "a", grants: ["a"] },
  { number: 12, message: 10, by: "a", grants: ["a"] },
  { number: 21, message: 20, by: "a", grants: AB },
  // The files of one message, with different grants.
  { number: 31, message: 30, by: "a", grants: AB },
  { number: 32, message: 30, by: "a", grants: ["a"] },
  { number: 33, message: 30, by: "a", grants: AB },
  { number: 41, message: 40, by: "b", grants: AB },
];

const seenFiles = async (db: Database, user: string, numbers: readonly number[]) => {
  const ids = numbers.map((number) => id("att", number));
  const found = (await findAttachments(db, user, ids)).map((row) => row.id).sort();
  const listed = await listAttachments(db, user, CONVERSATION, walk("~", 100));
  assert.deepEqual(listed.map((row) => row.id).sort(), found, "the list has what is found");
  return found.map((each) => Number(each.slice(4)));
};

const OLD_TYPES =
  "attachment.created attachment.deleted attachment.updated contact.created contact.deleted contact.updated webhook.disabled";
const OLD_SCOPES = "contacts:read contacts:write attachments:read attachments:write events:read";

/** Returns records that contain a file's name, and webhooks and tokens with all types or scopes. */
function referringRows(): Rows {
  const payload = JSON.stringify({ id: id("att", 1), message_id: id("msg", 1), filename: "secret" });
  const event = { conversation_id: CONVERSATION, created_at: 1 };
  const told = { ...event, recipient_id: "a", type: "attachment.created", payload };
  const hook = {
    ...{ user_id: "a", url: "a", all_users: 0, secret: "a", since_position: 0, created_at: 1, version: 1 },
  };
  const token = { user_id: "a", created_at: 1 };
  const state = { event_id: "e", position: 1, told_at: 1, state: "pending", attempts: 0, updated_at: 1 };
  const key = { user_id: "a", fingerprint: new Uint8Array(1), until: 9 };
  const contact = '{"id":"con_1","username":"secret","conversation_id":"cnv_1","created_at":5}';
  const entry = { at: 1, object_id: "x", details: '{"filename":"secret"}' };
  return [
    ...userRows("a"),
    ["events", { position: 1, number: 1, ...told }],
    // An erased event keeps its number.
    ["events", { position: 2, number: 2, ...told, payload: "" }],
    ["events", { position: 3, number: 3, ...told, type: "contact.created", payload: '{"id":"con_1"}' }],
    ["deliveries", { webhook_id: "whk_1", id: "dlv_1", ...told, ...state }],
    ["idempotency", { ...key, key_hash: new Uint8Array([1]), result: payload }],
    ["idempotency", { ...key, key_hash: new Uint8Array([2]), result: JSON.stringify(contact) }],
    ["audit", { id: "aud_1", ...entry, action: "attachment.renamed" }],
    ["audit", { id: "aud_2", ...entry, action: "contact.renamed", details: "{}" }],
    ["webhooks", { id: "whk_1", ...hook, types: null }],
    ["webhooks", { id: "whk_2", ...hook, types: "contact.created" }],
    ["tokens", { hash: new Uint8Array([1]), id: "tok_1", ...token, scopes: OLD_SCOPES }],
    ["tokens", { hash: new Uint8Array([2]), id: "tok_2", ...token, scopes: "contacts:read" }],
    ["tokens", { hash: new Uint8Array([3]), id: "tok_3", ...token, scopes: `${OLD_SCOPES} admin` }],
  ];
}

/** Worlds of three users in one conversation. Each bit of `grants` is one user. */
const worlds = fc.record({
  members: fc.integer({ min: 0, max: 7 }),
  departed: fc.integer({ min: 0, max: 7 }),
  files: fc.array(
    fc.record({
      message: fc.integer({ min: 1, max: 6 }),
      by: fc.integer({ min: 0, max: 2 }),
      grants: fc.integer({ min: 0, max: 7 }),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  /** How many files each departing user had when leaving; 0 if the user is not departing. */
  departing: fc.tuple(fc.nat(12), fc.nat(12), fc.nat(12)),
});
const USERS = ["a", "b", "c"];
const among = (bits: number) => USERS.filter((_, i) => (bits >> i) & 1);

/** Files of a: hidden by a, seen by both, and hidden by b. And a file of b that a has hidden. */
function hiddenRows(): Rows {
  const file = (number: number, by: string, grants: readonly string[]): Rows => [
    [
      "messages",
      {
        ...{ conversation_id: CONVERSATION, id: id("msg", number), sender_id: by, type: "text" },
        ...{ has_files: 1, created_at: 1, version: 1 },
      },
    ],
    ...fileRows({ number, message: number, by, grants }),
  ];
  const run = (user_id: string, number: number): Rows[number] => [
    "withheld",
    { user_id, conversation_id: CONVERSATION, from_id: id("msg", number), to_id: id("msg", number) },
  ];
  return [
    ...AB.flatMap(userRows).filter(([table]) => table !== "storage"),
    ...AB.flatMap(member),
    ["storage", { user_id: "a", used: 3 }],
    ["storage", { user_id: "b", used: 1 }],
    ...file(10, "a", AB),
    ...file(20, "a", AB),
    ...file(30, "a", ["a"]),
    ...file(40, "b", ["b"]),
    ...[run("a", 10), run("b", 30), run("a", 40)],
  ];
}

for (const [engine, { shared, stepwise, beforeHidden }] of ENGINES) {
  for (const version of shared) {
    test(`${engine}: schema ${version}: files and contacts become messages, withheld runs, places in inboxes, read positions and blocks`, async (t) => {
      const rows = [
        ...AB.flatMap(userRows),
        ...AB.flatMap(member),
        ...[...contactRows("a", "b", false), ...contactRows("b", "a", true)],
        ...[10, 20, 30].flatMap((number) => messageRow(number, "a")),
        // A message without a file.
        ...messageRow(35, "a"),
        ...messageRow(40, "b"),
        ...FILES.flatMap(fileRows),
        ...departed("b"),
      ];
      const db = await openOld(t, engine, version, rows);
      const all = FILES.map(({ number }) => number);
      assert.deepEqual(await seenFiles(db, "a", all), all);
      assert.deepEqual(await seenFiles(db, "b", all), [21, 31, 33, 41]);
      const messages = await db.all<{ id: string; body_id: null }>(
        sql`SELECT id, body_id, created_at FROM messages ORDER BY id`,
      );
      const at = (number: number, created_at = 5) => ({ id: id("msg", number), body_id: null, created_at });
      assert.deepEqual(
        messages.map((row) => ({ ...row })),
        [at(10), at(20), at(30), at(32, 6), at(40)],
      );
      const plain = (statement: Statement) => valuesOf(db, statement);
      // b left, and came back before message 20.
      assert.deepEqual(
        await plain(sql`SELECT user_id, since_id, contact_id, contact_joined FROM members
          WHERE conversation_id = ${CONVERSATION} ORDER BY user_id`),
        [
          ["a", "", "con_a", 1],
          ["b", id("msg", 10), "con_b", 1],
        ],
      );
      assert.deepEqual(await plain(sql`SELECT user_id, from_id, to_id FROM withheld`), [
        ["b", id("msg", 32), id("msg", 32)],
      ]);
      for (const user of AB) {
        const isThis = sql`user_id = ${user} AND conversation_id = ${CONVERSATION}`;
        assert.deepEqual(await plain(sql`SELECT position, maybe_unread FROM places WHERE ${isThis}`), [
          [id("msg", 40).slice(4), 0],
        ]);
        assert.deepEqual(await plain(sql`SELECT last_read_id FROM marks WHERE ${isThis}`), [[id("msg", 40)]]);
      }
      assert.equal((await plain(sql`SELECT position FROM places`)).length, 4, "and notes to self");
      assert.deepEqual(await plain(sql`SELECT owner_id, username_key, username, created_at FROM blocks`), [
        ["b", "a", "A", 7],
      ]);
    });
  }

  test(`${engine}: records only refer to files, and webhooks and tokens keep their types and scopes`, async (t) => {
    const rows = referringRows();
    if (engine === "postgres") {
      const { position: _, number: __, ...waiting } = rows.find(([table]) => table === "events")![1];
      rows.push(["outbox", waiting]);
    }
    const db = await openOld(t, engine, shared.at(-1)!, rows);
    const plain = (statement: Statement) => valuesOf(db, statement);
    const reference = JSON.stringify({ id: id("att", 1), conversation_id: CONVERSATION });
    assert.deepEqual(await plain(sql`SELECT payload FROM events ORDER BY position`), [
      [reference],
      [""],
      ['{"id":"con_1"}'],
    ]);
    if (engine === "postgres") assert.deepEqual(await plain(sql`SELECT payload FROM outbox`), [[reference]]);
    assert.deepEqual(await plain(sql`SELECT payload FROM deliveries`), [[reference]]);
    const results = await plain(sql`SELECT result FROM idempotency ORDER BY key_hash`);
    assert.deepEqual(
      results.map(([result]) => JSON.parse(result)),
      [
        { id: id("att", 1), message_id: id("msg", 1) },
        { id: "con_1", conversation_id: "cnv_1", created_at: 5 },
      ],
    );
    assert.deepEqual(await plain(sql`SELECT details FROM audit ORDER BY id`), [[null], ["{}"]]);
    assert.deepEqual(await plain(sql`SELECT types FROM webhooks ORDER BY id`), [
      [OLD_TYPES],
      ["contact.created"],
    ]);
    const more = "messages:read messages:write groups:read groups:write";
    assert.deepEqual(await plain(sql`SELECT scopes FROM tokens ORDER BY id`), [
      [`${OLD_SCOPES} ${more}`],
      ["contacts:read"],
      [`${OLD_SCOPES} admin ${more}`],
    ]);
  });

  test(`${engine}: each user sees the same files as before, even while departures are erased`, async (t) => {
    const property = fc.asyncProperty(worlds, fc.constantFrom(...shared), async (world, version) => {
      const numbered = [...world.files].sort((a, b) => a.message - b.message);
      const files = numbered.map(({ message, by, grants }, i): OldFile => {
        return { number: message * 20 + i, message: message * 20, by: USERS[by]!, grants: among(grants) };
      });
      const members = among(world.members);
      const untilOf = (user: string) =>
        version < stepwise ? 0 : (files[world.departing[USERS.indexOf(user)]! - 1]?.number ?? 0);
      const senders = new Map(files.map(({ message, by }) => [message, by]));
      const rows = [
        ...[...USERS.flatMap(userRows), ...members.flatMap(member), ...files.flatMap(fileRows)],
        ...[...senders].flatMap(([number, by]) => messageRow(number, by)),
        ...among(world.departed).flatMap(departed),
        ...USERS.filter((user) => untilOf(user) > 0).map((user_id): Rows[number] => [
          "departing",
          { conversation_id: CONVERSATION, user_id, until_id: id("att", untilOf(user_id)) },
        ]),
      ];
      const db = await openOld(t, engine, version, rows);
      const look = async () => {
        for (const user of USERS) {
          const isSeen = (file: OldFile) =>
            members.includes(user) && file.grants.includes(user) && file.number > untilOf(user);
          const expected = files.filter(isSeen).map(({ number }) => number);
          const all = files.map(({ number }) => number);
          assert.deepEqual(await seenFiles(db, user, all), expected, user);
        }
      };
      await look();
      await eraseAll(db, 3);
      await look();
      // New messages and files reach all members.
      for (const user of members) {
        const number = 90 + USERS.indexOf(user);
        const sent = await db.write("createMessage", message(user, number, CONVERSATION));
        // An earlier file may have this number too, and each file needs its own blob key.
        const later = attachment(user, number, { messageId: sent.id }, { blobKey: `later-${number}` });
        await db.write("createAttachment", later);
      }
      for (const user of members) {
        const numbers = (await seenBy(db, user, CONVERSATION)).filter((number) => number >= 90);
        assert.deepEqual(
          numbers,
          members.map((each) => 90 + USERS.indexOf(each)),
        );
      }
    });
    await holds(property, 12);
  });

  test(`${engine}: a file that its uploader has hidden no longer counts against their storage`, async (t) => {
    const db = await openOld(t, engine, beforeHidden, hiddenRows());
    const used = await valuesOf(db, sql`SELECT user_id, used FROM storage ORDER BY user_id`);
    assert.deepEqual(used, [
      ["a", 2],
      ["b", 1],
    ]);
    const grants = await valuesOf(
      db,
      sql`SELECT user_id, attachment_id FROM grants ORDER BY user_id, attachment_id`,
    );
    assert.deepEqual(grants, [
      ...[20, 30].map((number) => ["a", id("att", number)]),
      ...[10, 20, 40].map((number) => ["b", id("att", number)]),
    ]);
    for await (const miscount of findMiscounts(db)) assert.fail(JSON.stringify(miscount));
  });
}
