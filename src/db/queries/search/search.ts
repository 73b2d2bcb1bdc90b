import { toEntries, WORD_RULE } from "../../../util/words.ts";
import {
  EMPTY,
  join,
  list,
  padded,
  type QuickReader,
  type Reader,
  type Statement,
  sql,
  type ValuesReader,
} from "../../sql.ts";
import { all, batch, get, run, type Write, write } from "../../write.ts";

// A new body waits in `unindexed` until the indexer writes its words into the index, with those of many other bodies: for a single
// body that costs as much as sending the message. Until then a search reads its text. The transaction that erases a text also
// removes its words from the index.

/** A text that a write adds or erases. */
export interface IndexedBody {
  conversation_id: string;
  body_id: number | null;
  text: string | null;
}

/** The part of an id that is random enough to distinguish conversations. A search checks what it finds. */
const KEY_LENGTH = 10;

/** Returns the prefix of all words of the conversation in the index. */
export function indexKey(conversationId: string): string {
  return conversationId.slice(-KEY_LENGTH);
}

/** Returns the words of a text as they are in the index. */
export function indexedWords(conversationId: string, text: string): string[] {
  const key = indexKey(conversationId);
  return toEntries(text).map((entry) => key + entry);
}

/** Reports whether the words of a text are in the index. */
export function isIndexed(bodyId: Statement): Statement {
  return sql`NOT EXISTS (SELECT 1 FROM unindexed WHERE body_id = ${bodyId})
    AND COALESCE((SELECT MIN(after_id) FROM reindexing), ${bodyId}) >= ${bodyId}`;
}

/** Part of other writes: queues the text for the index. */
export function queueBody(bodyId: number | null, text: string | null): Statement[] {
  return bodyId === null || text === null ? [] : [sql`INSERT INTO unindexed (body_id) VALUES (${bodyId})`];
}

/** Part of other writes: removes the words of the text from the index, if they are there. */
export function dropWords({ conversation_id, body_id, text }: IndexedBody): Statement[] {
  if (body_id === null || text === null) return [];
  const forget = sql`DELETE FROM unindexed WHERE body_id = ${body_id}`;
  const words = indexedWords(conversation_id, text).join(" ");
  // SQLite counts the rows of the index, so do not remove one that was never added.
  if (words === "") return [forget];
  return [
    sql`INSERT INTO message_index (message_index, rowid, words)
      SELECT 'delete', CAST(${body_id} AS BIGINT), CAST(${words} AS TEXT) WHERE ${isIndexed(sql`${body_id}`)}`,
    forget,
  ];
}

interface NewBody {
  id: number;
  conversation_id: string;
  text: string;
}

const NEW_BODY = sql<NewBody>`SELECT b.id, m.conversation_id, b.text FROM message_bodies b
  JOIN messages m ON m.body_id = b.id`;

export function bodiesAfter(id: number, limit: number): Statement<NewBody> {
  // Bound the ids in both tables: PostgreSQL would otherwise begin with the first message.
  return sql`${NEW_BODY} WHERE b.id > ${id} AND m.body_id > ${id} AND b.text IS NOT NULL
    ORDER BY b.id LIMIT ${limit} + 0`;
}

/** Selects waiting bodies. Looks each up separately: PostgreSQL would join all messages, and so conflict with new ones. */
function waitingBodies(limit: number): Statement<NewBody> {
  return sql`SELECT id, conversation_id, text FROM (SELECT w.body_id AS id,
      (SELECT m.conversation_id FROM messages m WHERE m.body_id = w.body_id) AS conversation_id,
      (SELECT b.text FROM message_bodies b WHERE b.id = w.body_id) AS text
    FROM unindexed w ORDER BY w.body_id LIMIT ${limit} + 0) AS waiting
    WHERE conversation_id IS NOT NULL ORDER BY id`;
}

/** How much of the index to write at once. */
interface Portion {
  limit: number;
  characters: number;
}

