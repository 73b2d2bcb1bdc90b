// Compares the stored rows with the model of docs/sharing.md.
import assert from "node:assert/strict";
import { INDEXED_AT_ONCE } from "../../../src/core/search/search.ts";
import { hasRemains } from "../../../src/db/queries/upkeep/erasing.ts";
import { raw, type Statement, sql } from "../../../src/db/sql.ts";
import type { TestApp } from "../../support/app.ts";
import { eventually, storedFiles } from "../../support/files-on-disk.ts";
import { checkOrphans } from "../../support/orphans.ts";
import { columnOf, findIndexProblems } from "../../support/search-index.ts";
import { isFileThere, isThere, Model, seesFile } from "./sharing-model.ts";
import type { Message } from "./sharing-types.ts";

/** Files up to this size are kept in the database. */
const SMALL = 32 * 1024;

/** By the SQL that reads them. */
type Rows = Record<string, (string | number)[][]>;

function rowsOfMessages(messages: readonly Message[]): Rows {
  return {
    "SELECT id, conversation_id, sender_id FROM messages": messages.map((message) => [
      message.id,
      message.conversation.id,
      message.sender.id,
    ]),
    "SELECT message_id, emoji, user_id FROM reactions": messages.flatMap(({ id, reactions }) =>
      [...reactions].flatMap(([emoji, users]) => users.map((user) => [id, emoji, user.id])),
    ),
    "SELECT m.id, b.text, b.data FROM messages m JOIN message_bodies b ON b.id = m.body_id": messages
      .filter(({ text, data }) => text !== null || data !== null)
      .map(({ id, text, data }) => [id, text ?? "", data === null ? "" : JSON.stringify(data)]),
  };
}

function rowsOf(model: Model): Rows {
  const { users, conversations, files } = model;
  const messages = model.messages.filter(isThere);
  const live = files.filter(isFileThere);
  const there = [...users.values()];
  const groups = model.groups.filter(({ members }) => members.size > 0);
  const seats = conversations.flatMap(({ id, seats }) =>
    [...seats].map(([{ id: userId }, seat]) => ({ id, userId, seat })),
  );
  return {
    "SELECT id FROM users": there.map(({ id }) => [id]),
    "SELECT user_id, used FROM storage": there.map((user) => [user.id, model.storageUsed(user)]),
    "SELECT user_id FROM tokens": there.flatMap(({ id, tokens }) => tokens.map(() => [id])),
    "SELECT user_id FROM reservations": [],
    "SELECT owner_id, id, conversation_id FROM contacts": there.flatMap((user) =>
      [...user.contacts.values()].map((contact) => [user.id, contact.id, contact.conversation.id]),
    ),
    "SELECT owner_id, id FROM contacts WHERE blocked_at IS NOT NULL": there.flatMap((user) =>
      [...user.contacts.values()]
        .filter((contact) => model.isBlocked(contact))
        .map(({ id }) => [user.id, id]),
    ),
    "SELECT owner_id, username_key, created_at FROM blocks": there.flatMap((user) =>
      [...user.blocks].map(([name, at]) => [user.id, name, at]),
    ),
    "SELECT id, conversation_id FROM groups": groups.map(({ id, conversation }) => [id, conversation.id]),
    "SELECT group_id, member_id, user_id, role FROM members WHERE group_id IS NOT NULL": groups.flatMap(
      (group) => [...group.members].map(([user, { id, role }]) => [group.id, id, user.id, role]),
    ),
    "SELECT group_id, member_id, inviter_id, CASE WHEN declined_at IS NULL THEN 0 ELSE 1 END FROM invitations":
      groups.flatMap(({ id, invitations }) =>
        invitations.map(({ seat, inviter, isDeclined }) => [id, seat.id, inviter.id, isDeclined ? 1 : 0]),
      ),
    "SELECT conversation_id FROM preparing": [],
    "SELECT conversation_id, user_id FROM members": seats.map(({ id, userId }) => [id, userId]),
    "SELECT conversation_id, user_id FROM places WHERE position IS NOT NULL": seats
      .filter(({ seat }) => seat.movedAt !== null)
      .map(({ id, userId }) => [id, userId]),
    "SELECT conversation_id, user_id, last_read_id FROM marks WHERE last_read_id <> ''": seats
      .filter(({ seat }) => seat.read !== null)
      .map(({ id, userId, seat }) => [id, userId, seat.read!.id]),
    [`SELECT DISTINCT user_id, conversation_id FROM withheld w WHERE NOT EXISTS
      (SELECT 1 FROM members m WHERE m.user_id = w.user_id AND m.conversation_id = w.conversation_id)`]:
      conversations.flatMap(({ id, seats, left, messages: sent }) =>
        there
          .filter((user) => seats.size > 0 && !seats.has(user) && !left.has(user))
          .filter((user) => sent.some(({ missedBy }) => missedBy.has(user)))
          .map((user) => [user.id, id]),
      ),
    "SELECT user_id, attachment_id, conversation_id FROM grants": live.flatMap((file) =>
      [...file.message.conversation.seats.keys()]
        .filter((user) => seesFile(user, file))
        .map((user) => [user.id, file.id, file.message.conversation.id]),
    ),
    "SELECT id, conversation_id, message_id, uploader_id, file_size FROM attachments": live.map((file) => [
      file.id,
      file.message.conversation.id,
      file.message.id,
      file.message.sender.id,
      file.content.length,
    ]),
    "SELECT attachment_id FROM small_files": live
      .filter((file) => file.content.length <= SMALL)
      .map(({ id }) => [id]),
    ...rowsOfMessages(messages),
  };
}

