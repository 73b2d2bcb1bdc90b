import type { Mutant } from "./mutant.ts";

const QUERIES = "src/db/queries/messages/reactions.ts";
const FAMILIES = "src/core/events/event-families.ts";
const RENDER = "src/core/events/event-render.ts";
const LEAVING = "src/db/queries/people/conversation-leaving.ts";

/** Reactions: which there may be, who sees them, and when they go. */
export const reactions: readonly Mutant[] = [
  {
    name: "a reaction may be longer than 64 bytes",
    file: "src/core/resource/fields.ts",
    find: "    Buffer.byteLength(value) <= MAX_EMOJI_BYTES &&\n",
    replace: "",
    tests: ["acceptance/messages/reactions"],
  },
  {
    name: "a reaction may be invisible",
    file: "src/core/resource/fields.ts",
    find: "    isVisible(value) &&\n    //",
    replace: "    //",
    tests: ["acceptance/messages/reactions"],
  },
  {
    name: "a reaction may be a word",
    file: "src/core/resource/fields.ts",
    find: "countGraphemes(value) === 1",
    replace: "value.length > 0",
    tests: ["acceptance/messages/reactions"],
  },
  {
    name: "a broken encoding of a reaction is a message that is not there",
    file: "src/http/server.ts",
    find: "    refuseBrokenField(asked);\n",
    replace: "",
    tests: ["acceptance/messages/reactions"],
  },
  {
    name: "a message takes a reaction of somebody who does not see it",
    file: QUERIES,
    find: "WHERE m.id = ${messageId} AND ${sees(sql`m.id`)}`",
    replace: "WHERE m.id = ${messageId}`",
    tests: ["contract/messages/reactions"],
  },
  {
    name: "a message has any number of reactions",
    file: QUERIES,
    find: "< ${raw(String(MAX_EMOJI))}",
    replace: "< 1000000",
    tests: ["contract/messages/reactions", "acceptance/messages/reactions"],
  },
  {
    name: "a message with 20 different reactions takes no more of these",
    file: QUERIES,
    find: "(${some(sql`SELECT r.place ${OF_MESSAGE} AND r.emoji = input.emoji`)}\n      OR ",
    replace: "(",
    tests: ["contract/messages/reactions"],
  },
  {
    name: "reactions of blocked users are listed",
    file: QUERIES,
    find: "readerId === null\n",
    replace: 'readerId !== ""\n',
    tests: ["contract/messages/reactions", "acceptance/messages/reactions"],
  },
  {
    name: "reactions of blocked users are told",
    file: QUERIES,
    find: "AND (s.user_id = found.user_id OR ",
    replace: "AND (s.user_id = s.user_id OR ",
    tests: ["contract/messages/reactions"],
  },
  {
    name: "who blocks their own name loses their own reactions",
    file: QUERIES,
    find: "(u.id = ${readerId} OR NOT EXISTS",
    replace: "(NOT EXISTS",
    tests: ["contract/messages/reactions"],
  },
  {
    name: "an event shows a reaction to those who do not see the message any more",
    file: FAMILIES,
    find: "return reader === undefined ? undefined : event.payload;",
    replace: "return event.payload;",
    tests: ["http/messages/reactions"],
  },
  {
    name: "an event shows a reaction that is gone",
    file: FAMILIES,
    find: 'type === "reaction.created", userIds',
    replace: "false, userIds",
    tests: ["http/messages/reactions"],
  },
  {
    name: "a stream shows reactions of blocked users in an update of their message",
    file: RENDER,
    find: "if (message?.has_reactions !== 1 || userIds.length === 0) return new Set();",
    replace: "if (message !== undefined || userIds.length === 0) return new Set();",
    tests: ["http/messages/reactions", "http/events/events-alike"],
  },
  {
    name: "a webhook that gets ids only gets the emoji of a reaction",
    file: FAMILIES,
    find: "const { emoji: _, ...ids } = JSON.parse(payload) as Reaction;",
    replace: "const ids = JSON.parse(payload) as Reaction;",
    tests: ["http/messages/reactions"],
  },
  {
    name: "a token without messages:read gets events of reactions",
    file: FAMILIES,
    find: '    scope: "messages:read",\n    resource: reactionResource,',
    replace: "    resource: reactionResource,",
    tests: ["http/messages/reactions"],
  },
  {
    name: "reactions stay when their message is deleted",
    file: "src/db/queries/storage/file-erase.ts",
    find: "has_reactions === 1 ? [sql`DELETE FROM reactions",
    replace: "has_reactions > 1 ? [sql`DELETE FROM reactions",
    tests: ["contract/messages/reactions"],
  },
  {
    name: "reactions of erased users stay",
    file: "src/db/queries/upkeep/erasing.ts",
    find: 'sql`user_id = ${user.user_id}`, left),\n    (left: number) =>\n      eraseSome("withheld"',
    replace: "sql`user_id = ''`, left),\n    (left: number) =>\n      eraseSome(\"withheld\"",
    tests: ["contract/messages/reactions"],
  },
  {
    name: "a step erases all reactions to the messages that it looks at",
    file: LEAVING,
    find: "  if (reactions === limit) return limit;\n",
    replace: "",
    tests: ["contract/messages/reactions"],
  },
];
