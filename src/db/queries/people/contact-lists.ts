import { NEWEST, OLDEST, type Page } from "../../page.ts";
import { padded, type QuickReader, type Reader, type Statement, sql } from "../../sql.ts";
import { LISTED, type ListedContact } from "./contact-rows.ts";

/** Filters of the owner's contacts. Without filters, all match. */
export interface ContactFilter {
  usernameKey?: string | undefined;
  phoneDigits?: string | undefined;
  search?: ContactSearch | undefined;
  blocked?: boolean | undefined;
}

/** Finds contacts whose search key has all the parts, or whose phone number, after a space, has some of the digits. */
interface ContactSearch {
  parts: readonly string[];
  digits: readonly string[];
}

/** Returns the rows of a page, and one more if there is one. */
export function listContacts(
  db: QuickReader,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
): Promise<ListedContact[]> {
  return db.allValues(contactsQuery(ownerId, filter, page));
}

/** The columns of `LISTED`. */
interface FoundContact {
  body: string;
  active_at: number | null;
  profile: string | null;
}

/** Returns the rows of a search, up to the contact `until` if that is given. May look at many other contacts. */
export async function searchContacts(
  db: Reader,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
  until: string | undefined,
): Promise<ListedContact[]> {
  const found = await db.all(sql<FoundContact>`${contactsQuery(ownerId, filter, page, until)}`);
  return found.map(({ body, active_at, profile }) => [body, active_at, profile]);
}

/** Finds the contact this many steps after the cursor, in the index of the filter. */
export async function findContactAfter(
  db: Reader,
  ownerId: string,
  filter: ContactFilter,
  page: Page,
  steps: number,
): Promise<string | undefined> {
  return (await db.get(contactBehindQuery(ownerId, filter, page, steps)))?.id;
}

/**
 * The order of each index within one owner, in terms that only this index has, so that a planner cannot choose another
 * one. For this a phone number is the bound of a range: an equality would make it a constant. In the other indexes the id
 * is an expression, because the primary key is ordered by the column.
 */
const PRIMARY = { key: sql`c.id`, ASC: sql`c.id ASC`, DESC: sql`c.id DESC` };
const HIDDEN_ID = { key: sql`(c.id || '')`, ASC: sql`(c.id || '') ASC`, DESC: sql`(c.id || '') DESC` };
const KEYS = {
  primary: PRIMARY,
  username: HIDDEN_ID,
  phone: {
    key: sql`(c.phone_digits, c.id)`,
    ASC: sql`c.phone_digits ASC, c.id ASC`,
    DESC: sql`c.phone_digits DESC, c.id DESC`,
  },
  blocked: HIDDEN_ID,
} as const;

/** Chooses the index that leaves the fewest contacts. Unblocked contacts have no index: it would slow creates down. */
function chooseIndex({ usernameKey, phoneDigits, blocked }: ContactFilter): keyof typeof KEYS {
  if (usernameKey !== undefined) return "username";
  if (phoneDigits !== undefined) return "phone";
  return blocked ? "blocked" : "primary";
}

/** Whether a page can cost more than its own rows, because its index also has contacts that the filter excludes. */
export function mustSearch(filter: ContactFilter): boolean {
  const index = chooseIndex(filter);
  if (index === "username") return false;
  return filter.search !== undefined || (filter.blocked !== undefined && index !== "blocked");
}

/** Creates the condition for the part of an index after the cursor, up to `until`. */
function rangeOf(ownerId: string, filter: ContactFilter, page: Page, until?: string): Statement {
  const { usernameKey, phoneDigits } = filter;
  const index = chooseIndex(filter);
  const { key } = KEYS[index];
  let range = sql`c.owner_id = ${ownerId}`;
  const cursor = index === "phone" ? sql`(${phoneDigits!}, ${page.cursor})` : page.cursor;
  range = page.newer ? sql`${range} AND ${key} > ${cursor}` : sql`${range} AND ${key} < ${cursor}`;
  // Only if needed: with two bounds of an id PostgreSQL expects few rows, and sorts all of them.
  if (until !== undefined || index === "phone") {
    const id = until ?? (page.newer ? NEWEST : OLDEST);
    const end = index === "phone" ? sql`(${phoneDigits!}, ${id})` : id;
    range = page.newer ? sql`${range} AND ${key} <= ${end}` : sql`${range} AND ${key} >= ${end}`;
  }
  if (usernameKey !== undefined) range = sql`${range} AND c.username_key = ${usernameKey}`;
  return index === "blocked" ? sql`${range} AND c.blocked_at IS NOT NULL` : range;
}

/** Adds the remaining conditions, which are checked row by row. They are expressions, so that no planner uses an index. */
function addChecks(range: Statement, filter: ContactFilter): Statement {
  const { phoneDigits, search, blocked } = filter;
  const index = chooseIndex(filter);
  let condition = range;
  if (phoneDigits !== undefined && index !== "phone")
    condition = sql`${condition} AND (c.phone_digits || '') = ${phoneDigits}`;
  if (search !== undefined) condition = sql`${condition} AND (${isFoundBy(search)})`;
  if (blocked === undefined || index === "blocked") return condition;
  return blocked
    ? sql`${condition} AND c.blocked_at + 0 IS NOT NULL`
    : sql`${condition} AND c.blocked_at + 0 IS NULL`;
}

function isFoundBy({ parts, digits }: ContactSearch): Statement {
  const [first, ...more] = padded(parts).map((part) => contains(sql`c.search_key`, part));
  let condition = first!;
  for (const each of more) condition = sql`${condition} AND ${each}`;
  for (const each of digits) condition = sql`${condition} OR ${contains(sql`(' ' || c.phone_digits)`, each)}`;
  return condition;
}

/** Holds if the column contains the text. Both engines do this fast; LIKE takes 100 times as long for a repetitive text. */
function contains(column: Statement, part: string): Statement {
  return sql`REPLACE(${column}, ${part}, '') <> ${column}`;
}

function orderOf(filter: ContactFilter, { newer }: Page): Statement {
  return KEYS[chooseIndex(filter)][newer ? "ASC" : "DESC"];
}

export function contactsQuery(
  ownerId: string,
  filter: ContactFilter,
  page: Page,
  until?: string,
): Statement<ListedContact> {
  const condition = addChecks(rangeOf(ownerId, filter, page, until), filter);
  return sql`SELECT ${LISTED} FROM contacts c WHERE ${condition} ORDER BY ${orderOf(filter, page)}
    LIMIT ${page.limit + 1} + 0`;
}

export function contactBehindQuery(
  ownerId: string,
  filter: ContactFilter,
  page: Page,
  steps: number,
): Statement<{ id: string }> {
  const range = rangeOf(ownerId, filter, page);
  return sql`SELECT c.id FROM contacts c WHERE ${range} ORDER BY ${orderOf(filter, page)}
    LIMIT 1 OFFSET ${steps - 1} + 0`;
}
