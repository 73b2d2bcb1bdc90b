// `parley check` finds each kind of inconsistent row, on both engines.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "../../../src/db/database.ts";
import { findOrphans } from "../../../src/db/queries/upkeep/orphans.ts";
import { OF_THE_STORE, TABLES } from "../../../src/db/queries/upkeep/tables.ts";
import { raw, sql, type Value } from "../../../src/db/sql.ts";
import { attachment, messageId } from "../../support/rows.ts";
import { openOnPostgres, openOnSqlite } from "../databases.ts";
import { createGroup, leaveGroup } from "../groups/in-groups.ts";
import { block, eraseAll, leave, meet, SHARED, send } from "../messages/talk.ts";

const ABSENT = messageId(99);

/** The rows to plant, and the problems that they cause. */
const PLANTED: [table: string, row: Record<string, Value>, found: string[]][] = [
  ["message_bodies", { id: 900, text: "x" }, ["message_bodies 900 belongs to no message"]],
  ["messages", { ...aMessage(1), body_id: 901 }, [`messages ${messageId(1)}5 has lost its text`]],
  [
    "messages",
    aMessage(98),
    [`messages ${messageId(98)}5 is later than the last message of its conversation`],
  ],
  ["conversations", { id: "cnv_x", last_id: ABSENT }, ["conversations cnv_x has no member"]],
  [
    "attachments",
    aFile(ABSENT, "b"),
    [
      "attachments att_x belongs to no message",
      "attachments att_x is not listed for a member who sees it",
      "attachments att_x is not listed for a member who sees it",
    ],
  ],
  ["reactions", aReaction(ABSENT, "b"), [`reactions ${ABSENT} b belongs to no message`]],
  ["reactions", aReaction(messageId(6), "b"), [`reactions ${messageId(6)} b belongs to no message`]],
  ["reactions", aReaction(messageId(1), "x"), [`reactions ${messageId(1)} x is of a user who is gone`]],
  [
    "withheld",
    { user_id: "x", conversation_id: SHARED, from_id: ABSENT, to_id: ABSENT },
    [`withheld x ${SHARED} belongs to no member`],
  ],
  [
    "withheld",
    { user_id: "a", conversation_id: SHARED, from_id: messageId(4), to_id: ABSENT },
    [`withheld a ${SHARED} overlaps another run`],
  ],
  ["client_ids", aClientId("x", 1, 9), ["client_ids x c is of a user who is gone"]],
  ["client_ids", aClientId("a", 7), ["client_ids a c belongs to no message"]],
  [
    "messages",
    { ...aMessage(1), client_id: "c" },
    [`messages ${messageId(1)}5 has a client_id that is not taken`],
  ],
  [
    "places",
    { user_id: "x", conversation_id: SHARED, maybe_unread: 0, is_pinned: 0, is_archived: 0 },
    [`places x ${SHARED} belongs to no member`],
  ],
  [
    "marks",
    { user_id: "x", conversation_id: SHARED, last_read_id: "", disclosed_read_id: "", version: 1 },
    [`marks x ${SHARED} belongs to no member`],
  ],
  [
    "grants",
    { user_id: "a", attachment_id: "att_0006", conversation_id: SHARED },
    ["grants a att_0006 is of a file that the user does not see"],
  ],
  [
    "attachments",
    aFile(messageId(1), "b"),
    Array(2).fill("attachments att_x is not listed for a member who sees it"),
  ],
  [
    "webhooks",
    {
      ...{ id: "psh_x", user_id: "a", url: "https://a/", scopes: "messages:read", all_users: 0, secret: "x" },
      ...{ since_position: 0, public_key: "x", token_id: "tok_x", created_at: 1, version: 1 },
    },
    ["webhooks psh_x is of a token that is gone"],
  ],
  ["groups", aGroup("grp_x"), ["groups grp_x has no member"]],
  ["members", aSeat("grp_x", "cnv_x", "member"), ["members cnv_x a is of a group that is gone"]],
  [
    "members",
    { ...aSeat("grp_1", "cnv_grp_1", "member"), user_id: "b", inviter_id: "x" },
    ["members cnv_grp_1 b is invited by a user who is gone"],
  ],
  ["invitations", anInvitation("grp_x", "a"), ["invitations grp_x mem_x a is into a group that is gone"]],
  ["invitations", anInvitation("grp_1", "b"), ["invitations grp_1 mem_x b is by somebody who is no member"]],
  [
    "invitations",
    { ...anInvitation("grp_1", "a"), member_id: "mem_1" },
    ["invitations grp_1 mem_1 a is of somebody who is a member"],
  ],
  [
    "preparing",
    { user_id: "a", conversation_id: "cnv_x", blocks: "", after_id: "" },
    ["preparing a cnv_x is of a group or a user that is gone"],
  ],
  [
    "preparing",
    { user_id: "x", conversation_id: "cnv_grp_1", blocks: "", after_id: "" },
    ["preparing x cnv_grp_1 is of a group or a user that is gone"],
  ],
  [
    "uploads",
    {
      ...{ id: "upl_x", user_id: "x", received: 0, blob_key: "x", holder: "x" },
      ...{ created_at: 1, expires_at: 2 },
    },
    ["uploads upl_x is of a user who is gone"],
  ],
  ["avatars", anAvatar("x"), ["avatars x is not the picture of its user"]],
  ["avatars", anAvatar("a"), ["avatars a is not the picture of its user"]],
  [
    "users",
    {
      ...{ id: "usr_x", username: "X", username_key: "x", conversation_id: "cnv_x", created_at: 1 },
      ...{ kind: "person", accepts_everyone: 0, avatar_id: "avt_x", set_fields: "", version: 1 },
    },
    ["users usr_x has lost the picture"],
  ],
  ["contacts", aContact("c", "zz", "cnv_x"), ["contacts con_x has no conversation"]],
  [
    "blocks",
    { owner_id: "b", username_key: "a", username: "A", created_at: 1 },
    ["contacts con_b_0001 and the list of blocks differ"],
  ],
];

