// What is asked of other servers, and told to them: webhooks, and tokens of an identity provider.
import type { Mutant } from "./list.ts";

const POST = "src/util/post.ts";
const ADDRESS = "src/util/public-address.ts";
const DELIVERY = "src/core/webhook-delivery.ts";

export const outside: readonly Mutant[] = [
  {
    name: "ask for the picture of a contact",
    file: "src/core/contacts.ts",
    find: '  const once = onceOf(core, caller, key, "createContact", fields);\n',
    replace:
      '  if (contact.avatar_url) await fetch(contact.avatar_url).catch(() => {});\n  const once = onceOf(core, caller, key, "createContact", fields);\n',
    tests: ["attacks/ssrf"],
  },
  {
    name: "follow redirects of a webhook",
    file: POST,
    find: "      status = response.statusCode;\n      let bytes = 0;\n",
    replace:
      "      status = response.statusCode;\n      const { location } = response.headers;\n      if (location) return resolve(post({ ...what, url: location }));\n      let bytes = 0;\n",
    tests: ["http/webhooks-retries"],
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
    file: "src/db/webhooks.ts",
    find: "    enabled: row.disabled_at === null,\n",
    replace: "    enabled: row.disabled_at === null,\n    secret: (row as WebhookRow).secret,\n",
    tests: ["http/webhooks"],
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
    find: "sign(event_id, new Date(now), body)",
    replace: "sign(event_id, new Date(0), body)",
    tests: ["attacks/webhook-replay"],
  },
  {
    name: "a webhook of one user gets the events of all",
    file: DELIVERY,
    find: "  if (hook.all_users === 0 && hook.user_id !== recipient_id) return false;\n",
    replace: '  if (recipient_id === "") return false;\n',
    tests: ["http/webhooks"],
  },
  {
    name: "anybody makes a webhook of all users",
    file: "src/core/webhooks.ts",
    find: "  if (fields.all_users) demandAdmin(caller);\n",
    replace: "",
    tests: ["http/webhooks"],
  },
  {
    name: "a signed token may have the scope admin",
    file: "src/core/jwt.ts",
    find: "named.filter((each) => DEFAULT_SCOPES.includes(each))",
    replace: "named",
    tests: ["http/jwt"],
  },
  {
    name: "a token that the provider signed for another service",
    file: "src/core/jwt.ts",
    find: "    audience,\n    currentDate,",
    replace: "    currentDate,",
    tests: ["http/jwt"],
  },
  {
    name: "a token that is signed without a key",
    file: "src/core/jwt.ts",
    find: "await jwtVerify(token, by, options)",
    replace: '{ payload: JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) }',
    tests: ["http/jwt"],
  },
];
