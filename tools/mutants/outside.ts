// What is asked of other servers, and told to them: webhooks, and tokens of an identity provider.
import type { Mutant } from "./mutant.ts";

const POST = "src/util/post.ts";
const ADDRESS = "src/util/public-address.ts";
const DELIVERY = "src/core/events/webhook-delivery.ts";
const HAND_OUT = "src/core/events/hand-out.ts";
const PLACES = "src/jobs/webhook-places.ts";

export const outside: readonly Mutant[] = [
  {
    name: "ask for the picture of a contact",
    file: "src/core/contacts.ts",
    find: '  const asked = ["createContact", fields];\n',
    replace:
      '  if (contact.avatar_url) await fetch(contact.avatar_url).catch(() => {});\n  const asked = ["createContact", fields];\n',
    tests: ["attacks/ssrf"],
  },
  {
    name: "follow redirects of a webhook",
    file: POST,
    find: "      answer = toAnswer(response);\n      let bytes = 0;\n",
    replace:
      "      answer = toAnswer(response);\n      const { location } = response.headers;\n      if (location) return resolve(post({ ...what, url: location }));\n      let bytes = 0;\n",
    tests: ["http/webhooks-retries", "http/push-retries"],
  },
  {
    name: "look at no address when it is connected to",
    file: POST,
    find: "    ...(resolver && { lookup: publicLookup(resolver) }),\n",
    replace: "",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "a name that has one public address may lead anywhere",
    file: POST,
    find: "if (addresses.every(",
    replace: "if (addresses.some(",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "post by http",
    file: POST,
    find: 'url.protocol === "https:" && mayBePublic(url.hostname)',
    replace: "mayBePublic(url.hostname)",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "look at no address when it is chosen",
    file: POST,
    find: 'url.protocol === "https:" && mayBePublic(url.hostname)',
    replace: 'url.protocol === "https:"',
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "read an answer without end",
    file: POST,
    find: "        if (bytes > MAX_ANSWER_BYTES) request.destroy();\n",
    replace: "",
    tests: ["http/webhooks-retries"],
  },
  {
    name: "IPv4 within IPv6 is public",
    file: ADDRESS,
    find: '  if (address.range() !== "unicast") return false;\n',
    replace:
      '  if (address.range() === "ipv4Mapped") return true;\n  if (address.range() !== "unicast") return false;\n',
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "6to4 is public",
    file: ADDRESS,
    find: '  if (address.range() !== "unicast") return false;\n',
    replace:
      '  if (address.range() === "6to4") return true;\n  if (address.range() !== "unicast") return false;\n',
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "private networks are public",
    file: ADDRESS,
    find: '  if (address.range() !== "unicast") return false;\n',
    replace:
      '  if (address.range() === "private") return true;\n  if (address.range() !== "unicast") return false;\n',
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "IPv6 beside the global unicast is public",
    file: ADDRESS,
    find: 'return address.kind() === "ipv4" || (address as ipaddr.IPv6).match(...GLOBAL_UNICAST);',
    replace: "return GLOBAL_UNICAST.length > 0;",
    tests: ["unit/public-address"],
  },
  {
    name: "a webhook is shown with its secret",
    file: "src/db/queries/webhooks.ts",
    find: "    enabled: row.disabled_at === null,\n",
    replace: "    enabled: row.disabled_at === null,\n    secret: (row as WebhookRow).secret,\n",
    tests: ["http/webhooks"],
  },
  {
    name: "a delivery says where no answer came from",
    file: DELIVERY,
    find: "error: answer ? null : noAnswer(core),",
    replace: "error: answer ? null : `${noAnswer(core)} ${new URL(hook.url).host}`,",
    tests: ["http/webhooks-ssrf"],
  },
  {
    name: "a new webhook counts as quick",
    file: PLACES,
    find: "const slow = ({ webhook }: Attempt) => !this.#quick.has(webhook.id);",
    replace: "const slow = () => false;",
    tests: ["http/webhooks-places"],
  },
  {
    name: "one user takes all places for slow webhooks",
    file: PLACES,
    find: "const SLOW_PLACES_OF_USER = SLOW_PLACES / 4;",
    replace: "const SLOW_PLACES_OF_USER = SLOW_PLACES;",
    tests: ["attacks/webhook-places"],
  },
  {
    name: "one user takes all places",
    file: PLACES,
    find: "const PLACES_OF_USER = PLACES / 4;",
    replace: "const PLACES_OF_USER = PLACES;",
    tests: ["attacks/webhook-places"],
  },
  {
    name: "a user with many webhooks takes every turn",
    file: PLACES,
    find: "      .sort((a, b) => a.nth - b.nth)\n",
    replace: "",
    tests: ["unit/webhook-places"],
  },
  {
    name: "a webhook that is deleted or disabled keeps its attempts",
    file: "src/jobs/webhooks.ts",
    find: "  places.end((id) => enabled.has(id));\n",
    replace: "",
    tests: ["attacks/webhook-places"],
  },
  {
    name: "a webhook has any number of deliveries pending",
    file: HAND_OUT,
    find: "    if (hook.pending >= MAX_PENDING) return false;\n",
    replace: "",
    tests: ["http/webhooks-backlog"],
  },
  {
    name: "the deliveries of one user take any number of bytes",
    file: HAND_OUT,
    find: "      if (this.#rate.isTooMuch(used)) return false;\n",
    replace: "",
    tests: ["http/webhooks-backlog"],
  },
  {
    name: "a webhook that was behind when it was disabled loses its backlog",
    file: "src/db/queries/webhooks.ts",
    find: "if (resumed && row.backlog_from === null) row",
    replace: "if (resumed) row",
    tests: ["http/webhooks-backlog"],
  },
  {
    name: "test events fill the backlog of a webhook",
    file: "src/db/queries/deliveries.ts",
    find: "  if (row!.pending < MAX_PENDING) return;\n",
    replace: "  if (row) return;\n",
    tests: ["http/webhooks-backlog"],
  },
  {
    name: "a webhook that has caught up meanwhile is passed over",
    file: "src/db/queries/hand-out.ts",
    find: "    if (caughtUp) return;\n",
    replace: "    if (caughtUp && to < 0) return;\n",
    tests: ["contract/deliveries"],
  },
  {
    name: "what a webhook wants since it has caught up is passed over",
    file: "src/db/queries/hand-out.ts",
    find: "    if (wanting) return;\n",
    replace: "    if (wanting && to < 0) return;\n",
    tests: ["contract/deliveries"],
  },
  {
    name: "a deleted webhook leaves its deliveries",
    file: "src/db/queries/webhooks.ts",
    find: "    sql`INSERT INTO deleted_webhooks (id) VALUES (${input.id})`,\n",
    replace: "",
    tests: ["http/webhooks-deleted"],
  },
  {
    name: "a deleted webhook takes all its deliveries with it in one write",
    file: "src/db/queries/deliveries.ts",
    find: "sql`webhook_id = ${hook.id}`, left);",
    replace: "sql`webhook_id = ${hook.id}`, 1e6);",
    tests: ["http/webhooks-deleted"],
  },
  {
    name: "an old secret signs for ever",
    file: DELIVERY,
    find: "hook.old_secret !== null && hook.old_until! > now",
    replace: "hook.old_secret !== null",
    tests: ["http/webhooks"],
  },
  {
    name: "a delivery tells its time and does not sign it",
    file: DELIVERY,
    find: "sign(eventId, new Date(now), body)",
    replace: "sign(eventId, new Date(0), body)",
    tests: ["attacks/webhook-replay"],
  },
  {
    name: "a webhook of one user gets the events of all",
    file: HAND_OUT,
    find: "  if (hook.all_users === 0 && hook.user_id !== recipient_id) return false;\n",
    replace: '  if (recipient_id === "") return false;\n',
    tests: ["http/webhooks"],
  },
  {
    name: "anybody makes a webhook of all users",
    file: "src/core/events/webhooks.ts",
    find: "  if (fields.all_users) demandAdmin(caller, EVENTS_OF_ALL);\n",
    replace: "",
    tests: ["http/webhooks"],
  },
  {
    name: "anybody lists the webhooks of all users",
    file: "src/core/events/webhooks.ts",
    find: "  if (all || user_id !== undefined) demandAdmin(",
    replace: "  if (user_id !== undefined) demandAdmin(",
    tests: ["http/matrix", "http/webhooks-of-others"],
  },
  {
    name: "every token has the webhooks of all users",
    file: "src/core/events/webhooks.ts",
    find: 'const isAdmin = caller.scopes.has("admin");',
    replace: "const isAdmin = true;",
    tests: ["http/matrix"],
  },
  {
    name: "an administrator redirects the events of a user",
    file: "src/core/events/webhooks.ts",
    find: '  if (row.user_id !== caller.userId) throw new ParleyError("not_owner");\n',
    replace: "",
    tests: ["http/webhooks-of-others"],
  },
  {
    name: "a signed token may have the scope admin",
    file: "src/core/access/jwt.ts",
    find: "named.filter((each) => DEFAULT_SCOPES.includes(each))",
    replace: "named",
    tests: ["http/jwt"],
  },
  {
    name: "a token that the provider signed for another service",
    file: "src/core/access/jwt.ts",
    find: "    audience,\n    currentDate,",
    replace: "    currentDate,",
    tests: ["http/jwt"],
  },
  {
    name: "a token that is signed without a key",
    file: "src/core/access/jwt.ts",
    find: "=> jwtVerify(token, by, options)",
    replace:
      '=> Promise.resolve({ payload: JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()), protectedHeader: { typ: "JWT" } })',
    tests: ["http/jwt"],
  },
];
