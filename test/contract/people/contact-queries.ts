import type { Page } from "../../../src/db/page.ts";
import {
  type ContactFilter,
  contactBehindQuery,
  contactsQuery,
  mustSearch,
} from "../../../src/db/queries/people/contact-lists.ts";
import type { Statement } from "../../../src/db/sql.ts";

export type ContactIndex = "primary" | "username" | "phone" | "blocked";

/** A statement of a contact list. */
export interface ContactQuery extends Statement {
  /** The only index by which it may read contacts. */
  index: ContactIndex;
  /** Whether it reads one part of a search, which has few enough rows to be sorted. */
  isPart: boolean;
}

const FILTERS: [ContactFilter, ContactIndex][] = [];
for (const usernameKey of [undefined, "name 77"]) {
  for (const phoneDigits of [undefined, "555"]) {
    for (const blocked of [undefined, false, true]) {
      for (const search of [
        undefined,
        { parts: [" name"], digits: [] },
        { parts: [" 77", "名"], digits: ["077", " 0"] },
      ]) {
        const index = usernameKey ? "username" : phoneDigits ? "phone" : blocked ? "blocked" : "primary";
        FILTERS.push([{ usernameKey, phoneDigits, blocked, search }, index]);
      }
    }
  }
}

const STEPS = 2000;

/**
 * Returns every statement that reads this page, for each combination of filters, with and without the upper limit of a
 * search.
 */
export function contactQueries(ownerId: string, page: Page, until: string): ContactQuery[] {
  return FILTERS.flatMap(([filter, index]) => {
    const isPart = mustSearch(filter);
    const statements: Statement[] = [contactsQuery(ownerId, filter, page)];
    if (isPart)
      statements.push(
        contactsQuery(ownerId, filter, page, until),
        contactBehindQuery(ownerId, filter, page, STEPS),
      );
    return statements.map((statement) => ({ ...statement, index, isPart }));
  });
}
