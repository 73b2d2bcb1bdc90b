import type { Message } from "./types.ts";

/** Returns the reactions with or without the one of this user. */
export function withReaction(
  reactions: Message["reactions"],
  emoji: string,
  userId: string,
  isThere: boolean,
): Message["reactions"] {
  const known = reactions.find((each) => each.emoji === emoji);
  const others = known?.user_ids.filter((id) => id !== userId) ?? [];
  const hadIt = known?.user_ids.includes(userId) ?? false;
  if (hadIt === isThere) return reactions;
  const user_ids = isThere ? [...others, userId] : others;
  const changed = { emoji, count: user_ids.length, user_ids };
  const all = known ? reactions.map((each) => (each === known ? changed : each)) : [...reactions, changed];
  return all.filter(({ count }) => count > 0);
}
