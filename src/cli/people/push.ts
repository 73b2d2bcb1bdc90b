import type { PushSubscription, PushSubscriptionFields } from "../../../packages/parley-client/src/index.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import { type Column, type JsonOption, type ListOptions, pageSize, printList } from "./listing.ts";

const COLUMNS: readonly Column<PushSubscription>[] = [
  ["ID", ({ id }) => id],
  ["CREATED", ({ created_at }) => isoTime(created_at)],
  ["EXPIRES", ({ expires_at }) => (expires_at === null ? "never" : isoTime(expires_at))],
  ["ENDPOINT", ({ endpoint }) => endpoint],
];

export function listSubscriptions(io: Io, options: ListOptions): Promise<number> {
  return asPerson(io, async ({ pushSubscriptions }) => {
    const list = pushSubscriptions.list({ limit: pageSize(options) }, { signal: io.stop });
    await printList(
      io,
      list,
      COLUMNS,
      options,
      "No push subscriptions yet. A browser makes one if you turn on notifications in the console.",
    );
    return 0;
  });
}

export function addSubscription(
  io: Io,
  endpoint: string,
  { p256dh, auth, json }: JsonOption & Omit<PushSubscriptionFields, "endpoint">,
): Promise<number> {
  return asPerson(io, async ({ pushSubscriptions }) => {
    const subscription = await pushSubscriptions.create({ endpoint, p256dh, auth }, { signal: io.stop });
    io.print(json ? jsonLine(subscription) : subscription.id);
    return 0;
  });
}

export function removeSubscription(io: Io, id: string, { json }: JsonOption): Promise<number> {
  return asPerson(io, async ({ pushSubscriptions }) => {
    await pushSubscriptions.delete(id, { signal: io.stop });
    if (json) io.print(jsonLine({ id }));
    else io.warn(harmless(`Removed ${id}.`));
    return 0;
  });
}
