import type { Page } from "../../page.ts";
import { type Reader, type Statement, sql } from "../../sql.ts";
import { batch, get, type Write, write } from "../../write.ts";
import { publishInvitationsOf } from "./invitations.ts";
import { hidePresence, showPresence, withholdWaiting } from "./peers.ts";

// Users block names, so that a block also applies to a user who is not a contact, and survives the contact.

interface Block {
  ownerId: string;
  usernameKey: string;
  /** The username as it was typed. */
  username: string;
  /** Milliseconds; null unblocks. */
  blockedAt: number | null;
  now: number;
}

/**
 * Blocks or unblocks a username: what a blocked user sends never reaches the owner, even after an unblock. Contacts have a copy
 * of the block, for their index of blocked ones.
 */
export const setBlock = write({ publishesEvents: true }, function* (input: Block): Write<void> {
  const { ownerId, usernameKey, username, blockedAt, now } = input;
  const isThis = sql`owner_id = ${ownerId} AND username_key = ${usernameKey}`;
  const copy = sql`UPDATE contacts SET blocked_at = (SELECT created_at FROM blocks WHERE ${isThis}) WHERE ${isThis}`;
  if (blockedAt !== null) {
    yield* batch([
      publishInvitationsOf("group.deleted", now, ownerId, usernameKey),
      sql`INSERT INTO blocks (owner_id, username_key, username, created_at)
        SELECT id, ${usernameKey}, ${username}, CAST(${blockedAt} AS BIGINT) FROM users WHERE id = ${ownerId}
        ON CONFLICT (owner_id, username_key) DO NOTHING`,
      copy,
      hidePresence(ownerId, usernameKey),
    ]);
    return;
  }
  const ended = yield* get<{ created_at: number }>(
    sql`DELETE FROM blocks WHERE ${isThis} RETURNING created_at`,
  );
  if (!ended) return;
  yield* batch([
    copy,
    withholdWaiting(ownerId, usernameKey, ended.created_at),
    showPresence(ownerId, usernameKey),
    publishInvitationsOf("group.created", now, ownerId, usernameKey),
  ]);
});

/** Holds if the member `s` has blocked the user of this name. */
export function hasBlocked(usernameKey: string): Statement {
  return sql`EXISTS (SELECT 1 FROM blocks b WHERE b.owner_id = s.user_id AND b.username_key = ${usernameKey})`;
}

export interface BlockRow {
  username_key: string;
  username: string;
  created_at: number;
}

/** Returns the rows of a page in the order of their names, and one more if there is one. */
export function listBlockRows(db: Reader, ownerId: string, page: Page): Promise<BlockRow[]> {
  return db.all(blocksQuery(ownerId, page));
}

export function blocksQuery(ownerId: string, { cursor, newer, limit }: Page): Statement<BlockRow> {
  const walk = newer
    ? sql`username_key < ${cursor} ORDER BY username_key DESC`
    : sql`username_key > ${cursor} ORDER BY username_key ASC`;
  return sql`SELECT username_key, username, created_at FROM blocks WHERE owner_id = ${ownerId} AND ${walk}
    LIMIT ${limit + 1} + 0`;
}

export const blockWrites = { setBlock };