/**
 * Writes the words of the next texts into the index: at most `limit` texts with about `characters`. Returns false if the index
 * then has all texts that were committed when the write began.
 */
const indexMessages = write(
  { serializeBy: () => "index" },
  function* ({ limit, characters }: Portion): Write<boolean> {
    const rebuild = yield* get<{ after_id: number }>(sql`SELECT after_id FROM reindexing`);
    const found = rebuild
      ? yield* all(bodiesAfter(rebuild.after_id, limit))
      : yield* all(waitingBodies(limit));
    if (found.length === 0) {
      if (rebuild) yield* run(sql`DELETE FROM reindexing`);
      return rebuild !== undefined;
    }
    const bodies = upTo(characters, found);
    const ids = padded(bodies.map(({ id }) => id));
    const rows = bodies.flatMap(({ id, conversation_id, text }) => {
      const words = indexedWords(conversation_id, text).join(" ");
      return words === "" ? [] : [sql`(${id}, ${words})`];
    });
    yield* batch([
      ...inPowers(rows).map(
        (some) => sql`INSERT INTO message_index (rowid, words) VALUES ${join(some, ", ")}`,
      ),
      sql`DELETE FROM unindexed WHERE body_id IN (${list(ids)})`,
      ...(rebuild ? [sql`UPDATE reindexing SET after_id = ${bodies.at(-1)!.id}`] : []),
    ]);
    return rebuild !== undefined || bodies.length < found.length || found.length === limit;
  },
);

/** Returns as many of the first texts as have about this many characters together, at least one. */
export function upTo<T extends { text: string | null }>(characters: number, found: readonly T[]): T[] {
  let left = characters;
  const end = found.findIndex(({ text }) => {
    left -= text?.length ?? 0;
    return left < 0;
  });
  return end === -1 ? [...found] : found.slice(0, Math.max(1, end));
}

/** Divides rows into groups whose sizes are powers of two, so that few different statements must be prepared. */
function inPowers<T>(rows: readonly T[]): T[][] {
  const powers: T[][] = [];
  for (let done = 0; done < rows.length; done += powers.at(-1)!.length) {
    const count = 2 ** Math.floor(Math.log2(rows.length - done));
    powers.push(rows.slice(done, done + count));
  }
  return powers;
}

/** Empties the index, which `indexMessages` then rebuilds. Until then searches are refused. */
export function* rebuildIndex(): Write<void> {
  yield* batch([
    sql`INSERT INTO message_index (message_index) VALUES ('delete-all')`,
    // A concurrent write that indexes these texts must fail: PostgreSQL does not detect a conflict with emptying the index.
    sql`DELETE FROM unindexed`,
    sql`DELETE FROM reindexing`,
    sql`INSERT INTO reindexing (after_id) SELECT 0 WHERE EXISTS (SELECT 1 FROM messages)`,
    sql`DELETE FROM word_rule`,
    sql`INSERT INTO word_rule (rule) VALUES (${WORD_RULE})`,
  ]);
}

/** Reports whether the index follows the current rule for words. Otherwise words could not be removed from it. */
export async function followsRule(db: Reader): Promise<boolean> {
  return (await db.get<{ rule: string }>(sql`SELECT rule FROM word_rule`))?.rule === WORD_RULE;
}

/** The state of the index: while it is rebuilt, `rebuilt` is the last body in it. `waiting` is 1 if bodies wait for it. */
export interface IndexState {
  rebuilt: number | null;
  waiting: number;
}

export async function getIndexState(db: QuickReader): Promise<IndexState> {
  const state = await db.get<IndexState>(
    sql`SELECT (SELECT after_id FROM reindexing) AS rebuilt,
      CASE WHEN EXISTS (SELECT 1 FROM unindexed) THEN 1 ELSE 0 END AS waiting`,
  );
  return state!;
}

