// Pages of lists. Parsing the query checks the form of a cursor here. The cursor of an event also names its recipient, which
// `core/events/events.ts` checks. Queries get a `Page` (`db/page.ts`) and return one row more than its limit if there is one.
// `http/protocol/pages.ts` sends the envelope, with links to the previous and next pages.
import { NEWEST, type Page } from "../../db/page.ts";
import { ParleyError } from "../../errors.ts";
import { type IdKind, idPattern, isId, SUFFIX as POSITION } from "../../util/ids.ts";
import { usernameKey } from "../../util/text.ts";
import { describedField, type Field, optional, type Parsed, textField, username } from "./fields.ts";
import { idOf } from "./resource.ts";
import type { Turns } from "./turns.ts";

export { NEWEST, OLDEST, type Page } from "../../db/page.ts";

/** The id of an item of the list; the item itself may be gone. */
export function cursor(kind: IdKind): Field<string, true> {
  return textField(`the id of an item in this list (${kind}_…)`, { pattern: idPattern(kind) }, (value) =>
    isId(kind, value) ? value : undefined,
  );
}

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;

/** How many items to return. */
export function limitField(maximum: number, byDefault: number): Field<number, true> {
  return textField(
    `a whole number from 1 to ${maximum}`,
    { type: "integer", minimum: 1, maximum, default: byDefault },
    (value) => (/^[1-9][0-9]{0,2}$/.test(value) && Number(value) <= maximum ? Number(value) : undefined),
  );
}

const limit = limitField(MAX_LIMIT, DEFAULT_LIMIT);

const position = textField(
  "the position of a conversation in your inbox",
  { pattern: POSITION.source },
  (value) => (POSITION.test(value) ? value : undefined),
);

/** The query of an inbox, whose cursors are positions: ids would not say where a conversation was. */
export const inboxPageFields = {
  limit: optional(limit),
  starting_after: optional(describedField(position, "Returns conversations below this position.")),
  ending_before: optional(describedField(position, "Returns conversations above this position.")),
};

/** A username as a cursor. A space before it makes it differ from the cursor of a first page. */
const nameCursor: Field<string, true> = {
  ...username,
  parse(value) {
    const name = username.parse(value);
    return name === undefined ? undefined : ` ${usernameKey(name)}`;
  },
};

/** The query of a list of usernames, in their order. */
export const namePageFields = {
  limit: optional(limit),
  starting_after: optional(describedField(nameCursor, "Returns usernames after this one.")),
  ending_before: optional(describedField(nameCursor, "Returns usernames before this one.")),
};

/** The query of a list. */
export function pageFields(kind: IdKind) {
  return {
    limit: optional(limit),
    starting_after: optional(describedField(cursor(kind), `Returns items older than this one (${kind}_…).`)),
    ending_before: optional(describedField(cursor(kind), `Returns items newer than this one (${kind}_…).`)),
  };
}

export type PageFields = Parsed<ReturnType<typeof pageFields>>;

/** A page with the other fields of its query as filters. */
export type PageRequest<F> = Page & Omit<F, keyof PageFields>;

/** Returns the page that the fields ask for. Throws if they have two cursors. */
export function toPageRequest<F extends PageFields>(fields: F): PageRequest<F> {
  const { starting_after, ending_before, limit = DEFAULT_LIMIT, ...filters } = fields;
  const newer = ending_before !== undefined;
  if (newer && starting_after !== undefined) {
    throw new ParleyError("invalid_parameter", "Send starting_after or ending_before, not both.", {
      param: "ending_before",
    });
  }
  return { ...filters, cursor: ending_before ?? starting_after ?? NEWEST, newer, limit };
}

/** Rows of a page. `end` is where the walk stopped, if that was before the end of the list. */
interface Walked<R, C> {
  rows: R[];
  end?: C | undefined;
}

/**
 * Takes steps through a list, each in a separate turn of the event loop, until the page is full or the list ends. A step gets
 * where to start, the number of missing rows, and how many items it may look at. It returns rows of the page, how many items it
 * looked at, and where to continue; undefined at the end of the list. After `most` items the page may be shorter than its limit.
 */
export async function walkPages<R, C = string>(
  { limit }: Pick<Page, "limit">,
  start: C,
  turns: Turns,
  step: (
    at: C,
    missing: number,
    left: number,
  ) => Promise<{ rows: R[]; next: C | undefined; looked?: number }>,
  most = Number.POSITIVE_INFINITY,
): Promise<Walked<R, C>> {
  const rows: R[] = [];
  let left = most;
  for (let at = start; ; await turns.next()) {
    const { rows: found, next, looked = 0 } = await step(at, limit + 1 - rows.length, left);
    rows.push(...found);
    left -= looked;
    if (rows.length > limit || next === undefined) return { rows };
    if (left <= 0) return { rows, end: next };
    at = next;
  }
}

/** The page envelope (source document, section 2.4): items newest first. */
export interface PageEnvelope {
  has_more: boolean;
  /** JSON texts of the resources. */
  data: string[];
  /** The cursors of the pages before and after; null if there is none, because the page is empty. */
  first: string | null;
  last: string | null;
  /** Whether there are newer items, for a page around an item. `has_more` is then about older ones. */
  has_newer?: boolean;
}

/**
 * Turns rows into the envelope. One row more than the limit means that there are more. The next page continues after `end` if
 * the walk ended early, otherwise after the last item. A cursor is the id of an item unless `cursorOf` returns another.
 */
export function toPage<R>(
  page: Page,
  rows: readonly R[],
  shape: (row: R) => string,
  { end, cursorOf }: { end?: string | undefined; cursorOf?: (row: R) => string } = {},
): PageEnvelope {
  const shown = rows.slice(0, page.limit);
  if (page.newer) shown.reverse();
  const data = shown.map(shape);
  const cursorAt = (i: number) =>
    data.length === 0 ? null : cursorOf ? cursorOf(shown.at(i)!) : idOf(data.at(i)!);
  const [first, last] = [cursorAt(0), cursorAt(-1)];
  if (rows.length > page.limit || end === undefined)
    return { has_more: rows.length > page.limit, data, first, last };
  return {
    has_more: true,
    data,
    ...(page.newer ? { first: end, last: last ?? end } : { first: first ?? end, last: end }),
  };
}

/** Turns rows of several lists, each in the order of the page, into the envelope. */
export function toMergedPage<R>(
  page: Page,
  rows: readonly R[],
  toId: (row: R) => string,
  shape: (row: R) => string,
): PageEnvelope {
  const order = page.newer ? 1 : -1;
  const sorted = rows.toSorted((a, b) => (toId(a) < toId(b) ? -order : order));
  return toPage(page, sorted, shape);
}
