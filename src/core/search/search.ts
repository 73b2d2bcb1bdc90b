import { findMessages, type MessageRow } from "../../db/queries/messages/messages.ts";
import {
  type ConversationEnd,
  findMessagesOfBodies,
  getIndexState,
  indexKey,
  listConversationEnds,
  listIdsBetween,
  listTexts,
  listUnindexed,
  upTo,
} from "../../db/queries/search/search.ts";
import { findSeat } from "../../db/queries/visibility/seats.ts";
import { ParleyError } from "../../errors.ts";
import { idBound, timeOfId } from "../../util/ids.ts";
import { hasTerms, type Lookup, type Term, toLookups, toTerms } from "../../util/words.ts";
import { type MessageAdditions, renderMessages } from "../messages/messages.ts";
import type { Caller } from "../node/caller.ts";
import type { Core, DataAccess } from "../node/core.ts";
import { NEWEST, type Page, type PageEnvelope, toPage } from "../resource/page.ts";
import { CHARACTERS_PER_TURN, ROWS_PER_TURN, type Turns } from "../resource/turns.ts";

/** Words of a query. */
const MAX_TERMS = 20;
/** Conversations that are looked up in one turn of the event loop. */
const CONVERSATIONS_PER_TURN = 64;
/** If more messages have a word, it is too frequent to look all of them up. */
const MAX_CANDIDATES = 2000;
/** How many texts to read first: enough for most pages of a frequent word. */
const FIRST_TEXTS = 20;
/** The maximum number of texts to read at once after that. */
const TEXTS_AT_ONCE = 100;
/** UTF-8 bytes of texts to read at once, without the last text. Reads of other users wait meanwhile. */
const BYTES_AT_ONCE = 200_000;
/** A request that has read this many texts, because all its words are frequent, ends its page early. */
const MAX_LOOKED_AT = 20_000;
/** The messages and characters of one write of the index. Other writes wait for it. */
export const INDEXED_AT_ONCE = { limit: 200, characters: 100_000 };
/** A search looks through this many waiting texts of all users for those of its user. If more wait, it is refused. */
const MAX_UNINDEXED = 20_000;

interface SearchRequest extends Page, MessageAdditions {
  q: string;
  conversation_id?: string | undefined;
}

/**
 * Searches the caller's messages for all words of `q`, the last one as a prefix, newest first. The index finds candidates, and
 * their texts decide. Throws `conversation_not_found`, and `unavailable` if it needs the index while that is rebuilt or cannot
 * be used.
 */
export async function searchMessages(
  core: Core,
  caller: Caller,
  request: SearchRequest,
  turns: Turns,
): Promise<PageEnvelope> {
  const terms = toSearchTerms(request.q);
  await turns.next();
  const conversations = await turns.read(() => conversationsOf(core, caller, request.conversation_id));
  const search = new Search(core, caller, { ...request, terms, conversations, turns });
  let candidates = await search.listFew();
  if (!candidates) {
    // Read these before the index, so that a text that is indexed in between is found twice and not missed.
    const unindexed = (await hasUnindexed(core)) ? await search.listUnindexed() : [];
    candidates = await search.findCandidates(unindexed);
  }
  const end = candidates ? await search.check(candidates) : await search.walk();
  const rows = await renderMessages(core, search.found, caller.userId, request.include);
  return toPage(request, rows, (json) => json, { end });
}

function toSearchTerms(q: string): Term[] {
  const terms = toTerms(q);
  if (terms.length > 0 && terms.length <= MAX_TERMS) return terms;
  const detail =
    terms.length === 0
      ? "q must have a letter, a digit or an emoji."
      : `q must have at most ${MAX_TERMS} words.`;
  throw new ParleyError("invalid_parameter", detail, { param: "q" });
}

async function conversationsOf(
  core: DataAccess,
  { userId }: Caller,
  id: string | undefined,
): Promise<ConversationEnd[]> {
  if (id !== undefined && !(await findSeat(core.db, id, userId)))
    throw new ParleyError("conversation_not_found", undefined, { param: "conversation_id" });
  return listConversationEnds(core.db.background, userId, id);
}

/** Reports whether texts wait for the index. Throws `unavailable` while the index is rebuilt. */
async function hasUnindexed(core: DataAccess): Promise<boolean> {
  const { rebuilt, waiting } = await getIndexState(core.db);
  if (rebuilt !== null)
    throw new ParleyError("unavailable", "The search index is being built. Try again later.");
  return waiting === 1;
}