function aContact(owner_id: string, username_key: string, conversation_id: string): Record<string, Value> {
  const names = { username_key, phone_digits: "", search_key: username_key };
  return { owner_id, id: "con_x", ...names, conversation_id, version: 1, body: '{"created_at":1}' };
}

function anAvatar(user_id: string): Record<string, Value> {
  const row = { user_id, id: "avt_x", file_type: "image/png", file_size: 1, sha256: new Uint8Array(1) };
  return { ...row, crc32: 0, blob_key: "x", width: 1, height: 1, created_at: 1 };
}

function aMessage(number: number): Record<string, Value> {
  const row = { conversation_id: SHARED, id: `${messageId(number)}5`, sender_id: "b", type: "text" };
  return { ...row, body_id: null, has_files: 0, has_reactions: 0, created_at: 1, version: 1 };
}

function aClientId(user_id: string, number: number, until: number | null = null): Record<string, Value> {
  const row = { user_id, client_id: "c", fingerprint: new Uint8Array(32), conversation_id: SHARED };
  return { ...row, message_id: messageId(number), until };
}

function aReaction(message_id: string, user_id: string): Record<string, Value> {
  return { message_id, place: 9, nth: 1, emoji: "x", user_id };
}

function aFile(message_id: string, uploader_id: string): Record<string, Value> {
  const row = {
    id: "att_x",
    conversation_id: SHARED,
    message_id,
    uploader_id,
    filename: "x",
    file_type: "a/b",
  };
  const sha256 = new Uint8Array(1);
  return { ...row, file_size: 1, sha256, blob_key: "x", created_at: 1, version: 1, unscanned: 0 };
}

