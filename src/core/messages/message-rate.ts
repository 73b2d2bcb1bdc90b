import { findUserById, type UserRow } from "../../db/queries/people/users.ts";
import { ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";

/** Returns how many messages the user can send per minute; 0 means no limit. */
export function toMessageLimit(
  { messageRates, limits }: Pick<Core, "messageRates" | "limits">,
  { message_limit }: UserRow,
): number {
  return messageRates ? (message_limit ?? limits.messagesPerMinute) : 0;
}

/** Counts a message if others can read it, or if no conversation is given. Throws `rate_limited`. */
export async function countMessage(core: Core, { userId }: Caller, conversationId?: string): Promise<void> {
  if (!core.messageRates) return;
  const user = await findUserById(core.db, userId);
  if (!user || user.conversation_id === conversationId) return;
  const limit = toMessageLimit(core, user);
  if (limit === 0) return;
  const rate = core.messageRates.get(limit);
  const used = rate.next(userId);
  if (rate.isTooMuch(used)) {
    throw new ParleyError(
      "rate_limited",
      `You can send ${limit} messages per minute. Retry after the time in the Retry-After header.`,
      { header: String(rate.secondsUntilFree(used)) },
    );
  }
  rate.note(userId, used);
}