/** Returns the error if the index cannot be reached, or is damaged beyond a rebuild, while everything else works. */
function unusableIndex(cause: unknown): ParleyError {
  return new ParleyError("unavailable", undefined, { cause });
}

/** The query of a search, prepared. */
interface Plan extends Page {
  terms: readonly Term[];
  conversations: readonly ConversationEnd[];
  conversation_id?: string | undefined;
  turns: Turns;
}

class Search {
  /** The rows found, in the order of the page. One more than its limit means that there are more. */
  readonly found: MessageRow[] = [];
  readonly #core: Core;
  readonly #userId: string;
  readonly #plan: Plan;
  readonly #conversationIds: readonly string[];
  /** How many texts to read next, if they are short. */
  #textsAtOnce = FIRST_TEXTS;

  constructor(core: Core, caller: Caller, plan: Plan) {
    this.#core = core;
    this.#userId = caller.userId;
    this.#plan = plan;
    this.#conversationIds = plan.conversations.map(([id]) => id);
  }

  /** Returns all messages if reading them costs less than the index, which also has other users' messages. */
  listFew(): Promise<string[] | undefined> {
    return this.#listBetween("", NEWEST, this.#core.limits.messagesReadAtOnce);
  }

  /** Returns the messages of these conversations that are not in the index yet. */
  async listUnindexed(): Promise<string[]> {
    const ids: string[] = [];
    for (let after = 0, looked = 0; looked < MAX_UNINDEXED; looked += ROWS_PER_TURN) {
      const rows = await this.#plan.turns.read(() =>
        listUnindexed(this.#core.db.background, this.#userId, { after, limit: ROWS_PER_TURN }),
      );
      await this.#plan.turns.next();
      for (const [, id] of rows) if (id !== null) ids.push(id);
      if (rows.length < ROWS_PER_TURN) return ids;
      [after] = rows.at(-1)!;
    }
    throw new ParleyError("unavailable", "Too many new messages wait for the search index. Try again later.");
  }

  /**
   * Returns all messages that have one word of the query, as candidates, and those that are not in the index yet. Undefined if all
   * words are frequent.
   */
  async findCandidates(unindexed: readonly string[]): Promise<string[] | undefined> {
    const lookups = this.#plan.terms
      .flatMap(toLookups)
      .sort((a, b) => Number(a.isPrefix) - Number(b.isPrefix) || b.entry.length - a.entry.length);
    for (const lookup of lookups) {
      const bodies = await this.#lookUp(lookup);
      if (!bodies) continue;
      const ids = new Set(unindexed);
      for (const some of parts([...new Set(bodies)], ROWS_PER_TURN)) {
        const found = await this.#plan.turns.read(() => findMessagesOfBodies(this.#core.db.background, some));
        for (const id of found) ids.add(id);
        await this.#plan.turns.next();
      }
      return [...ids];
    }
    return undefined;
  }

  async #lookUp(lookup: Lookup): Promise<number[] | undefined> {
    const bodies: number[] = [];
    for (const ids of parts(this.#conversationIds, CONVERSATIONS_PER_TURN)) {
      const room = MAX_CANDIDATES + 1 - bodies.length;
      const some = this.#plan.turns.read(() => this.#core.db.findBodies(ids.map(indexKey), lookup, room));
      bodies.push(...(await some.catch((error) => Promise.reject(unusableIndex(error)))));
      await this.#plan.turns.next();
      if (bodies.length > MAX_CANDIDATES) return undefined;
    }
    return bodies;
  }

  /** Reads the texts of these messages until the page is full. */
  async check(ids: readonly string[]): Promise<undefined> {
    const { cursor, newer } = this.#plan;
    const rest = ids.filter((id) => (newer ? id > cursor : id < cursor));
    await this.#read(this.#inOrder(rest));
  }

  /** Reads the texts of all conversations from the cursor on. Returns where the next page continues if this one ended early. */
  async walk(): Promise<string | undefined> {
    let left = MAX_LOOKED_AT;
    for await (const { ids, end } of this.#windows()) {
      const some = ids.slice(0, MAX_LOOKED_AT);
      await this.#read(some);
      left -= some.length;
      if (this.#isDone()) return undefined;
      if (some.length < ids.length) return some.at(-1);
      if (left <= 0) return end;
    }
    return undefined;
  }

  #isDone(): boolean {
    return this.found.length > this.#plan.limit;
  }

