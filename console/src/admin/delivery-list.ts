// Updates a list of deliveries.
import type { Delivery, Page } from "../../../packages/parley-client/src/index.ts";

/**
 * Returns the oldest delivery whose state may still change, otherwise the newest one. Everything after it is read
 * again, so there is no gap.
 */
export function toOldestOpen(items: readonly Delivery[]): string {
  return items.findLast(({ state }) => state === "pending")?.id ?? items[0]?.id ?? "";
}

/** Reads a list page by page, from its newest delivery to this one. */
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

/** Merges fresh deliveries into a list, newest first. Ignores states older than the known ones. */
export function mergeDeliveries(items: readonly Delivery[], fresh: readonly Delivery[]): Delivery[] {
  const known = new Map(items.map((each) => [each.id, each]));
  for (const each of fresh) {
    if ((known.get(each.id)?.updated_at ?? 0) <= each.updated_at) known.set(each.id, each);
  }
  return [...known.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}
