import { listReactions } from "../../db/queries/messages/reactions.ts";
import type { QuickReader } from "../../db/sql.ts";
import type { Caller } from "../node/caller.ts";
import type { DataAccess } from "../node/core.ts";
import { writeActed } from "../record/audit-trail.ts";
import {
  count,
  described,
  id,
  listOf,
  object,
  resource,
  type TypeOf,
  text,
  withOptional,
} from "../resource/schema.ts";

export const reactionsSchema = listOf(object({ emoji: text, count, user_ids: listOf(id("usr")) }));

export const reactionResource = withOptional(
  resource(
    "Reaction",
    {
      message_id: id("msg"),
      conversation_id: id("cnv"),
      emoji: text,
      user_id: described(id("usr"), "Who reacted."),
    },
    "A reaction that was added or removed; only the ids of message and conversation if the recipient can't see it.",
  ),
  "emoji",
  "user_id",
);

/** Returns `reactions` as JSON text for each message that has some, as the reader sees them. */
export async function reactionsByMessage(
  core: DataAccess<QuickReader>,
  messageIds: readonly string[],
  readerId: string | null,
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, Map<string, string[]>>();
  if (messageIds.length === 0) return new Map();
  for (const [messageId, emoji, userId] of await listReactions(core.db, messageIds, readerId)) {
    const byEmoji = found.get(messageId) ?? new Map<string, string[]>();
    found.set(messageId, byEmoji);
    const userIds = byEmoji.get(emoji);
    if (userIds) userIds.push(userId);
    else byEmoji.set(emoji, [userId]);
  }
  return new Map([...found].map(([messageId, byEmoji]) => [messageId, toJson(byEmoji)]));
}

function toJson(byEmoji: ReadonlyMap<string, string[]>): string {
  const reactions: TypeOf<typeof reactionsSchema> = [...byEmoji].map(([emoji, user_ids]) => ({
    emoji,
    count: user_ids.length,
    user_ids,
  }));
  return JSON.stringify(reactions);
}

/** Adds a reaction of the caller, once. Throws `message_not_found` and `count_limit_reached`. */
export async function addReaction(
  core: DataAccess,
  caller: Caller,
  messageId: string,
  emoji: string,
): Promise<void> {
  const recorded = { action: "reaction.created", objectId: messageId } as const;
  const input = { userId: caller.userId, messageId, emoji, now: core.clock() };
  await writeActed(core, caller, recorded, "addReaction", input);
}

/** Removes a reaction of the caller, if it is there. Throws `message_not_found`. */
export async function removeReaction(
  core: DataAccess,
  caller: Caller,
  messageId: string,
  emoji: string,
): Promise<void> {
  const recorded = { action: "reaction.deleted", objectId: messageId } as const;
  const input = { userId: caller.userId, messageId, emoji, now: core.clock() };
  await writeActed(core, caller, recorded, "removeReaction", input);
}
