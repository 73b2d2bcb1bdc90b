import { type Reader, sql } from "../../sql.ts";

/** A backlog is counted up to this number, so that each metrics request is short. */
const MAX_COUNTED = 10_000;

/** What waits for background work, with the rows that wait. */
const WAITING = {
  events: sql`SELECT 1 AS one FROM outbox`,
  search: sql`SELECT 1 AS one FROM unindexed`,
  deliveries: sql`SELECT 1 AS one FROM deliveries WHERE state = 'pending'`,
};
export type Backlog = keyof typeof WAITING;
export const BACKLOGS = Object.keys(WAITING) as Backlog[];

/** Counts what waits: events without a number, messages outside of the search index, or deliveries to webhooks and devices. */
export async function countBacklog(db: Reader, backlog: Backlog): Promise<number> {
  const query = sql<{
    count: number;
  }>`SELECT COUNT(*) AS count FROM (${WAITING[backlog]} LIMIT ${MAX_COUNTED}) AS waiting`;
  return (await db.get(query))!.count;
}
