import { setImmediate } from "node:timers/promises";
import type { IndexReader } from "../../database.ts";
import { type Reader, sql } from "../../sql.ts";
import { followsRule, indexedWords, isIndexed, upTo } from "./search.ts";

/** The number of texts to compare at a time, and of their characters. */
const PAGE = 200;
const CHARACTERS = 100_000;

/** A difference between the index and the texts. */
export interface IndexFault {
  body_id: number;
  /** Null if the text was deleted. */
  message_id: string | null;
}

interface Indexed {
  id: number;
  message_id: string;
  conversation_id: string;
  text: string;
}

const INDEXED = sql<Indexed>`SELECT b.id, m.id AS message_id, m.conversation_id, b.text FROM message_bodies b
  JOIN messages m ON m.body_id = b.id WHERE b.text IS NOT NULL AND ${isIndexed(sql`b.id`)}`;

/**
 * Yields texts whose words are not all in the index, and deleted texts whose words are. It is also correct while a server runs.
 * Yields nothing if the index follows another rule, because the next start of a server rebuilds it.
 */
export async function* findIndexFaults(db: Reader, index: IndexReader): AsyncGenerator<IndexFault> {
  if (!(await followsRule(db))) return;
  for (let last = 0; ; ) {
    const found = await db.all(sql<Indexed>`${INDEXED} AND b.id > ${last} ORDER BY b.id LIMIT ${PAGE} + 0`);
    if (found.length === 0) break;
    const bodies = upTo(CHARACTERS, found);
    yield* findMissing(db, index, bodies);
    // Reads are synchronous, so let timers and signals run.
    await setImmediate();
    last = bodies.at(-1)!.id;
  }
  for await (const body_id of index.bodiesWithoutText(db)) yield { body_id, message_id: null };
}

async function* findMissing(
  db: Reader,
  index: IndexReader,
  bodies: readonly Indexed[],
): AsyncGenerator<IndexFault> {
  const wanted = new Map(
    bodies.map(({ id, conversation_id, text }) => [id, indexedWords(conversation_id, text)]),
  );
  const words = [...new Set(wanted.values().toArray().flat())];
  const missing = new Map(wanted.entries().map(([id, { length }]) => [id, length]));
  for (const { body_id } of await db.all(index.find(words, bodies[0]!.id, bodies.at(-1)!.id)))
    missing.set(body_id, (missing.get(body_id) ?? 0) - 1);
  for (const { id, message_id } of bodies) {
    if (missing.get(id)! <= 0) continue;
    // Check again in one statement: the text may have been deleted since.
    const entries = index.find(wanted.get(id)!, id, id);
    const row = await db.get(
      sql<Indexed & { entries: number }>`SELECT it.id, (SELECT COUNT(*) FROM (${entries}) AS e) AS entries
        FROM (${INDEXED} AND b.id = ${id}) AS it`,
    );
    if (row && row.entries < wanted.get(id)!.length) yield { body_id: id, message_id };
  }
}
