import { list, padded, type Statement, sql } from "../../sql.ts";
import { INTO_OUTBOX, toReference } from "../events/events.ts";
import type { ErasedFile } from "../storage/content-erase.ts";

interface Withheld {
  id: string;
  conversation_id: string;
}

/**
 * Part of other writes: withholds a message with its files from members who see it, and publishes that to them. Always returns the
 * same number of statements, even for no users: otherwise the sender could count the users by measuring time.
 */
export function withdraw(
  { id, conversation_id }: Withheld,
  files: readonly ErasedFile[],
  userIds: readonly string[],
  now: number,
): Statement[] {
  const those = list(padded(["", ...userIds]));
  const publish = (type: "attachment.deleted" | "message.deleted", what: string) =>
    sql`${INTO_OUTBOX} SELECT u.id, ${type}, ${conversation_id}, ${now}, ${toReference(what, conversation_id)}
      FROM users u WHERE u.id IN (${those})`;
  return [
    publish("message.deleted", id),
    ...files.map((file) => publish("attachment.deleted", file.id)),
    ...files.map(
      (file) => sql`DELETE FROM grants WHERE user_id IN (${those}) AND attachment_id = ${file.id}`,
    ),
    ...withhold(those, conversation_id, id),
  ];
}

function between(from: Statement, to: Statement): Statement {
  return sql`SELECT 1 FROM messages x WHERE x.conversation_id = s.conversation_id AND x.id > ${from} AND x.id < ${to}`;
}

/** Selects the start of the run that a message extends when it is withheld from the member `s`; null if there is none. */
export function runBefore(id: Statement): Statement {
  return sql`(SELECT CASE WHEN NOT EXISTS (${between(sql`w.to_id`, id)}) THEN w.from_id END
    FROM withheld w WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id AND w.from_id < ${id}
    ORDER BY w.from_id DESC LIMIT 1)`;
}

export const EXTEND_RUN = sql`ON CONFLICT (user_id, conversation_id, from_id) DO UPDATE SET to_id = excluded.to_id`;

/** Extends or joins adjacent runs, so that many withheld messages take few rows and few jumps. */
function withhold(userIds: Statement, conversationId: string, id: string): Statement[] {
  const after = sql`(SELECT CASE WHEN NOT EXISTS (${between(sql`${id}`, sql`w.from_id`)}) THEN w.to_id END
    FROM withheld w WHERE w.user_id = s.user_id AND w.conversation_id = s.conversation_id AND w.from_id > ${id}
    ORDER BY w.from_id LIMIT 1)`;
  return [
    sql`INSERT INTO withheld (user_id, conversation_id, from_id, to_id)
      SELECT s.user_id, s.conversation_id, COALESCE(${runBefore(sql`${id}`)}, ${id}), COALESCE(${after}, ${id})
        FROM members s WHERE s.conversation_id = ${conversationId} AND s.user_id IN (${userIds}) ${EXTEND_RUN}`,
    // The next run is now part of this one.
    sql`DELETE FROM withheld WHERE user_id IN (${userIds}) AND conversation_id = ${conversationId} AND from_id > ${id}
      AND from_id <= (SELECT w.to_id FROM withheld w WHERE w.user_id = withheld.user_id
        AND w.conversation_id = withheld.conversation_id AND w.from_id <= ${id} ORDER BY w.from_id DESC LIMIT 1)`,
  ];
}
