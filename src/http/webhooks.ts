import { optional, pageFields, toPageRequest } from "../core/fields.ts";
import { hookEvents, hookUrl, yesOrNo } from "../core/webhook-fields.ts";
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  redeliver,
  rotateSecret,
  testWebhook,
  updateWebhook,
} from "../core/webhooks.ts";
import { expectedVersions, sendVersioned, tellReplay } from "./conditions.ts";
import { type Operation, operation } from "./operation.ts";
import { sendPage } from "./pages.ts";

const id = { kind: "whk", unknown: "webhook_not_found" } as const;
const deliveryId = { kind: "dlv", unknown: "delivery_not_found" } as const;
const scope = "events:read";

/** Addresses that events are sent to (https://www.standardwebhooks.com). */
export const webhookOperations: readonly Operation[] = [
  operation({
    name: "listWebhooks",
    method: "GET",
    path: "/v1/webhooks",
    scope,
    summary: "List webhooks",
    query: pageFields("whk"),
    body: {},
    answer: { status: 200, schema: "WebhookPage" },
    errors: [],
    async handle({ core, caller, query, request, reply }) {
      const page = toPageRequest(query);
      return sendPage(core, request, reply, page, await listWebhooks(core, caller, page));
    },
  }),
  operation({
    name: "createWebhook",
    method: "POST",
    path: "/v1/webhooks",
    scope,
    summary: "Create a webhook; one of all users takes the scope `admin`, too",
    query: {},
    body: { url: hookUrl, events: optional(hookEvents), all_users: optional(yesOrNo) },
    answer: { status: 201, schema: "NewWebhook" },
    errors: ["count_limit_reached"],
    async handle({ core, caller, body, key, reply }) {
      const { webhook, replayed } = await createWebhook(core, caller, body, key);
      const { id } = webhook as { id: string };
      reply.header("location", `${core.origin()}/v1/webhooks/${id}`);
      tellReplay(reply, replayed);
      return webhook;
    },
  }),
  operation({
    name: "retrieveWebhook",
    method: "GET",
    path: "/v1/webhooks/:id",
    id,
    scope,
    summary: "Retrieve a webhook, without its secret",
    query: {},
    body: {},
    answer: { status: 200, schema: "Webhook" },
    errors: ["webhook_not_found", "precondition_failed"],
    handle: async ({ core, caller, id, request, reply }) =>
      sendVersioned(request, reply, await getWebhook(core, caller, id)),
  }),
  operation({
    name: "updateWebhook",
    method: "PUT",
    path: "/v1/webhooks/:id",
    id,
    scope,
    summary: "Update a webhook, or enable it again",
    query: {},
    body: { url: optional(hookUrl), events: optional(hookEvents), enabled: optional(yesOrNo) },
    answer: { status: 200, schema: "Webhook" },
    errors: ["webhook_not_found", "precondition_failed"],
    async handle({ core, caller, id, body, request, reply }) {
      const expected = expectedVersions(request);
      return sendVersioned(request, reply, await updateWebhook(core, caller, id, body, expected));
    },
  }),
  operation({
    name: "deleteWebhook",
    method: "DELETE",
    path: "/v1/webhooks/:id",
    id,
    scope,
    summary: "Delete a webhook",
    query: {},
    body: {},
    answer: { status: 204 },
    errors: ["webhook_not_found", "precondition_failed"],
    handle: ({ core, caller, id, request }) => deleteWebhook(core, caller, id, expectedVersions(request)),
  }),
  operation({
    name: "rotateWebhookSecret",
    method: "POST",
    path: "/v1/webhooks/:id/secret",
    id,
    scope,
    summary: "Make a new secret; the one before signs as well for 24 hours",
    query: {},
    body: {},
    answer: { status: 200, schema: "NewWebhook" },
    errors: ["webhook_not_found"],
    async handle({ core, caller, id, key, reply }) {
      const { webhook, replayed } = await rotateSecret(core, caller, id, key);
      tellReplay(reply, replayed);
      return webhook;
    },
  }),
  operation({
    name: "testWebhook",
    method: "POST",
    path: "/v1/webhooks/:id/test",
    id,
    scope,
    summary: "Send an event of the type `webhook.test`",
    query: {},
    body: {},
    answer: { status: 200, schema: "Delivery" },
    errors: ["webhook_not_found", "webhook_disabled"],
    async handle({ core, caller, id, key, reply }) {
      const { delivery, replayed } = await testWebhook(core, caller, id, key);
      tellReplay(reply, replayed);
      return delivery;
    },
  }),
  operation({
    name: "listDeliveries",
    method: "GET",
    path: "/v1/webhooks/:id/deliveries",
    id,
    scope,
    summary: "List what was sent, or is to be, to a webhook",
    query: pageFields("dlv"),
    body: {},
    answer: { status: 200, schema: "DeliveryPage" },
    errors: ["webhook_not_found"],
    async handle({ core, caller, id, query, request, reply }) {
      const page = toPageRequest(query);
      return sendPage(core, request, reply, page, await listDeliveries(core, caller, id, page));
    },
  }),
  operation({
    name: "redeliver",
    method: "POST",
    path: "/v1/webhooks/:id/deliveries/:delivery_id/redeliver",
    id,
    innerId: { name: "delivery_id", ...deliveryId },
    scope,
    summary: "Send a delivery again",
    query: {},
    body: {},
    answer: { status: 200, schema: "Delivery" },
    errors: ["webhook_not_found", "webhook_disabled", "delivery_not_found"],
    async handle({ core, caller, id, innerId, key, reply }) {
      const { delivery, replayed } = await redeliver(core, caller, id, innerId, key);
      tellReplay(reply, replayed);
      return delivery;
    },
  }),
];
