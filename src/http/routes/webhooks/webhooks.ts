import {
  deliveryResource,
  webhookChanges,
  webhookFields,
  webhookFilters,
  webhookResource,
  webhookWithSecretResource,
} from "../../../core/events/webhook-fields.ts";
import { pageFields } from "../../../core/resource/page.ts";
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
} from "../../../core/webhooks/webhooks.ts";
import { expectedVersions, markReplay } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "webhook_id", kind: "whk", unknown: "webhook_not_found" } as const;
const deliveryId = { name: "delivery_id", kind: "dlv", unknown: "delivery_not_found" } as const;
const scope = "events:read";

/** Declares the operations of URLs to which events are sent (https://www.standardwebhooks.com). */
export const webhookOperations: readonly Operation[] = [
  operation({
    name: "listWebhooks",
    method: "GET",
    path: "/v1/webhooks",
    scope,
    summary: "List webhooks",
    query: { ...pageFields("whk"), ...webhookFilters },
    answer: { status: 200, page: webhookResource },
    handle: (call) => sendPage(call, (page) => listWebhooks(call.core, call.caller, page)),
  }),
  operation({
    name: "createWebhook",
    method: "POST",
    path: "/v1/webhooks",
    scope,
    summary: "Create a webhook; `all_users` also requires the scope `admin`",
    body: webhookFields,
    answer: { status: 201, resource: webhookWithSecretResource },
    errors: ["count_limit_reached"],
    async handle({ core, caller, body, key, reply }) {
      const { webhook, replayed } = await createWebhook(core, caller, body, key);
      if (replayed) markReplay(reply);
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
    answer: { status: 200, resource: webhookResource, versioned: true },
    errors: ["webhook_not_found", "precondition_failed"],
    handle: ({ core, caller, id }) => getWebhook(core, caller, id),
  }),
  operation({
    name: "updateWebhook",
    method: "PUT",
    path: "/v1/webhooks/:id",
    id,
    scope,
    summary: "Update, enable or disable a webhook",
    body: webhookChanges,
    answer: { status: 200, resource: webhookResource, versioned: true },
    errors: ["webhook_not_found", "not_owner", "precondition_failed"],
    handle: ({ core, caller, id, body, request }) =>
      updateWebhook(core, caller, id, body, expectedVersions(request)),
  }),
  operation({
    name: "deleteWebhook",
    method: "DELETE",
    path: "/v1/webhooks/:id",
    id,
    scope,
    summary: "Delete a webhook",
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
    summary: "Rotate the secret; the old one also signs for 24 hours",
    answer: { status: 200, resource: webhookWithSecretResource },
    errors: ["webhook_not_found", "not_owner"],
    async handle({ core, caller, id, key, reply }) {
      const { webhook, replayed } = await rotateSecret(core, caller, id, key);
      if (replayed) markReplay(reply);
      return webhook;
    },
  }),
  operation({
    name: "testWebhook",
    method: "POST",
    path: "/v1/webhooks/:id/test",
    id,
    scope,
    summary: "Send a test event (`webhook.test`)",
    answer: { status: 200, resource: deliveryResource },
    errors: ["webhook_not_found", "not_owner", "webhook_disabled", "count_limit_reached"],
    async handle({ core, caller, id, key, reply }) {
      const { delivery, replayed } = await testWebhook(core, caller, id, key);
      if (replayed) markReplay(reply);
      return delivery;
    },
  }),
  operation({
    name: "listDeliveries",
    method: "GET",
    path: "/v1/webhooks/:id/deliveries",
    id,
    scope,
    summary: "List the deliveries of a webhook",
    query: pageFields("dlv"),
    answer: { status: 200, page: deliveryResource },
    errors: ["webhook_not_found"],
    handle: (call) => sendPage(call, (page) => listDeliveries(call.core, call.caller, call.id, page)),
  }),
  operation({
    name: "redeliver",
    method: "POST",
    path: "/v1/webhooks/:id/deliveries/:delivery_id/redeliver",
    id,
    innerId: deliveryId,
    scope,
    summary: "Send a delivery again",
    answer: { status: 200, resource: deliveryResource },
    errors: ["webhook_not_found", "webhook_disabled", "delivery_not_found", "count_limit_reached"],
    async handle({ core, caller, id, innerId, key, reply }) {
      const { delivery, replayed } = await redeliver(core, caller, id, innerId, key);
      if (replayed) markReplay(reply);
      return delivery;
    },
  }),
];
