// Who may do what: tokens, owners, members, quotas, and what each is told.
import type { Mutant } from "./list.ts";

const TOKENS = "src/core/tokens.ts";
const ATTACHMENTS = "src/db/attachments.ts";
const CONTACTS = "src/db/contacts.ts";
const AUTHENTICATION = "src/http/authentication.ts";
const RATES = "src/http/rate-limits.ts";
const STORAGE = "src/db/storage.ts";

export const access: readonly Mutant[] = [
  {
    name: "keep tokens as they are, and compare them so",
    file: TOKENS,
    find: 'return hash("sha256", token, "buffer");',
    replace: "return Buffer.from(token);",
    tests: ["attacks/tokens"],
  },
  {
    name: "compare what a token decodes to",
    file: TOKENS,
    find: 'return hash("sha256", token, "buffer");',
    replace: 'return hash("sha256", Buffer.from(token, "base64url"), "buffer");',
    tests: ["attacks/tokens"],
  },
  {
    name: "keep the token of a request with a key unsealed",
    file: TOKENS,
    find: "sealed: core.seal.seal(token, context) }",
    replace: "sealed: token }",
    tests: ["attacks/tokens"],
  },
  {
    name: "a token that has expired goes on",
    file: "src/core/authentication.ts",
    find: "return expiresAt !== null && expiresAt <= core.clock();",
    replace: "return expiresAt !== null && expiresAt <= 0;",
    tests: ["http/rate-limits"],
  },
  {
    name: "a token that was revoked goes on",
    file: "src/db/tokens.ts",
    find: "yield [...records, NOTE_REVOCATION];",
    replace: "yield records;",
    tests: ["http/tokens"],
  },
  {
    name: "no route asks for its scope",
    file: "src/http/server.ts",
    find: "  if (scope) requireScope(caller, scope);\n",
    replace: "",
    tests: ["http/matrix"],
  },
  {
    name: "a file asks for no scope",
    file: "src/http/files.ts",
    find: '  requireScope(caller, "attachments:read");\n',
    replace: "",
    tests: ["http/matrix"],
  },
  {
    name: "no rate limit on tokens that fail",
    file: RATES,
    find: "    if (rate.isTooMuch(used)) this.#failures.tell(reply, used);\n",
    replace: "",
    tests: ["http/rate-limits"],
  },
  {
    name: "tokens that fail are not counted",
    file: AUTHENTICATION,
    find: "    if (error instanceof ParleyError && FAILED.has(error.code)) context.rates.countFailure(request);\n",
    replace: "",
    tests: ["http/rate-limits"],
  },
  {
    name: "no rate limit on a token",
    file: RATES,
    find: "    if (!rate.isTooMuch(used)) return;\n",
    replace: "    if (used >= 0) return;\n",
    tests: ["http/rate-limits"],
  },
  {
    name: "a contact is anybody's to read, update and delete",
    file: CONTACTS,
    find: 'const WHERE = "FROM contacts c WHERE c.owner_id = ? AND c.id = ?";',
    replace: 'const WHERE = "FROM contacts c WHERE (c.owner_id = ? OR TRUE) AND c.id = ?";',
    tests: ["contract/database", "http/matrix"],
  },
  {
    name: "a list has everybody's contacts",
    file: CONTACTS,
    find: 'const conditions = ["c.owner_id = ?"];',
    replace: 'const conditions = ["(c.owner_id = ? OR TRUE)"];',
    tests: ["contract/database"],
  },
  {
    name: "a contact is anybody's to block",
    file: CONTACTS,
    find: "SET blocked_at = ? WHERE owner_id = ? AND id = ? RETURNING",
    replace: "SET blocked_at = ? WHERE (owner_id = ? OR TRUE) AND id = ? RETURNING",
    tests: ["http/matrix"],
  },
  {
    name: "an attachment is anybody's to see and to list",
    file: ATTACHMENTS,
    find: "ON a.id = g.attachment_id WHERE g.user_id = ?`;",
    replace: "ON a.id = g.attachment_id WHERE (g.user_id = ? OR TRUE)`;",
    tests: ["contract/database", "http/matrix"],
  },
  {
    name: "an attachment is anybody's to rename and delete",
    file: ATTACHMENTS,
    find: '  if (!attachment) throw new ParleyError("attachment_not_found");\n  if (attachment.uploader_id !== input.userId)',
    replace:
      '  if (!attachment) throw new ParleyError("attachment_not_found");\n  if (attachment.uploader_id === "")',
    tests: ["http/sharing"],
  },
  {
    name: "whoever knows its id renames and deletes an attachment",
    file: ATTACHMENTS,
    find: "\n  WHERE g.user_id = ? AND g.attachment_id = ?`;",
    replace: "\n  WHERE (g.user_id = ? OR TRUE) AND g.attachment_id = ?`;",
    tests: ["http/matrix"],
  },
  {
    name: "a file goes to anybody's message",
    file: ATTACHMENTS,
    find: "WHERE m.id = ? AND m.sender_id = ?`;",
    replace: "WHERE m.id = ? AND (m.sender_id = ? OR TRUE)`;",
    tests: ["contract/database"],
  },
  {
    name: "a file goes to anybody's conversation",
    file: ATTACHMENTS,
    find: '"SELECT 1 AS one FROM members WHERE conversation_id = ? AND user_id = ?"',
    replace: '"SELECT 1 AS one FROM members WHERE conversation_id = ? AND (user_id = ? OR TRUE)"',
    tests: ["contract/database"],
  },
  {
    name: "403 tells that what is another's is there",
    file: ATTACHMENTS,
    find: 'if (!attachment) throw new ParleyError("attachment_not_found");',
    replace: 'if (!attachment) throw new ParleyError("not_uploader");',
    tests: ["http/matrix"],
  },
  {
    name: "whoever is blocked goes on being heard",
    file: ATTACHMENTS,
    find: "AND c.blocked_at IS NOT NULL)`;",
    replace: "AND c.blocked_at < 0)`;",
    tests: ["http/sharing"],
  },
  {
    name: "an event of a file is told to those who do not see it",
    file: "src/db/events.ts",
    find: "SELECT g.user_id, '${type}', g.conversation_id, ?, ? FROM members m\n     JOIN grants g ON g.user_id = m.user_id AND g.attachment_id = ?",
    replace:
      "SELECT DISTINCT m.user_id, '${type}', g.conversation_id, ?, ? FROM members m\n     JOIN grants g ON g.attachment_id = ?",
    tests: ["http/events-seen"],
  },
  {
    name: "a list has everybody's events",
    file: "src/db/events.ts",
    find: "FROM events\n     WHERE recipient_id = ? AND ${newer",
    replace: "FROM events\n     WHERE (recipient_id = ? OR TRUE) AND ${newer",
    tests: ["http/events"],
  },
  {
    name: "an event of another is a place among one's own",
    file: "src/core/events.ts",
    find: "if (low % (1n << RECIPIENT_BITS) === recipientBits(recipientId)) {",
    replace: "if (low >= recipientBits(recipientId) * 0n) {",
    tests: ["http/events-listeners"],
  },
  {
    name: "a webhook is anybody's",
    file: "src/db/webhooks.ts",
    find: "FROM webhooks WHERE user_id = ? AND id = ?`;",
    replace: "FROM webhooks WHERE (user_id = ? OR TRUE) AND id = ?`;",
    tests: ["http/matrix"],
  },
  {
    name: "an Idempotency-Key is everybody's",
    file: "src/db/idempotency.ts",
    find: "FROM idempotency WHERE user_id = ? AND key_hash = ?",
    replace: "FROM idempotency WHERE (user_id = ? OR TRUE) AND key_hash = ?",
    tests: ["http/idempotency"],
  },
  {
    name: "room that is promised to an upload is promised again",
    file: STORAGE,
    find: "const taken = (row?.used ?? 0) + (row?.promised ?? 0);",
    replace: "const taken = row?.used ?? 0;",
    tests: ["http/quota"],
  },
  {
    name: "the commit does not look at the quota again",
    file: ATTACHMENTS,
    find: "  if (reservation) yield* checkQuota(reservation);\n",
    replace: "",
    tests: ["http/quota"],
  },
  {
    name: "of two who take the last room at once both find it",
    file: "src/db/postgres.ts",
    find: "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE",
    replace: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    tests: ["http/sharing-races"],
  },
];
