// Requests to other servers: webhooks.
import type { Mutant } from "./mutant.ts";

export const outside: readonly Mutant[] = [
  {
    name: "redirects of webhooks are followed",
    find: 'answer = toAnswer(response); response.on("data"',
    replace:
      'answer = toAnswer(response); const { location } = response.headers; if (location) return resolve(post({ ...what, url: location })); response.on("data"',
    tests: ["http/webhooks-retries", "http/push-retries"],
  },
  {
    name: "addresses are not checked at the connection",
    find: "...(resolver && { lookup: publicLookup(resolver) }),",
    replace: "",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "a name with one public address may also have private ones",
    find: "if (addresses.every(",
    replace: "if (addresses.some(",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "an endless answer is read",
    find: "if (bytes > MAX_ANSWER_BYTES) request.destroy();",
    replace: "",
    tests: ["http/webhooks-retries"],
  },
  {
    name: "response bodies: the owner of a webhook reads them",
    find: 'response_body: scopes.has("admin") ? row.response_body : null,',
    replace: "response_body: row.response_body,",
    tests: ["http/response-bodies"],
  },
  {
    name: "response bodies: the result of a redelivery keeps a copy",
    find: "attempts = 0, response_body = NULL,",
    replace: "attempts = 0,",
    tests: ["http/response-bodies"],
  },
  {
    name: "response bodies: PostgreSQL gets NUL",
    find: String.raw`text.replaceAll("\0", "\ufffd")`,
    replace: "text",
    tests: ["http/response-bodies"],
  },
  {
    name: "private networks count as public",
    find: 'if (address.range() !== "unicast") return false;',
    replace:
      'if (address.range() === "private") return true; if (address.range() !== "unicast") return false;',
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "a webhook is shown with its secret",
    find: "enabled: row.disabled_at === null,",
    replace: "enabled: row.disabled_at === null, secret: (row as WebhookRow).secret,",
    tests: ["http/webhooks"],
  },
  {
    name: "an old secret signs forever",
    find: "hook.old_secret !== null && hook.old_until! > now",
    replace: "hook.old_secret !== null",
    tests: ["http/webhooks"],
  },
  {
    name: "a webhook of one user gets the events of all",
    find: "if (hook.all_users === 0 && hook.user_id !== recipient_id) return false;",
    replace: 'if (recipient_id === "") return false;',
    tests: ["http/webhooks"],
  },
  {
    name: "everybody can create an all-users webhook",
    find: "if (fields.all_users) demandAdmin(caller, EVENTS_OF_ALL);",
    replace: "",
    tests: ["http/webhooks"],
  },
  {
    name: "everybody can list the all-users webhooks",
    find: "if (all || user_id !== undefined) demandAdmin(",
    replace: "if (user_id !== undefined) demandAdmin(",
    tests: ["http/matrix", "http/webhooks-of-others"],
  },
  {
    name: "an administrator can redirect the events of a user",
    find: 'if (row.user_id !== caller.userId) throw new ParleyError("not_owner");',
    replace: "",
    tests: ["http/webhooks-of-others"],
  },
  {
    name: "a webhook can use http",
    find: 'url.protocol === "https:" && mayBePublic(url.hostname)',
    replace: "mayBePublic(url.hostname)",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "a webhook can have a private address",
    find: 'url.protocol === "https:" && mayBePublic(url.hostname)',
    replace: 'url.protocol === "https:"',
    tests: ["http/webhooks-ssrf"],
  },
];