  async #read(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; ) {
      const found = await this.#readTexts(ids.slice(at, at + this.#textsAtOnce));
      this.#textsAtOnce = TEXTS_AT_ONCE;
      at += found.length;
      for (let texts = found; texts.length > 0; ) {
        await this.#plan.turns.next();
        const these = upTo(CHARACTERS_PER_TURN, texts);
        await this.#keep(this.#match(these));
        if (this.#isDone()) return;
        texts = texts.slice(these.length);
      }
    }
  }

  /** Returns the first messages, at least one, each with its text, which is empty if it has none. */
  async #readTexts(ids: readonly string[]): Promise<{ id: string; text: string }[]> {
    const limits = { newer: this.#plan.newer, bytes: BYTES_AT_ONCE };
    const found = new Map(
      await this.#plan.turns.read(() => listTexts(this.#core.db.background, ids, limits)),
    );
    // Messages that have been erased since are not found.
    const end = ids.findLastIndex((id) => found.has(id)) + 1 || ids.length;
    return ids.slice(0, end).map((id) => ({ id, text: found.get(id) ?? "" }));
  }

  /** Returns the messages whose texts have all words. The user may not see some. */
  #match(texts: readonly { id: string; text: string }[]): string[] {
    return texts.filter(({ text }) => hasTerms(text, this.#plan.terms)).map(({ id }) => id);
  }

  /** Adds the messages that the user sees, until the page is full. */
  async #keep(matching: readonly string[]): Promise<void> {
    const { conversation_id: conversationId, limit } = this.#plan;
    for (const some of parts(matching, limit + 1)) {
      const rows = new Map<string, MessageRow>();
      for (const row of await findMessages(this.#core.db, this.#userId, some)) rows.set(row.id, row);
      for (const id of some) {
        const row = rows.get(id);
        if (row?.text == null || row.conversation_id !== (conversationId ?? row.conversation_id)) continue;
        if (this.found.length <= limit) this.found.push(row);
      }
      if (this.#isDone()) return;
    }
  }

  #inOrder(ids: string[]): string[] {
    ids.sort();
    return this.#plan.newer ? ids : ids.reverse();
  }

  /**
   * Yields the messages of all conversations in the order of the page, one span of time at a time. The fewer messages there are, the
   * longer the spans. Each span but the last has a cursor at its end, which reveals nothing about messages that the user does not
   * see.
   */
  async *#windows(): AsyncGenerator<{ ids: string[]; end: string | undefined }> {
    const { cursor, newer, conversations } = this.#plan;
    // Do not use this node's clock: other clocks may be ahead, or were when messages were sent.
    const newest = conversations.reduce((time, [, lastId]) => Math.max(time, timeOfId(lastId)), 0);
    let edge = cursor;
    let time = cursor === NEWEST ? newest + 1 : timeOfId(cursor);
    for (let width = FIRST_SPAN_MS; ; ) {
      const next = newer ? time + width : time - width;
      const isLast = newer ? next > newest : next <= 0;
      const far = isLast ? (newer ? NEWEST : "") : idBound("msg", next);
      const most = width > 1 ? MAX_CANDIDATES : NO_LIMIT;
      const ids = await this.#listBetween(newer ? edge : far, newer ? far : edge, most);
      if (!ids) {
        width = Math.max(1, Math.floor(width / 64));
        continue;
      }
      yield { ids: this.#inOrder(ids), end: isLast ? undefined : far };
      if (isLast) return;
      [edge, time] = [far, next];
      if (ids.length < ROWS_PER_TURN) width *= 4;
    }
  }

  /** Lists the messages between two ids; undefined if there are more than `most`. */
  async #listBetween(from: string, to: string, most: number): Promise<string[] | undefined> {
    const ids: string[] = [];
    for (const some of parts(this.#conversationIds, CONVERSATIONS_PER_TURN)) {
      const limit = most + 1 - ids.length;
      const range = { from, to, limit };
      ids.push(
        ...(await this.#plan.turns.read(() =>
          listIdsBetween(this.#core.db.background, this.#userId, some, range),
        )),
      );
      await this.#plan.turns.next();
      if (ids.length > most) return undefined;
    }
    return ids;
  }
}

/** One less than the greatest limit that PostgreSQL accepts. */
const NO_LIMIT = 2 ** 31 - 2;
const FIRST_SPAN_MS = 60 * 60 * 1000;

function* parts<T>(values: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < values.length; at += size) yield values.slice(at, at + size);
}
