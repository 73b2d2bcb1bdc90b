// Reactions in a world of sharing-world.ts: who may react, what each reader sees, and what a client builds from
// events.
import type { Message, User } from "./sharing-types.ts";
import { oneOf, type Rebuilt, type Shown, UNKNOWN, type World } from "./sharing-world.ts";

/** Few, so that users often react with the same one. */
const EMOJI = ["👍", "❤️", "/"];

export async function changeReaction(
  world: World,
  user: User,
  message: Message | undefined,
  kind: "react" | "unreact",
  spare: number,
): Promise<void> {
  const emoji = oneOf(EMOJI, spare)!;
  const path = `/v1/messages/${message?.id ?? `msg_${UNKNOWN}`}/reactions/${encodeURIComponent(emoji)}`;
  const method = kind === "react" ? "PUT" : "DELETE";
  if (!message?.seenBy.has(user)) {
    await world.refused(user, method, path, 404, "message_not_found");
    return;
  }
  if (kind === "react") world.model.react(user, message, emoji);
  else world.model.unreact(user, message, emoji);
  await world.ask(user, method, path, 204);
}

/** Returns `reactions` of the message as the reader sees them. */
export function reactionsFor(world: World, reader: User, { reactions }: Message): object[] {
  const shown = [...reactions].map(([emoji, users]) => {
    const user_ids = users.filter((user) => world.model.showsReactions(user, reader)).map(({ id }) => id);
    return { emoji, count: user_ids.length, user_ids };
  });
  return shown.filter(({ count }) => count > 0);
}

interface Reaction {
  emoji: string;
  user_ids: string[];
}

/** Sorts reactions, because an event may come after its change was already visible. */
export function toSet(world: World, reactions: unknown): string[] {
  const known = new Set([...world.model.users.values()].map(({ id }) => id));
  // No event reports that a user was erased.
  return (reactions as Reaction[])
    .flatMap(({ emoji, user_ids }) => user_ids.filter((id) => known.has(id)).map((id) => `${emoji} ${id}`))
    .sort();
}

/** Applies the event of a reaction; it has only ids if its reader does not see the reaction. */
export function rebuildReaction(event: Shown, { messages }: Rebuilt): void {
  const { message_id, emoji, user_id } = event.payload as Record<string, string>;
  const message = messages.get(event.conversation_id as string)?.get(message_id!);
  if (!message || !emoji) return;
  const others = (message.reactions as Reaction[]).flatMap((each) =>
    each.user_ids
      .filter((id) => each.emoji !== emoji || id !== user_id)
      .map((id) => ({ emoji: each.emoji, user_ids: [id] })),
  );
  if (event.type === "reaction.created") others.push({ emoji, user_ids: [user_id!] });
  message.reactions = others;
}
