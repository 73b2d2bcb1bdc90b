// Who sees which message, by the rules of docs/sharing.md.
import type { Mutant } from "./mutant.ts";

export const visibility: readonly Mutant[] = [
  {
    name: "a member sees messages from before joining",
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
    name: "a list shows withheld messages",
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
    name: "a user who joins with a block gets the waiting messages",
    find: "if (departed === 1 || isPeerBlocked) return last_id;",
    replace: "if (departed === 1) return last_id;",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a user who joins gets messages sent during a block",
    find: "WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id >= ${bound}",
    replace: "WHERE me.id = ${ownerId} AND them.username_key = ${usernameKey} AND v.last_id < ${bound}",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a new user of an erased name sees everything",
    find: 'if (!erased) return "";',
    replace: 'if (erased) return "";',
    tests: ["http/sharing-rules"],
  },
  {
    name: "an update of a blocked user's message arrives",
    find: "...withdraw(message, files, userIds, now),",
    replace: "...withdraw(message, files, userIds.slice(0, 0), now),",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a file of a withdrawn message is still listed",
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
    name: "a reply can name a message that its sender does not see",
    find: "AND m.id = ${messageId} AND ${sees(sql`m.id`)}`",
    replace: "AND m.id = ${messageId}`",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a mention can name any user",
    find: "if (members.length === userIds.length) return;",
    replace: "if (members.length >= 0) return;",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a user can delete a message that they do not see for themselves",
    find: "AS is_seen ${SEEN_BY(userId)} JOIN users u ON u.id = s.user_id WHERE m.id = ${id} AND ${sees(sql`m.id`)}`",
    replace: "AS is_seen ${SEEN_BY(userId)} JOIN users u ON u.id = s.user_id WHERE m.id = ${id}`",
    tests: ["acceptance/hiding"],
  },
  {
    name: "deleting a message for oneself deletes it for everybody",
    find: "if (message.is_seen === 1) yield* batch([",
    replace: "if (message.is_seen === 2) yield* batch([",
    tests: ["acceptance/hiding"],
  },
  {
    name: "files of a message withdrawn meanwhile are read",
    find: "${readerId === null ? EMPTY : isSeen}",
    replace: "${readerId === null ? isSeen : EMPTY}",
    tests: ["http/file-links"],
  },
  {
    name: "a link is valid as long as any user sees the file",
    find: "return found( userId === undefined ?",
    replace: "return found( userId !== null ?",
    tests: ["http/file-links", "http/sharing", "acceptance/hiding"],
  },
  {
    name: "a link of a deleted user opens files that are still being erased",
    find: "EXISTS (SELECT 1 FROM users u WHERE u.id = ${userId})",
    replace: "TRUE",
    tests: ["contract/erasing"],
  },
  {
    name: "a token with only admin can delete messages for itself",
    find: 'requireScope(caller, "messages:write"); return hideMessage(',
    replace: "return hideMessage(",
    tests: ["http/messages"],
  },
  {
    name: "a new user of an erased name sees messages of the same minute",
    find: "const GRACE_MS = 60_000;",
    replace: "const GRACE_MS = 0;",
    tests: ["http/sharing-rules"],
  },
  {
    name: "a read position from before the user joined is shown",
    find: "contactRead !== null && contactRead > since_id ? contactRead : null",
    replace: "contactRead || null",
    tests: ["http/sharing-rules"],
  },
  {
    name: "unblocking shows presence to a user who is not a contact",
    find: "SELECT 1 FROM contacts c WHERE c.owner_id = ${ownerId} AND c.username_key = ${usernameKey})`; } /** Part of erasing",
    replace: "SELECT 1 FROM users)`; } /** Part of erasing",
    tests: ["http/sharing-rules"],
  },
];
