// Creates webhooks and inspects their deliveries.
import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import type { TestApp, TestUser } from "./app.ts";
import { asker, type Json } from "./asker.ts";
import { eventually } from "./files-on-disk.ts";
import type { Received, Receiver } from "./receiver.ts";

/** Allows receivers on this machine. */
export const LIMITS = { webhooksAllowPrivate: true };
export const DAY_MS = 24 * 3600 * 1000;

/** Verifies the signature with the library that receivers use, which also checks the time unless `isOld`. */
export function verify(secret: unknown, { headers, body }: Received, isOld = false): void {
  const webhook = new Webhook(String(secret));
  if (!isOld) return void webhook.verify(body, headers as Record<string, string>);
  const time = new Date(Number(headers["webhook-timestamp"]) * 1000);
  assert.equal(headers["webhook-signature"], webhook.sign(String(headers["webhook-id"]), time, body));
}

export async function hook(server: TestApp, user: TestUser, to: Receiver, fields: Json = {}): Promise<Json> {
  const { status, body } = await asker(server, user)("POST", "/v1/webhooks", { url: to.url, ...fields });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

export async function deliveries(server: TestApp, user: TestUser, { id }: Json): Promise<Json[]> {
  const { body } = await asker(server, user)("GET", `/v1/webhooks/${id}/deliveries?limit=100`);
  return body.data as Json[];
}

/** Waits until the newest delivery of the webhook has these fields, and returns it. */
export async function newest(server: TestApp, user: TestUser, webhook: Json, expected: Json): Promise<Json> {
  let found: Json = {};
  const is = async () => {
    found = (await deliveries(server, user, webhook))[0] ?? {};
    return Object.entries(expected).every(([name, value]) => found[name] === value);
  };
  assert.ok(await eventually(is), JSON.stringify(found));
  return found;
}
