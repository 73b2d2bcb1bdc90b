import type { Mutant } from "./mutant.ts";

/** Reactions: which are allowed, who sees them, and when they are deleted. */
export const reactions: readonly Mutant[] = [
  {
    name: "a user who does not see a message can react to it",
    find: "WHERE m.id = ${messageId} AND ${sees(sql`m.id`)}`",
    replace: "WHERE m.id = ${messageId}`",
    tests: ["contract/reactions"],
  },
  {
    name: "reactions of blocked users are listed",
    find: "const shown = readerId === null",
    replace: 'const shown = readerId !== ""',
    tests: ["contract/reactions", "acceptance/reactions"],
  },
  {
    name: "reactions of blocked users have events",
    find: "AND (s.user_id = found.user_id OR",
    replace: "AND (s.user_id = s.user_id OR",
    tests: ["contract/reactions"],
  },
  {
    name: "an event shows a reaction to users who no longer see the message",
    find: "return reader === undefined ? undefined : event.payload;",
    replace: "return event.payload;",
    tests: ["http/reactions"],
  },
  {
    name: "a stream shows reactions of blocked users in an update",
    find: "if (message?.has_reactions !== 1 || userIds.length === 0) return new Set();",
    replace: "if (message?.has_reactions !== 2 || userIds.length === 0) return new Set();",
    tests: ["http/events-alike"],
  },
];
