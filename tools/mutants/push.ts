// Push subscriptions: who owns them, when they end, and what is pushed to whom.
import type { Mutant } from "./mutant.ts";

export const push: readonly Mutant[] = [
  {
    name: "everybody can read and change a push subscription",
    find: "return sql`SELECT ${HOOK_COLUMNS} ${ownPushes(userId, now)} AND id = ${id}`;",
    replace:
      "return sql`SELECT ${HOOK_COLUMNS} FROM webhooks WHERE (user_id = ${userId} OR TRUE) AND id = ${id}`;",
    tests: ["http/matrix"],
  },
  {
    name: "a push subscription outlives its revoked token",
    find: "...revoked.flatMap(({ id }) => endPushSubscriptionsOf(list([id]))),",
    replace: "",
    tests: ["http/push"],
  },
  {
    name: "a push subscription outlives its expired token",
    find: "return expires_at !== null && expires_at <= now;",
    replace: "return expires_at !== null && expires_at <= now - 1e12;",
    tests: ["http/push"],
  },
  {
    name: "a token revoked meanwhile can subscribe",
    find: "user.length === 0 || (row.token_id !== null && !token)",
    replace: "user.length === 0",
    tests: ["contract/push-subscriptions"],
  },
  {
    name: "a push contains the text of its message",
    find: "conversation_id, notify: true }; return withPayload(head, payload);",
    replace:
      "conversation_id, notify: true }; return withPayload(head, JSON.stringify({ ...JSON.parse(payload), text: message.text?.slice(0, 20) }));",
    tests: ["http/push"],
  },
  {
    name: "a push endpoint can have any address",
    find: 'refuseAddress(core, "endpoint", endpoint);',
    replace: "",
    tests: ["http/webhooks-ssrf"],
  },
];
