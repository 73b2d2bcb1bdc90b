// Keeps a list of deliveries up to date.
import type { Delivery, Page } from "../../../client/src/index.ts";

/** Returns the oldest delivery whose state may change, otherwise the newest one: without a gap, all after it are read again. */
export function toOldestOpen(items: readonly Delivery[]): string {
  return items.findLast(({ state }) => state === "pending")?.id ?? items[0]?.id ?? "";
}

/** Reads a list from its newest delivery to this one, page by page. */
export async function readSince(
  oldest: string,
  list: (after?: string) => PromiseLike<Page<Delivery>>,
): Promise<Delivery[]> {
  const read: Delivery[] = [];
  for (let after: string | undefined; ; after = read.at(-1)!.id) {
    const { data, has_more } = await list(after);
    read.push(...data);
    if (!has_more || read.at(-1)!.id <= oldest) return read;
  }
}

/** Returns the deliveries with these, newest first. An answer that is older than what is known changes nothing. */
export function mergeDeliveries(items: readonly Delivery[], fresh: readonly Delivery[]): Delivery[] {
  const known = new Map(items.map((each) => [each.id, each]));
  for (const each of fresh) {
    if ((known.get(each.id)?.updated_at ?? 0) <= each.updated_at) known.set(each.id, each);
  }
  return [...known.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}
