// Push subscriptions: whose they are, when they end, what is pushed to whom and what becomes of it.
import type { Mutant } from "./mutant.ts";

export const push: readonly Mutant[] = [
  {
    name: "a push subscription is anybody's",
    find: "return sql`SELECT ${HOOK_COLUMNS} ${ownPushes(userId, now)} AND id = ${id}`;",
    replace:
      "return sql`SELECT ${HOOK_COLUMNS} FROM webhooks WHERE (user_id = ${userId} OR TRUE) AND id = ${id}`;",
    tests: ["http/matrix"],
  },
  {
    name: "a push subscription outlives its token when that is revoked",
    find: "...records, ...ended, NOTE",
    replace: "...records, NOTE",
    tests: ["http/push"],
  },
  {
    name: "a push subscription outlives its token when that expires",
    find: "return expires_at !== null && expires_at <= now;",
    replace: "return expires_at !== null && expires_at <= now - 1e12;",
    tests: ["http/push"],
  },
  {
    name: "subscribe with a token that was revoked meanwhile",
    find: "user.length === 0 || (row.token_id !== null && !token)",
    replace: "user.length === 0",
    tests: ["contract/push-subscriptions"],
  },
  {
    name: "a push has the text of its message",
    find: "conversation_id, notify: true }; return withPayload(head, payload);",
    replace:
      "conversation_id, notify: true }; return withPayload(head, JSON.stringify({ ...JSON.parse(payload), text: message.text?.slice(0, 20) }));",
    tests: ["http/push"],
  },
];
