// Search for messages, compared with the model.
import assert from "node:assert/strict";
import { walk } from "./sharing-messages.ts";
import type { Conversation, Message, User } from "./sharing-types.ts";
import { oneOf, type World } from "./sharing-world.ts";

/** Queries that match texts of the model. */
const QUERIES: [q: string, isHit: (text: string) => boolean][] = [
  ["mess", (text) => text.startsWith("message")],
  ["words message", (text) => text.startsWith("message") && text.includes("words")],
  ["edited 1", (text) => text === "edited 1"],
  ["e", (text) => text.startsWith("edited")],
];

/** Searches all of the user's conversations, and one that the user may not be in. */
export async function checkSearch(world: World, user: User): Promise<void> {
  const { model } = world;
  const nth = user.seenAt.length;
  const [q, isHit] = oneOf(QUERIES, nth)!;
  const own = model.conversationsOf(user);
  await compare(
    world,
    user,
    q,
    own.flatMap((each) => hits(world, user, each, isHit)),
  );
  const one = oneOf(model.conversations, nth);
  if (!one) return;
  const within = `&conversation_id=${one.id}`;
  if (own.includes(one)) await compare(world, user, q, hits(world, user, one, isHit), within);
  else {
    const path = `/v1/messages?q=${encodeURIComponent(q)}${within}`;
    await world.refused(user, "GET", path, 404, "conversation_not_found");
  }
}

function hits(
  world: World,
  user: User,
  conversation: Conversation,
  isHit: (text: string) => boolean,
): Message[] {
  return world.model.messagesSeenBy(user, conversation).filter(({ text }) => text !== null && isHit(text));
}

async function compare(
  world: World,
  user: User,
  q: string,
  wanted: readonly Message[],
  within = "",
): Promise<void> {
  const path = `/v1/messages?limit=7&q=${encodeURIComponent(q)}${within}`;
  const ids = wanted
    .map(({ id }) => id)
    .sort()
    .reverse();
  const found = await walk(world, user, path, "starting_after");
  assert.deepEqual(
    found.map(({ id }) => id),
    ids,
    `what ${user.name} finds by ${q}`,
  );
  assert.deepEqual(await walk(world, user, path, "ending_before"), found);
}
