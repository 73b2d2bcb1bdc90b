import { pageFields } from "../../../core/resource/page.ts";
import { anyOf } from "../../../core/resource/schema.ts";
import {
  createPushSubscription,
  deletePushSubscription,
  getPushSubscription,
  listPushSubscriptions,
  pushSubscriptionFields,
  pushSubscriptionResource,
} from "../../../core/webhooks/push-subscriptions.ts";
import { expectedVersions, markReplay } from "../../protocol/conditions.ts";
import { type Operation, operation } from "../../protocol/operation.ts";
import { sendPage } from "../../protocol/pages.ts";

const id = { name: "push_subscription_id", kind: "psh", unknown: "push_subscription_not_found" } as const;
const scope = "events:read";

/** Declares the operations of devices to which new messages are pushed (RFC 8030, 8291 and 8292). */
export const pushSubscriptionOperations: readonly Operation[] = [
  operation({
    name: "listPushSubscriptions",
    method: "GET",
    path: "/v1/push_subscriptions",
    scope,
    summary: "List push subscriptions",
    query: pageFields("psh"),
    answer: { status: 200, page: pushSubscriptionResource },
    handle: (call) => sendPage(call, (page) => listPushSubscriptions(call.core, call.caller, page)),
  }),
  operation({
    name: "createPushSubscription",
    method: "POST",
    path: "/v1/push_subscriptions",
    scope,
    readScope: "messages:read",
    showsOthers: true,
    summary: "Subscribe a device to pushes, or give its subscription new keys",
    body: pushSubscriptionFields,
    answer: {
      status: 201,
      resource: pushSubscriptionResource,
      others: {
        200: {
          description: "The caller's subscription with this endpoint, which has the new keys.",
          content: { "application/json": anyOf(pushSubscriptionResource) },
          headers: ["Location", "Idempotent-Replayed"],
        },
      },
    },
    errors: ["count_limit_reached"],
    async handle({ core, caller, body, key, reply }) {
      const { subscription, isNew, replayed } = await createPushSubscription(core, caller, body, key);
      if (replayed) markReplay(reply);
      if (!isNew) reply.code(200);
      return subscription;
    },
  }),
  operation({
    name: "retrievePushSubscription",
    method: "GET",
    path: "/v1/push_subscriptions/:id",
    id,
    scope,
    summary: "Retrieve a push subscription, without its keys",
    answer: { status: 200, resource: pushSubscriptionResource, versioned: true },
    errors: ["push_subscription_not_found", "precondition_failed"],
    handle: ({ core, caller, id }) => getPushSubscription(core, caller, id),
  }),
  operation({
    name: "deletePushSubscription",
    method: "DELETE",
    path: "/v1/push_subscriptions/:id",
    id,
    scope,
    summary: "Delete a push subscription",
    answer: { status: 204 },
    errors: ["push_subscription_not_found", "precondition_failed"],
    handle: ({ core, caller, id, request }) =>
      deletePushSubscription(core, caller, id, expectedVersions(request)),
  }),
];
