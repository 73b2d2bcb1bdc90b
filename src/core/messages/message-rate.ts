import { findUserById } from "../../db/queries/people/users.ts";
import { ParleyError } from "../../errors.ts";
import type { Caller } from "../node/caller.ts";
import type { Core } from "../node/core.ts";

/** Counts a message if others can read it, or if no conversation is given. Throws `rate_limited`. */
export async function countMessage(core: Core, { userId }: Caller, conversationId?: string): Promise<void> {
  const { messageRate: rate, limits } = core;
  if (!rate) return;
  const user = await findUserById(core.db, userId);
  if (user?.conversation_id === conversationId) return;
  const used = rate.next(userId);
  if (rate.isTooMuch(used)) {
    throw new ParleyError(
      "rate_limited",
      `You can send ${limits.messagesPerMinute} messages per minute. Retry after the time in the Retry-After header.`,
      { header: String(rate.secondsUntilFree(used)) },
    );
  }
  rate.note(userId, used);
}
