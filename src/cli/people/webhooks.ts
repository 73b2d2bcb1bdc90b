import type { Delivery, Webhook, WebhookFields } from "../../../packages/parley-client/src/index.ts";
import { OperatorError } from "../../errors.ts";
import type { Io } from "../io.ts";
import { harmless, isoTime, jsonLine } from "../text.ts";
import { asPerson } from "./access.ts";
import { type Column, type JsonOption, type ListOptions, pageSize, printList } from "./listing.ts";

/** The server checks the types. */
type EventTypes = WebhookFields["events"];

const COLUMNS: readonly Column<Webhook>[] = [
  ["ID", ({ id }) => id],
  ["STATE", ({ enabled }) => (enabled ? "enabled" : "disabled")],
  ["USERS", ({ all_users }) => (all_users ? "all" : "own")],
  ["EVENTS", ({ events }) => events?.join(",") ?? "all"],
  ["URL", ({ url }) => url],
];

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  ["ID", ({ id }) => id],
  ["EVENT", ({ event_id }) => event_id],
  ["TYPE", ({ type }) => type],
  ["CREATED", ({ created_at }) => isoTime(created_at)],
  ["STATE", ({ state }) => state],
  ["ATTEMPTS", ({ attempts }) => String(attempts)],
  ["ANSWER", ({ last_status, last_error }) => last_error ?? String(last_status ?? "")],
];

export function listWebhooks(io: Io, options: ListOptions): Promise<number> {
  return asPerson(io, async ({ webhooks }) => {
    const list = webhooks.list({ limit: pageSize(options) }, { signal: io.stop });
    await printList(io, list, COLUMNS, options, "No webhooks yet. Add one: parley webhooks add URL");
    return 0;
  });
}

/** Prints the secret, which only this answer of the server has. */
export function addWebhook(
  io: Io,
  url: string,
  { event, allUsers, json }: JsonOption & { event?: string[]; allUsers?: boolean },
): Promise<number> {
  const fields = { url, events: event as EventTypes, all_users: allUsers };
  return asPerson(io, async ({ webhooks }) => {
    const webhook = await webhooks.create(fields, { signal: io.stop });
    io.print(json ? jsonLine(webhook) : harmless(`${webhook.id}  ${webhook.secret}`));
    return 0;
  });
}

export async function updateWebhook(
  io: Io,
  id: string,
  {
    url,
    event,
    enable,
    disable,
    json,
  }: JsonOption & { url?: string; event?: string[]; enable?: boolean; disable?: boolean },
): Promise<number> {
  const enabled = enable ?? (disable ? false : undefined);
  if ([url, event, enabled].every((each) => each === undefined))
    throw new OperatorError("There is nothing to change. Add --url, --event, --enable or --disable.");
  return asPerson(io, async ({ webhooks }) => {
    const changes = { url, events: event as EventTypes, enabled };
    const webhook = await webhooks.update(id, changes, { signal: io.stop });
    if (json) io.print(jsonLine(webhook));
    else io.warn(harmless(`Changed ${id}.`));
    return 0;
  });
}

export function removeWebhook(io: Io, id: string, { json }: JsonOption): Promise<number> {
  return asPerson(io, async ({ webhooks }) => {
    await webhooks.delete(id, { signal: io.stop });
    if (json) io.print(jsonLine({ id }));
    else io.warn(harmless(`Removed ${id}.`));
    return 0;
  });
}

/** Queues a test event, and prints the id of its delivery. */
export function testWebhook(io: Io, id: string, { json }: JsonOption): Promise<number> {
  return asPerson(io, async ({ webhooks }) => {
    const delivery = await webhooks.test(id, { signal: io.stop });
    io.print(json ? jsonLine(delivery) : delivery.id);
    return 0;
  });
}

export function listDeliveries(io: Io, id: string, options: ListOptions): Promise<number> {
  return asPerson(io, async ({ webhooks }) => {
    const list = webhooks.listDeliveries(id, { limit: pageSize(options) }, { signal: io.stop });
    await printList(
      io,
      list,
      DELIVERY_COLUMNS,
      options,
      "No deliveries yet. Send a test event: parley webhooks test ID",
    );
    return 0;
  });
}
