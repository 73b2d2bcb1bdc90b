import { padded, type Reader, rows, type Statement, sql } from "../../sql.ts";
import { isShown } from "./reactions.ts";

/** A user who is typing in a conversation. */
export interface Typist {
  conversation_id: string;
  user_id: string;
}

/** Returns those of the typists who are members of their conversation. */
export function listSeated(db: Reader, typists: readonly Typist[]): Promise<Typist[]> {
  return db.all(seatedQuery(typists));
}

export function seatedQuery(typists: readonly Typist[]): Statement<Typist> {
  return sql`SELECT t.conversation_id, t.user_id FROM members t WHERE ${isAmong(typists)}`;
}

/** Returns the users who see that these are typing: the other members, except those who have blocked them. */
export function listTypingAudience(
  db: Reader,
  typists: readonly Typist[],
): Promise<(Typist & { reader_id: string })[]> {
  return db.all(typingAudienceQuery(typists));
}

export function typingAudienceQuery(typists: readonly Typist[]): Statement<Typist & { reader_id: string }> {
  return sql`SELECT t.conversation_id, t.user_id, s.user_id AS reader_id
    FROM members t JOIN members s ON s.conversation_id = t.conversation_id AND s.user_id <> t.user_id
    WHERE ${isAmong(typists)} AND ${isShown(sql`t.user_id`, sql`s.user_id`)}`;
}

function isAmong(typists: readonly Typist[]): Statement {
  const keys = padded(typists).map(({ conversation_id, user_id }) => [conversation_id, user_id]);
  return sql`(t.conversation_id, t.user_id) IN (VALUES ${rows(keys)})`;
}
