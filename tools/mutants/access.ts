// Access: tokens, owners, members, quotas, and what each user sees.
import type { Mutant } from "./mutant.ts";

export const access: readonly Mutant[] = [
  {
    name: "tokens are stored as plain text",
    find: 'return hash("sha256", token, "buffer");',
    replace: "return Buffer.from(token);",
    tests: ["attacks/tokens"],
  },
  {
    name: "scripts can read the session cookie",
    find: "HttpOnly; SameSite=Strict",
    replace: "SameSite=Strict",
    tests: ["attacks/sessions"],
  },
  {
    name: "other sites can send the session cookie",
    find: "SameSite=Strict",
    replace: "SameSite=None",
    tests: ["attacks/sessions"],
  },
  {
    name: "an expired token is accepted",
    find: "if (verified.expiresAt <= core.clock()) throw",
    replace: "if (verified.expiresAt <= 0) throw",
    tests: ["http/rate-limits"],
  },
  {
    name: "an expired token is accepted if it was verified before",
    find: "|| verified.expiresAt <= core.clock()) return",
    replace: ") return",
    tests: ["http/tokens"],
  },
  {
    name: "a revoked token is accepted",
    find: "yield* batch([...records, ...ended, NOTE_REVOCATION]);",
    replace: "yield* batch([...records, ...ended]);",
    tests: ["http/tokens"],
  },
  {
    name: "no route requires its scope",
    find: 'if (scope && !(orAdmin && caller.scopes.has("admin"))) requireScope(caller, scope);',
    replace: "",
    tests: ["http/matrix"],
  },
  {
    name: "a file requires no scope",
    find: 'requireScope(caller, "attachments:read");',
    replace: "",
    tests: ["http/matrix"],
  },
  {
    name: "invalid tokens have no rate limit",
    find: "if (rate.isTooMuch(used)) this.#failures.enforce(reply, used);",
    replace: "",
    tests: ["http/rate-limits"],
  },
  {
    name: "everybody can read, update and delete a contact",
    find: "sql`FROM contacts c WHERE c.owner_id = ${ownerId} AND c.id = ${id}`;",
    replace: "sql`FROM contacts c WHERE (c.owner_id = ${ownerId} OR TRUE) AND c.id = ${id}`;",
    tests: ["http/matrix"],
  },
  {
    name: "a list has the contacts of all users",
    find: "let range = sql`c.owner_id = ${ownerId}`;",
    replace: "let range = sql`(c.owner_id = ${ownerId} OR TRUE)`;",
    tests: ["acceptance/isolation"],
  },
  {
    name: "one user's block applies to all users",
    find: "const isThis = sql`owner_id = ${ownerId} AND username_key = ${usernameKey}`;",
    replace: "const isThis = sql`(owner_id = ${ownerId} OR TRUE) AND username_key = ${usernameKey}`;",
    tests: ["acceptance/blocks"],
  },
  {
    name: "everybody can read an attachment",
    find: "s.conversation_id = a.conversation_id AND s.user_id = ${userId} WHERE ${SEES}`;",
    replace: "s.conversation_id = a.conversation_id WHERE ${SEES}`;",
    tests: ["http/matrix"],
  },
  {
    name: "a list has the attachments of all users",
    find: "const own = sql`g.user_id = ${userId} ${conversation}`;",
    replace: "const own = sql`(g.user_id = ${userId} OR TRUE) ${conversation}`;",
    tests: ["http/sharing"],
  },
  {
    name: "everybody who sees an attachment can rename and delete it",
    find: 'if (!attachment) throw new ParleyError("attachment_not_found"); if (attachment.uploader_id !== input.userId)',
    replace:
      'if (!attachment) throw new ParleyError("attachment_not_found"); if (attachment.uploader_id === "")',
    tests: ["http/sharing"],
  },
  {
    name: "an uploader who no longer sees an attachment can rename and delete it",
    find: "s.conversation_id = a.conversation_id AND s.user_id = ${input.userId}",
    replace: "s.conversation_id = a.conversation_id",
    tests: ["http/matrix"],
  },
  {
    name: "everybody can send to a conversation",
    find: "AND m.user_id = ${senderId}`",
    replace: "AND (m.user_id = ${senderId} OR TRUE)`",
    tests: ["acceptance/isolation"],
  },
  {
    name: "403 reveals that another user's resource exists",
    find: 'throw new ParleyError("attachment_not_found"); if (attachment.uploader_id',
    replace: 'throw new ParleyError("not_uploader"); if (attachment.uploader_id',
    tests: ["http/matrix"],
  },
  {
    name: "messages of a blocked user are not withheld",
    find: "withholdFrom(message, seat.username_key),",
    replace: "",
    tests: ["contract/bulk"],
  },
  {
    name: "users who do not see a file get its events",
    find: "${audience(conversationId, sql`${messageId}`)}`;",
    replace: "FROM members s WHERE s.conversation_id = ${conversationId}`;",
    tests: ["http/events-seen"],
  },
  {
    name: "a list has the events of all users",
    find: "WHERE recipient_id = ${recipientId} AND ${range}",
    replace: "WHERE (recipient_id = ${recipientId} OR TRUE) AND ${range}",
    tests: ["http/sharing-model"],
  },
  {
    name: "everybody can read and change a webhook",
    find: "${HOOK_COLUMNS} ${ownHooks(userId)} AND id = ${id}`;",
    replace: "${HOOK_COLUMNS} FROM webhooks WHERE (user_id = ${userId} OR TRUE) AND id = ${id}`;",
    tests: ["http/matrix"],
  },
  {
    name: "users share Idempotency-Keys",
    find: "FROM idempotency WHERE user_id = ${userId} AND key_hash",
    replace: "FROM idempotency WHERE (user_id = ${userId} OR TRUE) AND key_hash",
    tests: ["http/idempotency"],
  },
  {
    name: "reservations do not count against the quota",
    find: "const taken = (row?.used ?? 0) + (row?.promised ?? 0);",
    replace: "const taken = row?.used ?? 0;",
    tests: ["http/quota"],
  },
  {
    name: "the commit does not check the quota again",
    find: "if (reservation) yield* checkQuota(reservation);",
    replace: "",
    tests: ["http/quota"],
  },
  {
    name: "an upload without Content-Length reserves nothing",
    find: "if (quota > 0 && (size > this.reserved + RESERVATION_STEP_BYTES || size > quota)) await this.reserve(size);",
    replace: "",
    tests: ["attacks/uploads"],
  },
  {
    name: "a signed token of any type is accepted",
    find: 'typ === undefined || (typeof typ === "string" && TYPE.test(typ))',
    replace: "true || typ === TYPE",
    tests: ["http/jwt"],
  },
];
