import { NEWEST } from "../../page.ts";
import { list, type Statement, sql } from "../../sql.ts";
import { all, batch, get, run, type Write } from "../../write.ts";
import { type Seat, sees } from "../visibility/visibility.ts";

// Joining takes effect at once for what the new member sees. Grants, by which attachments are listed, follow in steps.

/**
 * Part of other writes: lists the conversation in the inbox of a new member for whom messages wait, and writes the grants of
 * their files.
 */
export function* receiveWaiting(seat: Seat, position: string, limit: number): Write<void> {
  const { user_id: userId, conversation_id: id, since_id } = seat;
  const waiting = yield* get(
    sql`SELECT m.id FROM messages m JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${userId}
      WHERE m.conversation_id = ${id} AND m.id > ${since_id} AND ${sees(sql`m.id`)} LIMIT 1`,
  );
  if (!waiting) return;
  yield* batch([
    sql`INSERT INTO places (user_id, conversation_id, position, maybe_unread) VALUES (${userId}, ${id}, ${position}, 1)
      ON CONFLICT (user_id, conversation_id) DO UPDATE SET position = excluded.position, maybe_unread = 1`,
    ...(yield* grantFiles(id, userId, limit)),
  ]);
}

/**
 * Part of other writes: writes grants of the files that a new member sees, at most `limit`. Returns statements that leave the
 * rest to the eraser.
 */
export function* grantFiles(conversationId: string, userId: string, limit: number): Write<Statement[]> {
  const joining = {
    conversation_id: conversationId,
    user_id: userId,
    before_message_id: NEWEST,
    before_id: "",
  };
  if (yield* writeGrants(joining, limit)) return [];
  return [
    sql`INSERT INTO joining (conversation_id, user_id, before_message_id, before_id)
      VALUES (${conversationId}, ${userId}, ${joining.before_message_id}, ${joining.before_id})`,
  ];
}

interface Joining {
  conversation_id: string;
  user_id: string;
  /** The oldest file whose grant was written: its message and its own id. */
  before_message_id: string;
  before_id: string;
}

/** Part of a step of the eraser. Returns false if no grants are left to write. */
export function* continueJoining(limit: number): Write<boolean> {
  const joining = yield* get<Joining>(
    sql`SELECT conversation_id, user_id, before_message_id, before_id FROM joining
      ORDER BY conversation_id, user_id LIMIT 1`,
  );
  if (!joining) return false;
  const isThis = sql`conversation_id = ${joining.conversation_id} AND user_id = ${joining.user_id}`;
  const isDone = yield* writeGrants(joining, limit);
  yield* run(
    isDone
      ? sql`DELETE FROM joining WHERE ${isThis}`
      : sql`UPDATE joining SET before_message_id = ${joining.before_message_id}, before_id = ${joining.before_id}
          WHERE ${isThis}`,
  );
  return true;
}

/** Writes at most `limit` grants, newest files first, advances, and returns true if none are left. */
function* writeGrants(joining: Joining, limit: number): Write<boolean> {
  const { conversation_id: id, user_id: userId } = joining;
  const files = yield* all<{ message_id: string; id: string }>(
    sql`SELECT message_id, id FROM attachments WHERE conversation_id = ${id}
      AND (message_id, id) < (${joining.before_message_id}, ${joining.before_id})
      ORDER BY message_id DESC, id DESC LIMIT ${limit} + 0`,
  );
  if (files.length === 0) return true;
  yield* run(
    sql`INSERT INTO grants (user_id, attachment_id, conversation_id)
      SELECT s.user_id, a.id, a.conversation_id FROM attachments a
      JOIN members s ON s.conversation_id = a.conversation_id AND s.user_id = ${userId}
      WHERE a.id IN (${list(files.map((file) => file.id))}) AND ${sees(sql`a.message_id`)}
      ON CONFLICT (user_id, attachment_id) DO NOTHING`,
  );
  const last = files.at(-1)!;
  joining.before_message_id = last.message_id;
  joining.before_id = last.id;
  return files.length < limit;
}
