import { type Page, walkPages } from "./page.ts";
import { CHARACTERS_PER_TURN, ROWS_PER_TURN, type Turns } from "./turns.ts";

/** A list whose names are looked at one by one. */
interface NamedList<N, R> {
  /** Returns the next names of a walk, at most its limit. */
  listNames(walk: Page): Promise<N[]>;
  isMatch(name: N): boolean;
  /** Returns the length of the text that `isMatch` compares, in UTF-16 units. */
  lengthOf(name: N): number;
  /** Returns the items that the caller sees, in any order. */
  findRows(ids: readonly string[]): Promise<R[]>;
}

/** The maximum number of names that one request looks at. */
const MAX_LOOKED_AT = 20_000;

/**
 * Searches names in several turns of the event loop, as for contacts. Looks at a limited number of names, so a page with fewer
 * items than its limit need not be the last.
 */
export async function searchNames<N extends { id: string }, R extends { id: string }>(
  page: Page,
  list: NamedList<N, R>,
  turns: Turns,
): ReturnType<typeof walkPages<R>> {
  // Many searches are for frequent words. Their pages end within these first steps, and cost little more than others.
  let steps = 2 * (page.limit + 1);
  const step = async (cursor: string, missing: number, left: number) => {
    const walk: Page = { cursor, newer: page.newer, limit: Math.min(steps, left) };
    steps = ROWS_PER_TURN;
    const names = await list.listNames(walk);
    const matching = await match(names, list, turns);
    const wanted = matching.slice(0, missing);
    const rows = wanted.length === 0 ? [] : inOrder(wanted, await list.findRows(wanted));
    const isWhole = wanted.length === matching.length;
    const last = isWhole ? names.at(-1)?.id : wanted.at(-1);
    return { rows, next: isWhole && names.length < walk.limit ? undefined : last, looked: names.length };
  };
  return walkPages(page, page.cursor, turns, step, MAX_LOOKED_AT);
}

/** Returns the ids of the matching names. Long names take more turns. */
async function match<N extends { id: string }>(
  names: readonly N[],
  { isMatch, lengthOf }: Pick<NamedList<N, unknown>, "isMatch" | "lengthOf">,
  turns: Turns,
): Promise<string[]> {
  const matching: string[] = [];
  let characters = 0;
  for (const name of names) {
    const length = lengthOf(name);
    if (characters + length > CHARACTERS_PER_TURN) {
      await turns.next();
      characters = 0;
    }
    characters += length;
    if (isMatch(name)) matching.push(name.id);
  }
  return matching;
}

/** Returns the rows in the order of the ids, without those that are missing. */
export function inOrder<R extends { id: string }>(ids: readonly string[], rows: readonly R[]): R[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