/** Checks that the rows of these models are complete; other models may have further rows. */
export async function checkRows(server: TestApp, models: readonly Model[]): Promise<void> {
  const ours = new Set(
    models.flatMap(({ everyone, conversations, messages, files, groups }) =>
      [...everyone, ...conversations, ...messages, ...files, ...groups].map(({ id }) => id),
    ),
  );
  const isErased = async () => !(await hasRemains(server.app.core.db));
  assert.ok(await eventually(isErased), "the eraser has no end");
  const wanted = models.map(rowsOf);
  for (const query of Object.keys(rowsOf(models[0] ?? new Model()))) {
    const rows = await server.app.core.db.allValues(raw(query) as Statement<unknown[]>);
    const found = rows.filter((row) => row.some((value) => ours.has(String(value))));
    assert.deepEqual(lines(found), lines(wanted.flatMap((each) => each[query]!)), query);
  }
  await checkOrphans(server.app.core.db);
  while (await server.app.core.db.write("indexMessages", INDEXED_AT_ONCE));
  assert.deepEqual(await findIndexProblems(columnOf(server.config)), []);
}

function lines(rows: readonly unknown[][]): string[] {
  return rows.map((row) => row.join(" ")).sort();
}

const EMPTIED = [
  "users",
  "contacts",
  "members",
  "attachments",
  "grants",
  "small_files",
  "messages",
  "reactions",
  "message_bodies WHERE text IS NOT NULL OR data IS NOT NULL",
  "conversations",
  "places",
  "marks",
  "withheld",
  "joining",
  "blocks",
  "storage",
  "departing",
  "erasing",
  "departures",
  "groups",
  "invitations",
  "preparing",
  "events",
  "outbox",
];

/** Returns the rows that remain although every user was erased. */
export async function leftOver(server: TestApp): Promise<string[]> {
  const { db } = server.app.core;
  const hasRows = async (table: string) =>
    (await db.get(sql`SELECT 1 AS one FROM ${raw(table)} LIMIT 1`)) !== undefined;
  const found: string[] = [];
  for (const table of EMPTIED) if (await hasRows(table)) found.push(table);
  const isErased = async () =>
    (await storedFiles(server.config)).length === 0 && !(await hasRows("tombstones"));
  if (!(await eventually(isErased))) found.push(...(await storedFiles(server.config)), "tombstones");
  return found;
}