function aGroup(id: string): Record<string, Value> {
  return { id, conversation_id: `cnv_${id}`, name: "x", history: "joined", created_at: 1, version: 1 };
}

function aSeat(group_id: string, conversation_id: string, role: string): Record<string, Value> {
  const seat = { conversation_id, user_id: "a", joined_at: 1, since_id: "", contact_joined: 0 };
  return { ...seat, group_id, member_id: "mem_x", role };
}

function anInvitation(group_id: string, inviter_id: string): Record<string, Value> {
  return { group_id, member_id: "mem_x", inviter_id, username_key: "x", username: "x", created_at: 1 };
}

async function orphansOf(db: Database): Promise<string[]> {
  const found: string[] = [];
  for await (const { table, row, problem } of findOrphans(db)) found.push(`${table} ${row} ${problem}`);
  return found;
}

async function plant(db: Database, name: string, row: Record<string, Value>): Promise<void> {
  const table = [...TABLES, ...OF_THE_STORE].find((each) => each.name === name)!;
  await db.write("importRows", { table, rows: [table.columns.map((column) => row[column] ?? null)] });
}

/** Rows of a group without an admin need two tables. */
async function plantGroupWithoutAdmin(db: Database): Promise<void> {
  await plant(db, "groups", aGroup("grp_x"));
  await plant(db, "members", aSeat("grp_x", "cnv_grp_x", "member"));
}

for (const [name, open] of Object.entries({ sqlite: openOnSqlite, postgres: openOnPostgres })) {
  test(`${name}: parley check finds nothing after writes and during a departure, and finds each planted row`, async (t) => {
    for (const [table, row, found] of PLANTED) {
      const db = await open(t);
      await meet(db);
      await send(db, "b", 1, { files: [attachment("b", 1).file] });
      await db.write("addReaction", { userId: "a", messageId: messageId(1), emoji: "x", now: 1 });
      await block(db, "a", "b");
      for (const number of [5, 6]) await send(db, "b", number, { files: [attachment("b", number).file] });
      await send(db, "a", 7);
      await send(db, "b", 8, { clientId: { id: "d", fingerprint: new Uint8Array(32) } });
      await createGroup(db, "a", "grp_1", ["b"], { memberId: "mem_1" });
      assert.deepEqual(await orphansOf(db), []);
      await plant(db, table, row);
      assert.deepEqual(await orphansOf(db), found, table);
    }
    const db = await open(t);
    await meet(db);
    await plantGroupWithoutAdmin(db);
    assert.deepEqual(await orphansOf(db), ["groups grp_x has no admin"]);
    await plant(db, "members", { ...aSeat("grp_x", "cnv_grp_x", "admin"), user_id: "b", member_id: "mem_y" });
    assert.deepEqual(await orphansOf(db), []);
    await leaveGroup(db, "grp_x", "a");
    await leaveGroup(db, "grp_x", "b");
    await block(db, "a", "b");
    for (const number of [1, 2, 3, 4]) {
      const id = await send(db, "b", number, { files: [attachment("b", number).file] });
      await db.write("addReaction", { userId: "b", messageId: id, emoji: "x", now: 1 });
      const clientId = { id: `${number}`, fingerprint: new Uint8Array(32) };
      await send(db, "a", number + 10, { clientId });
    }
    for (const user of ["b", "a"]) {
      await leave(db, user, undefined, 2);
      assert.deepEqual(await orphansOf(db), []);
      await db.write("eraseStep", { limit: 1, now: 1, messageId: "m" });
      assert.deepEqual(await orphansOf(db), []);
    }
    await eraseAll(db, 2);
    assert.deepEqual(await orphansOf(db), []);
    for (const table of [
      "messages",
      "reactions",
      "attachments",
      "grants",
      "withheld",
      "marks",
      "departing",
      "conversations",
    ])
      assert.deepEqual(await db.all(sql`SELECT 1 AS one FROM ${raw(table)}`), [], table);
  });
}
