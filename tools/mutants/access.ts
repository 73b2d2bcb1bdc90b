// Who may do what: tokens, owners, members, quotas, and what each is told.
import type { Mutant } from "./mutant.ts";

export const access: readonly Mutant[] = [
  {
    name: "keep tokens as they are, and compare them so",
    find: 'return hash("sha256", token, "buffer");',
    replace: "return Buffer.from(token);",
    tests: ["attacks/tokens"],
  },
  {
    name: "let scripts read the cookie of a session",
    find: "HttpOnly; SameSite=Strict",
    replace: "SameSite=Strict",
    tests: ["attacks/sessions"],
  },
  {
    name: "let other sites send the cookie of a session",
    find: "SameSite=Strict",
    replace: "SameSite=None",
    tests: ["attacks/sessions"],
  },
  {
    name: "a token that has expired goes on",
    find: "if (verified.expiresAt <= core.clock()) throw",
    replace: "if (verified.expiresAt <= 0) throw",
    tests: ["http/rate-limits"],
  },
  {
    name: "a verified token that has expired goes on",
    find: "|| verified.expiresAt <= core.clock()) return",
    replace: ") return",
    tests: ["http/tokens"],
  },
  {
    name: "a token that was revoked goes on",
    find: "yield* batch([...records, ...ended, NOTE_REVOCATION]);",
    replace: "yield* batch([...records, ...ended]);",
    tests: ["http/tokens"],
  },
  {
    name: "no route asks for its scope",
    find: 'if (scope && !(orAdmin && caller.scopes.has("admin"))) requireScope(caller, scope);',
    replace: "",
    tests: ["http/matrix"],
  },
  {
    name: "a file asks for no scope",
    find: 'requireScope(caller, "attachments:read");',
    replace: "",
    tests: ["http/matrix"],
  },
  {
    name: "no rate limit on tokens that fail",
    find: "if (rate.isTooMuch(used)) this.#failures.tell(reply, used);",
    replace: "",
    tests: ["http/rate-limits"],
  },
  {
    name: "a contact is anybody's to read, update and delete",
    find: "sql`FROM contacts c WHERE c.owner_id = ${ownerId} AND c.id = ${id}`;",
    replace: "sql`FROM contacts c WHERE (c.owner_id = ${ownerId} OR TRUE) AND c.id = ${id}`;",
    tests: ["http/matrix"],
  },
  {
    name: "a list has everybody's contacts",
    find: "let range = sql`c.owner_id = ${ownerId}`;",
    replace: "let range = sql`(c.owner_id = ${ownerId} OR TRUE)`;",
    tests: ["acceptance/isolation"],
  },
  {
    name: "one user's block is everybody's",
    find: "const isThis = sql`owner_id = ${ownerId} AND username_key = ${usernameKey}`;",
    replace: "const isThis = sql`(owner_id = ${ownerId} OR TRUE) AND username_key = ${usernameKey}`;",
    tests: ["acceptance/blocks"],
  },
  {
    name: "an attachment is anybody's to see",
    find: "s.conversation_id = a.conversation_id AND s.user_id = ${userId} WHERE ${SEES}`;",
    replace: "s.conversation_id = a.conversation_id WHERE ${SEES}`;",
    tests: ["http/matrix"],
  },
  {
    name: "a list has everybody's attachments",
    find: "const own = sql`g.user_id = ${userId} ${conversation}`;",
    replace: "const own = sql`(g.user_id = ${userId} OR TRUE) ${conversation}`;",
    tests: ["http/sharing"],
  },
  {
    name: "an attachment is anybody's to rename and delete",
    find: 'if (!attachment) throw new ParleyError("attachment_not_found"); if (attachment.uploader_id !== input.userId)',
    replace:
      'if (!attachment) throw new ParleyError("attachment_not_found"); if (attachment.uploader_id === "")',
    tests: ["http/sharing"],
  },
  {
    name: "whoever knows its id renames and deletes an attachment",
    find: "s.conversation_id = a.conversation_id AND s.user_id = ${input.userId}",
    replace: "s.conversation_id = a.conversation_id",
    tests: ["http/matrix"],
  },
  {
    name: "anybody sends to a conversation",
    find: "AND m.user_id = ${senderId}`",
    replace: "AND (m.user_id = ${senderId} OR TRUE)`",
    tests: ["acceptance/isolation"],
  },
  {
    name: "403 tells that what is another's is there",
    find: 'throw new ParleyError("attachment_not_found"); if (attachment.uploader_id',
    replace: 'throw new ParleyError("not_uploader"); if (attachment.uploader_id',
    tests: ["http/matrix"],
  },
  {
    name: "whoever is blocked goes on being heard",
    find: "withholdFrom(message, seat.username_key),",
    replace: "",
    tests: ["contract/bulk"],
  },
  {
    name: "an event of a file is told to those who do not see it",
    find: "${audience(conversationId, sql`${messageId}`)}`;",
    replace: "FROM members s WHERE s.conversation_id = ${conversationId}`;",
    tests: ["http/events-seen"],
  },
  {
    name: "a list has everybody's events",
    find: "WHERE recipient_id = ${recipientId} AND ${range}",
    replace: "WHERE (recipient_id = ${recipientId} OR TRUE) AND ${range}",
    tests: ["http/sharing-model"],
  },
  {
    name: "a webhook is anybody's",
    find: "${HOOK_COLUMNS} ${ownHooks(userId)} AND id = ${id}`;",
    replace: "${HOOK_COLUMNS} FROM webhooks WHERE (user_id = ${userId} OR TRUE) AND id = ${id}`;",
    tests: ["http/matrix"],
  },
  {
    name: "an Idempotency-Key is everybody's",
    find: "FROM idempotency WHERE user_id = ${userId} AND key_hash",
    replace: "FROM idempotency WHERE (user_id = ${userId} OR TRUE) AND key_hash",
    tests: ["http/idempotency"],
  },
  {
    name: "room that is promised to an upload is promised again",
    find: "const taken = (row?.used ?? 0) + (row?.promised ?? 0);",
    replace: "const taken = row?.used ?? 0;",
    tests: ["http/quota"],
  },
  {
    name: "the commit does not look at the quota again",
    find: "if (reservation) yield* checkQuota(reservation);",
    replace: "",
    tests: ["http/quota"],
  },
  {
    name: "an upload without Content-Length reserves nothing while it comes in",
    find: "if (quota > 0 && (size > this.reserved + RESERVATION_STEP_BYTES || size > quota)) await this.reserve(size);",
    replace: "",
    tests: ["attacks/uploads"],
  },
  {
    name: "a signed token of any type is taken",
    find: 'typ === undefined || (typeof typ === "string" && TYPE.test(typ))',
    replace: "true || typ === TYPE",
    tests: ["http/jwt"],
  },
];
