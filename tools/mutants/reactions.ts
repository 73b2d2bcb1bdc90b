import type { Mutant } from "./mutant.ts";

/** Reactions: which there may be, who sees them, and when they go. */
export const reactions: readonly Mutant[] = [
  {
    name: "a message takes a reaction of somebody who does not see it",
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
    name: "reactions of blocked users are told",
    find: "AND (s.user_id = found.user_id OR",
    replace: "AND (s.user_id = s.user_id OR",
    tests: ["contract/reactions"],
  },
  {
    name: "an event shows a reaction to those who do not see the message any more",
    find: "return reader === undefined ? undefined : event.payload;",
    replace: "return event.payload;",
    tests: ["http/reactions"],
  },
];
