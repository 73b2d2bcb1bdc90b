import { type Statement, sql } from "../sql.ts";
import type { ErasedFile } from "./erased.ts";
import { publishReferenceTo } from "./events.ts";

interface Withheld {
  id: string;
  conversation_id: string;
}

/**
 * Part of other writes: withholds a message from members who see it, with its files, and publishes that to them. The
 * uploader of a file keeps the grant, by which it counts in their storage.
 */
export function withdraw(
  { id, conversation_id }: Withheld,
  files: readonly ErasedFile[],
  userIds: readonly string[],
  now: number,
): Statement[] {
  const publish = (type: "attachment.deleted" | "message.deleted", what: string) =>
    userIds.map((userId) => publishReferenceTo(userId, type, now, conversation_id, what));
  return [
    ...publish("message.deleted", id),
    ...files.flatMap((file) => publish("attachment.deleted", file.id)),
    ...userIds.flatMap((userId) => [
      ...files
        .filter((file) => file.uploader_id !== userId)
        .map((file) => sql`DELETE FROM grants WHERE user_id = ${userId} AND attachment_id = ${file.id}`),
      ...withhold(userId, conversation_id, id),
    ]),
  ];
}

/** Extends or joins adjacent runs, so that many withheld messages are few rows, and few jumps. */
function withhold(userId: string, conversationId: string, id: string): Statement[] {
  const isOwn = sql`w.user_id = ${userId} AND w.conversation_id = ${conversationId}`;
  const between = (from: Statement, to: Statement) =>
    sql`SELECT 1 FROM messages x WHERE x.conversation_id = ${conversationId} AND x.id > ${from} AND x.id < ${to}`;
  const before = sql`SELECT CASE WHEN NOT EXISTS (${between(sql`w.to_id`, sql`${id}`)}) THEN w.from_id END
    FROM withheld w WHERE ${isOwn} AND w.from_id < ${id} ORDER BY w.from_id DESC LIMIT 1`;
  const behind = sql`SELECT CASE WHEN NOT EXISTS (${between(sql`${id}`, sql`w.from_id`)}) THEN w.to_id END
    FROM withheld w WHERE ${isOwn} AND w.from_id > ${id} ORDER BY w.from_id LIMIT 1`;
  const end = sql`SELECT w.to_id FROM withheld w WHERE ${isOwn} AND w.from_id <= ${id} ORDER BY w.from_id DESC LIMIT 1`;
  return [
    sql`INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
      VALUES (${userId}, ${conversationId}, COALESCE((${before}), ${id}), COALESCE((${behind}), ${id}))
      ON CONFLICT (user_id, conversation_id, from_id) DO UPDATE SET to_id = excluded.to_id`,
    // The run behind it is part of this one now.
    sql`DELETE FROM withheld WHERE user_id = ${userId} AND conversation_id = ${conversationId} AND from_id > ${id}
      AND from_id <= (${end})`,
  ];
}
