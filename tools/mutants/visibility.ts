// Who sees which message: the rules of docs/sharing.md.
import type { Mutant } from "./mutant.ts";

const ATTACHMENTS = "src/db/queries/files/attachments.ts";
const MARKS = "src/db/queries/messages/marks.ts";
const MESSAGES = "src/db/queries/messages/message-read.ts";
const PEERS = "src/db/queries/people/peers.ts";
const SENDING = "src/db/queries/messages/message-send.ts";
const WITHHOLDING = "src/db/queries/messages/message-withhold.ts";
const VISIBILITY = "src/db/queries/visibility/visibility.ts";

export const visibility: readonly Mutant[] = [
  {
    name: "a member sees messages from before",
    file: VISIBILITY,
    find: "return sql`${messageId} > s.since_id AND ${messageId} > COALESCE(",
    replace: "return sql`${messageId} > COALESCE(",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a member sees withheld messages",
    file: VISIBILITY,
    find: "ORDER BY w.from_id DESC LIMIT 1), '')`;\n}\n\n/** Selects",
    replace: "ORDER BY w.from_id DESC LIMIT 0), '')`;\n}\n\n/** Selects",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a list of messages has withheld ones",
    file: VISIBILITY,
    find: "if (runEnd === null) found.push(row as unknown as V);",
    replace: "found.push(row as unknown as V);",
    tests: ["contract/visibility/visibility", "http/visibility/sharing-rules"],
  },
  {
    name: "a user who joins again sees everything",
    file: PEERS,
    find: "if (departed === 1 || isPeerBlocked) return last_id;",
    replace: "if (isPeerBlocked) return last_id;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a user who joins with a block receives what waited",
    file: PEERS,
    find: "if (departed === 1 || isPeerBlocked) return last_id;",
    replace: "if (departed === 1) return last_id;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a user who joins receives what was sent while blocked",
    file: PEERS,
    find: "WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id >= ${bound}",
    replace: "WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id < ${bound}",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a user of an erased user's name sees everything",
    file: PEERS,
    find: '  if (!erased) return "";\n',
    replace: '  if (erased) return "";\n',
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a user of an erased user's name sees what came in the same minute",
    file: PEERS,
    find: "const GRACE_MS = 60_000;",
    replace: "const GRACE_MS = 0;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a user of an erased user's name misses what comes within a minute after joining",
    file: PEERS,
    find: "return graceEnd < last_id ? graceEnd : last_id;",
    replace: "return graceEnd;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "unblocking shows presence to somebody who is no contact",
    file: PEERS,
    find: "SELECT 1 FROM contacts c WHERE c.owner_id = ${ownerId} AND c.username_key = ${usernameKey})`;",
    replace: "SELECT 1 FROM users)`;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a change of a blocked user's message arrives",
    file: MESSAGES,
    find: "...withdraw(message, files, userIds, now), ",
    replace: "...withdraw(message, files, userIds.slice(0, 0), now), ",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a file of a withdrawn message stays in the list",
    file: ATTACHMENTS,
    find: "AND s.user_id = g.user_id AND ${sees(sql`f.message_id`)}) IS NOT NULL",
    replace: "AND s.user_id = g.user_id) IS NOT NULL",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a read position moves back",
    file: MARKS,
    find: "const read = messageId > wasRead ? messageId : wasRead;",
    replace: "const read = messageId;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a disclosed read position moves back",
    file: MARKS,
    find: "const disclosed = !input.isPrivate && messageId > wasDisclosed ?",
    replace: "const disclosed = !input.isPrivate ?",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a private read is disclosed",
    file: MARKS,
    find: "const disclosed = !input.isPrivate && messageId",
    replace: "const disclosed = messageId",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "sending leaves unread what came before",
    file: "src/db/queries/messages/message-bulk.ts",
    find: "DO UPDATE SET last_read_id = excluded.last_read_id`;\n/** Never",
    replace: "DO NOTHING`;\n/** Never",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a reply names a message that its sender does not see",
    file: SENDING,
    find: "AND m.id = ${messageId} AND ${sees(sql`m.id`)}`",
    replace: "AND m.id = ${messageId}`",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a mention names anybody",
    file: SENDING,
    find: "if (members.length === userIds.length) return;",
    replace: "if (members.length >= 0) return;",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "a message is deleted for themselves by those who do not see it",
    file: MESSAGES,
    find: 'JOIN users u ON u.id = s.user_id WHERE m.id = ${id} AND ${sees(sql`m.id`)}`,\n    );\n    if (!message) throw new ParleyError("message_not_found");\n    checkVersion(expected, message.version);\n    const files',
    replace:
      'JOIN users u ON u.id = s.user_id WHERE m.id = ${id}`,\n    );\n    if (!message) throw new ParleyError("message_not_found");\n    checkVersion(expected, message.version);\n    const files',
    tests: ["contract/visibility/hiding"],
  },
  {
    name: "a message that is deleted for oneself goes for everybody",
    file: MESSAGES,
    find: "if (message.is_seen === 1) yield* batch([",
    replace: "if (message.is_seen === 2) yield* batch([",
    tests: ["contract/visibility/hiding", "acceptance/visibility/hiding"],
  },
  {
    name: "a message that is deleted for oneself is kept though nobody sees it",
    file: MESSAGES,
    find: "if (message.is_seen === 1) yield* batch([",
    replace: "if (message.is_seen < 2) yield* batch([",
    tests: ["contract/visibility/hiding", "acceptance/visibility/hiding"],
  },
  {
    name: "files of an own message that is deleted for oneself count as long as others see it",
    file: MESSAGES,
    find: "batch([...own, ...withdraw(",
    replace: "batch([...own.slice(2), ...withdraw(",
    tests: ["contract/visibility/hiding", "acceptance/visibility/hiding"],
  },
  {
    name: "deleting for oneself takes a round trip more if nobody else sees the message",
    file: MESSAGES,
    find: "yield* eraseSeenBy([{ user_id: userId }], message",
    replace: "yield* eraseForAll(message",
    tests: ["http/visibility/sending-alike"],
  },
  {
    name: "files are read of a message that was withdrawn meanwhile",
    file: ATTACHMENTS,
    find: "${readerId === null ? EMPTY : isSeen}",
    replace: "${readerId === null ? isSeen : EMPTY}",
    tests: ["http/files/file-links"],
  },
  {
    name: "a link is valid as long as anybody sees the file",
    file: "src/core/files/attachments.ts",
    find: "    userId === undefined\n      ?",
    replace: "    userId !== null\n      ?",
    tests: ["http/files/file-links", "http/visibility/sharing", "acceptance/visibility/hiding"],
  },
  {
    name: "a link of a deleted user shows what is still being erased",
    file: ATTACHMENTS,
    find: "EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId})",
    replace: "TRUE",
    tests: ["contract/upkeep/erasing"],
  },
  {
    name: "each message that is deleted for oneself is a run",
    file: WITHHOLDING,
    find: "COALESCE(${runBefore(sql`${id}`)}, ${id}), COALESCE(",
    replace: "${id}, COALESCE(",
    tests: ["contract/visibility/hiding"],
  },
  {
    name: "a run of messages that are deleted for oneself overlaps the one behind it",
    file: WITHHOLDING,
    find: "AND from_id > ${id}\n      AND from_id <=",
    replace: "AND from_id < ''\n      AND from_id <=",
    tests: ["contract/visibility/hiding"],
  },
  {
    name: "a run of messages that are deleted for oneself has others in it",
    file: WITHHOLDING,
    find: "x.id > ${from} AND x.id < ${to}`",
    replace: "x.id > ${from} AND x.id < ${to} AND x.id < ''`",
    tests: ["contract/visibility/hiding"],
  },
  {
    name: "a token with admin alone deletes messages for itself",
    file: "src/http/routes/messages/messages.ts",
    find: '      requireScope(caller, "messages:write");\n',
    replace: "",
    tests: ["http/messages/messages"],
  },
];
