// Who sees which message: the rules of docs/sharing.md.
import type { Mutant } from "./mutant.ts";

export const visibility: readonly Mutant[] = [
  {
    name: "a member sees messages from before",
    find: "return sql`${messageId} > s.since_id AND ${messageId} > COALESCE(",
    replace: "return sql`${messageId} > COALESCE(",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a member sees withheld messages",
    find: "ORDER BY w.from_id DESC LIMIT 1), '')`; } /** Selects",
    replace: "ORDER BY w.from_id DESC LIMIT 0), '')`; } /** Selects",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a list of messages has withheld ones",
    find: "if (runEnd === null) found.push(columns.toRow(row));",
    replace: "found.push(columns.toRow(row));",
    tests: ["contract/visibility", "http/sharing-rules"],
  },
  {
    name: "a user who joins again sees everything",
    find: "if (departed === 1 || isPeerBlocked) return last_id;",
    replace: "if (isPeerBlocked) return last_id;",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a user who joins with a block receives what waited",
    find: "if (departed === 1 || isPeerBlocked) return last_id;",
    replace: "if (departed === 1) return last_id;",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a user who joins receives what was sent while blocked",
    find: "WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id >= ${bound}",
    replace: "WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id < ${bound}",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a user of an erased user's name sees everything",
    find: 'if (!erased) return "";',
    replace: 'if (erased) return "";',
    tests: ["http/sharing-rules"],
  },
  {
    name: "a change of a blocked user's message arrives",
    find: "...withdraw(message, files, userIds, now),",
    replace: "...withdraw(message, files, userIds.slice(0, 0), now),",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a file of a withdrawn message stays in the list",
    find: "AND s.user_id = g.user_id AND ${sees(sql`f.message_id`)}) IS NOT NULL",
    replace: "AND s.user_id = g.user_id) IS NOT NULL",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a private read is disclosed",
    find: "const disclosed = !input.isPrivate && messageId",
    replace: "const disclosed = messageId",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a reply names a message that its sender does not see",
    find: "AND m.id = ${messageId} AND ${sees(sql`m.id`)}`",
    replace: "AND m.id = ${messageId}`",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a mention names anybody",
    find: "if (members.length === userIds.length) return;",
    replace: "if (members.length >= 0) return;",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a message is deleted for themselves by those who do not see it",
    find: 'JOIN users u ON u.id = s.user_id WHERE m.id = ${id} AND ${sees(sql`m.id`)}`, ); if (!message) throw new ParleyError("message_not_found"); checkVersion(expected, message.version); const files',
    replace:
      'JOIN users u ON u.id = s.user_id WHERE m.id = ${id}`, ); if (!message) throw new ParleyError("message_not_found"); checkVersion(expected, message.version); const files',
    tests: ["acceptance/hiding"],
  },
  {
    name: "a message that is deleted for oneself goes for everybody",
    find: "if (message.is_seen === 1) yield* batch([",
    replace: "if (message.is_seen === 2) yield* batch([",
    tests: ["acceptance/hiding"],
  },
  {
    name: "files are read of a message that was withdrawn meanwhile",
    find: "${readerId === null ? EMPTY : isSeen}",
    replace: "${readerId === null ? isSeen : EMPTY}",
    tests: ["http/file-links"],
  },
  {
    name: "a link is valid as long as anybody sees the file",
    find: "return found( userId === undefined ?",
    replace: "return found( userId !== null ?",
    tests: ["http/file-links", "http/sharing", "acceptance/hiding"],
  },
  {
    name: "a link of a deleted user shows what is still being erased",
    find: "EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId})",
    replace: "TRUE",
    tests: ["contract/erasing"],
  },
  {
    name: "a token with admin alone deletes messages for itself",
    find: 'requireScope(caller, "messages:write");',
    replace: "",
    tests: ["http/messages"],
  },
];