/** Returns the id of the newest body; 0 if there is none. */
export async function lastBody(db: Reader): Promise<number> {
  return (await db.get<{ id: number }>(sql`SELECT COALESCE(MAX(id), 0) AS id FROM message_bodies`))!.id;
}

/**
 * Returns the bodies after this one that wait for the index, in their order, each with the id of its message, or null if the
 * message is not in a conversation of the user.
 */
export async function listUnindexed(
  db: ValuesReader,
  userId: string,
  { after, limit }: { after: number; limit: number },
): Promise<[bodyId: number, id: string | null][]> {
  return db.allValues(
    sql`SELECT w.body_id, (SELECT m.id FROM messages m
        JOIN members s ON s.conversation_id = m.conversation_id AND s.user_id = ${userId}
        WHERE m.body_id = w.body_id)
      FROM unindexed w WHERE w.body_id > ${after} ORDER BY w.body_id LIMIT ${limit} + 0`,
  );
}

/** Finds the messages of these bodies. */
export async function findMessagesOfBodies(db: ValuesReader, bodyIds: readonly number[]): Promise<string[]> {
  const found = await db.allValues(
    sql<[id: string]>`SELECT id FROM messages WHERE body_id IN (${list(padded(bodyIds))})`,
  );
  return found.map(([id]) => id);
}

/**
 * Returns texts of the messages, newest first or oldest first, until they have this many bytes together without the last one. Does
 * not check who sees them. A message without a text has null. Only the sizes are read to find the last one.
 */
export async function listTexts(
  db: ValuesReader,
  ids: readonly string[],
  { newer, bytes }: { newer: boolean; bytes: number },
): Promise<[id: string, text: string | null][]> {
  const order = newer ? sql`m.id` : sql`m.id DESC`;
  return db.allValues(
    sql`SELECT s.id, b.text FROM (SELECT m.id, m.body_id, COALESCE(SUM(octet_length(b.text))
        OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
      FROM messages m LEFT JOIN message_bodies b ON b.id = m.body_id WHERE m.id IN (${list(padded(ids))})) s
      LEFT JOIN message_bodies b ON b.id = s.body_id WHERE s.bytes_before < ${bytes}`,
  );
}

export type ConversationEnd = [id: string, lastId: string];

/** Returns the conversations in which the user has received a message, or only this one if it is among them. */
export async function listConversationEnds(
  db: ValuesReader,
  userId: string,
  conversationId: string | undefined,
): Promise<ConversationEnd[]> {
  const isThis = conversationId === undefined ? EMPTY : sql`AND p.conversation_id = ${conversationId}`;
  return db.allValues(
    sql`SELECT p.conversation_id, c.last_id FROM places p JOIN conversations c ON c.id = p.conversation_id
      WHERE p.user_id = ${userId} AND p.position IS NOT NULL ${isThis}`,
  );
}

/**
 * Returns ids between `from` and `to` of messages of the conversations, in no order, at most `limit`. Leaves out messages from
 * before the user joined, but not those that are withheld from the user.
 */
export async function listIdsBetween(
  db: ValuesReader,
  userId: string,
  conversationIds: readonly string[],
  range: { from: string; to: string; limit: number },
): Promise<string[]> {
  const found = await db.allValues(idsQuery(userId, conversationIds, range));
  return found.map(([id]) => id);
}

export function idsQuery(
  userId: string,
  conversationIds: readonly string[],
  { from, to, limit }: { from: string; to: string; limit: number },
): Statement<[id: string]> {
  return sql`SELECT m.id FROM members s JOIN messages m ON m.conversation_id = s.conversation_id
      AND m.id > CASE WHEN s.since_id > ${from} THEN s.since_id ELSE ${from} END AND m.id < ${to}
    WHERE s.user_id = ${userId} AND s.conversation_id IN (${list(padded(conversationIds))}) LIMIT ${limit} + 0`;
}

export const searchWrites = { indexMessages, rebuildIndex };
