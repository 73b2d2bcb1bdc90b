// The invariants of conversations: order, exactly once, all or nothing, one predicate and counts.
import type { Mutant } from "./mutant.ts";

const ATTACHMENTS = "src/db/queries/files/attachments.ts";
const BLOCKS = "src/db/queries/people/blocks.ts";
const CONVERSATIONS = "src/core/messages/conversations.ts";
const INBOX = "src/db/queries/messages/inbox.ts";
const JOINING = "src/db/queries/people/conversation-joining.ts";
const LEAVING = "src/db/queries/people/conversation-leaving.ts";
const MARKS = "src/db/queries/messages/marks.ts";
const MESSAGES = "src/db/queries/messages/message-read.ts";
const SENDING = "src/db/queries/messages/message-send.ts";
const VISIBILITY = "src/db/queries/visibility/visibility.ts";

const order: readonly Mutant[] = [
  {
    name: "order: a message has the id of its node's clock",
    file: SENDING,
    find: 'const id = laterId(input.newId, seat.last_id ?? "");',
    replace: "const id = input.newId;",
    tests: ["contract/messages/messages", "http/visibility/sharing-order.all"],
  },
  {
    name: "order: the times of messages are those of the nodes",
    file: SENDING,
    find: "${timeOfId(id)}, 1)`",
    replace: "${now}, 1)`",
    tests: ["contract/messages/messages"],
  },
  {
    name: "order: after the last id of a millisecond come the first ones again",
    file: "src/util/ids.ts",
    find: "timeOfId(last) + 1, 0n)",
    replace: "timeOfId(last), 0n)",
    tests: ["unit/ids"],
  },
  {
    name: "order: the time of an id is forgotten by the next one",
    file: "src/util/ids.ts",
    find: "const next = bitsOfId(last) + 1n;",
    replace: "const next = bitsOfId(last) + 2n ** 70n;",
    tests: ["unit/ids"],
  },
];

const once: readonly Mutant[] = [
  {
    name: "once: the result of a key is not stored",
    file: "src/db/writes.ts",
    find: "    yield* storeResult(request, JSON.stringify(found.result));\n",
    replace: "",
    tests: ["acceptance/files/message-files"],
  },
  {
    name: "once: a retry of a deleted message answers with what was sent",
    file: "src/core/messages/message-send.ts",
    find: "  if (replayed) return { ...(await readBack(getMessage(core, caller, result.id))), replayed };\n",
    replace: "",
    tests: ["acceptance/messages/messages"],
  },
  {
    name: "atomic: what a refused write had done stays",
    file: "src/db/engines/sqlite/writer.ts",
    find: '    run("ROLLBACK TO one");\n',
    replace: "",
    tests: ["contract/messages/messages"],
  },
  {
    name: "atomic: a message comes without its place in the inbox",
    file: SENDING,
    find: "      moveUp(message),\n",
    replace: "",
    tests: ["contract/messages/inbox"],
  },
];

const predicate: readonly Mutant[] = [
  {
    name: "seen: a walk stops short of the end of a run",
    file: VISIBILITY,
    find: "CASE WHEN w.to_id >= m.id THEN",
    replace: "CASE WHEN w.to_id > m.id THEN",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "seen: a walk towards the newer begins before the member joined",
    file: VISIBILITY,
    find: "${cursor < since_id ? since_id : cursor}",
    replace: "${cursor}",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "seen: a walk to the older skips what stands between the cursor and a run",
    file: VISIBILITY,
    find: "sql`CASE WHEN ${isLast} THEN w.from_id END`",
    replace: "sql`w.from_id`",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "seen: nothing after the last run is counted",
    file: VISIBILITY,
    find: "AND x.id > w.to_id) THEN w.from_id END\n    FROM",
    replace: "AND x.id > '~') THEN w.from_id END\n    FROM",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "seen: those whom an event of all users names need not see the message",
    file: VISIBILITY,
    find: "sql`SELECT s.user_id ${audience(conversationId, sql`${messageId}`)} AND s.user_id IN (${list(padded(userIds))})`",
    replace:
      "sql`SELECT s.user_id FROM members s WHERE s.conversation_id = ${conversationId} AND s.user_id IN (${list(padded(userIds))})`",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "seen: the last message is the last that was sent",
    file: MESSAGES,
    find: "WHERE m.id IN (${list(ids)}) AND ${sees(sql`m.id`)}`",
    replace: "WHERE m.id IN (${list(ids)})`",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "seen: a withheld file is listed by a later step of joining",
    file: JOINING,
    find: "AND ${sees(sql`a.message_id`)}\n      ON CONFLICT",
    replace: "\n      ON CONFLICT",
    tests: ["contract/messages/joining"],
  },
  {
    name: "seen: only the first step of joining lists files",
    file: JOINING,
    find: "const isDone = yield* writeGrants(joining, limit);\n  yield* run(",
    replace: "const isDone = true;\n  yield* run(",
    tests: ["contract/messages/joining"],
  },
  {
    name: "seen: of many files of one message only some are listed",
    file: JOINING,
    find: "AND (message_id, id) < (${joining.before_message_id}, ${joining.before_id})",
    replace: "AND message_id < ${joining.before_message_id}",
    tests: ["contract/messages/joining"],
  },
];

const leaving: readonly Mutant[] = [
  {
    name: "left: joining goes on for a user who has left",
    file: LEAVING,
    find: "    sql`DELETE FROM joining WHERE ${isOwn}`,\n",
    replace: "",
    tests: ["contract/messages/joining"],
  },
  {
    name: "left: the read position stays",
    file: LEAVING,
    find: "    sql`DELETE FROM marks WHERE ${isOwn}`,\n",
    replace: "",
    tests: ["contract/people/erased-users"],
  },
  {
    name: "left: the place in the inbox stays",
    file: LEAVING,
    find: "    sql`DELETE FROM places WHERE ${isOwn}`,\n",
    replace: "",
    tests: ["contract/people/erased-users"],
  },
  {
    name: "left: what was withheld stays noted",
    file: LEAVING,
    find: "const some = runs.slice(0, limit - grants.length);",
    replace: "const some = runs.slice(0, 0);",
    tests: ["contract/people/erased-users"],
  },
  {
    name: "left: an erased user's blocks stay",
    file: "src/db/queries/upkeep/erasing.ts",
    find: "sql`owner_id = ${user.user_id}`, left),",
    replace: "sql`owner_id = ${user.username_key}`, left),",
    tests: ["contract/people/erased-users"],
  },
  {
    name: "left: the text of a message that nobody sees stays",
    file: "src/db/queries/storage/file-erase.ts",
    find: "if (body.body_id === null) return [];",
    replace: "if (body.body_id !== -1) return [];",
    tests: ["contract/people/erased-users"],
  },
  {
    name: "before: how far the contact had read before one joined is shown",
    file: CONVERSATIONS,
    find: "contactRead !== null && contactRead > since_id ? contactRead : null",
    replace: "contactRead || null",
    tests: ["http/visibility/sharing-rules"],
  },
  {
    name: "before: the last millisecond of an erased user is the new user's",
    file: "src/db/queries/people/peers.ts",
    find: "erased.at + GRACE_MS + 1)",
    replace: "erased.at + GRACE_MS)",
    tests: ["contract/messages/joining"],
  },
];

const counts: readonly Mutant[] = [
  {
    name: "unread: withheld messages count",
    file: INBOX,
    find: "CASE WHEN MIN(u.is_seen) = 0 THEN NULL ELSE COUNT(*) END",
    replace: "COUNT(*)",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "unread: a walk counts withheld messages",
    file: INBOX,
    find: "count += is_seen;",
    replace: "count += 1 + 0 * is_seen;",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "unread: one's own messages count",
    file: INBOX,
    find: "WHERE m.conversation_id = s.conversation_id AND m.sender_id <> s.user_id AND m.type = 'text'",
    replace: "WHERE m.conversation_id = s.conversation_id AND m.type = 'text'",
    tests: ["contract/visibility/visibility"],
  },
  {
    name: "unread: a read up to anywhere reads everything",
    file: MARKS,
    find: "mark.maybe_unread === 1 && !(yield* hasUnread(seat, read))",
    replace: "mark.maybe_unread === 1",
    tests: ["contract/messages/inbox"],
  },
  {
    name: "unread: a new message of a conversation that was read is not a candidate",
    file: "src/db/queries/messages/message-bulk.ts",
    find: "s.user_id = found.sender_id THEN 0 ELSE 1 END",
    replace: "s.user_id = found.sender_id THEN 0 ELSE 0 END",
    tests: ["contract/messages/inbox"],
  },
  {
    name: "unread: a muted conversation is in the badge",
    file: INBOX,
    find: "AND COALESCE(k.muted_until, 0) <= ${now} ORDER BY",
    replace: "AND ${now} > 0 ORDER BY",
    tests: ["contract/messages/inbox"],
  },
  {
    name: "read: further than the last message",
    file: MARKS,
    find: "mark.last_id === null || messageId > mark.last_id || messageId <= mark.since_id",
    replace: "mark.last_id === null || messageId <= mark.since_id",
    tests: ["contract/messages/marks"],
  },
  {
    name: "read: what came before one joined",
    file: MARKS,
    find: "mark.last_id === null || messageId > mark.last_id || messageId <= mark.since_id",
    replace: "mark.last_id === null || messageId > mark.last_id",
    tests: ["contract/messages/marks"],
  },
  {
    name: "read: sending discloses",
    file: SENDING,
    find: "INSERT INTO marks (user_id, conversation_id, last_read_id) VALUES (${senderId}, ${conversationId}, ${id})",
    replace:
      "INSERT INTO marks (user_id, conversation_id, last_read_id, disclosed_read_id) VALUES (${senderId}, ${conversationId}, ${id}, ${id})",
    tests: ["contract/messages/marks"],
  },
  {
    name: "inbox: a message sent by a clock that is behind moves a conversation down",
    file: "src/db/queries/messages/message-bulk.ts",
    find: "CASE WHEN places.position > excluded.position THEN places.position ELSE excluded.position END",
    replace: "excluded.position",
    tests: ["contract/messages/inbox"],
  },
  {
    name: "inbox: a page repeats the last conversation of the one before",
    file: INBOX,
    find: ": sql`p.position < ${cursor} ORDER BY",
    replace: ": sql`p.position <= ${cursor} ORDER BY",
    tests: ["acceptance/messages/conversation-lists"],
  },
];

const blocks: readonly Mutant[] = [
  {
    name: "blocked: a late file arrives",
    file: ATTACHMENTS,
    find: "    ...(yield* publishChange(message, now)),\n",
    replace: "    ...publishUpdate(message, now),\n",
    tests: ["contract/messages/messages"],
  },
  {
    name: "blocked: a new name of a file arrives",
    file: ATTACHMENTS,
    find: "      ...(yield* publishChange(message, at)),\n",
    replace: "      ...publishUpdate(message, at),\n",
    tests: ["contract/messages/messages"],
  },
  {
    name: "blocked: a withdrawn message keeps its files in the list",
    file: "src/db/queries/messages/message-withhold.ts",
    find: "DELETE FROM grants WHERE user_id IN (${those}) AND attachment_id = ${file.id}",
    replace: "DELETE FROM grants WHERE user_id IN (${those}) AND attachment_id = ${file.id} AND user_id = ''",
    tests: ["contract/messages/messages"],
  },
  {
    name: "blocked: the contact learns of reads",
    file: BLOCKS,
    find: "hidePresence(ownerId, usernameKey),",
    replace: "showPresence(ownerId, usernameKey),",
    tests: ["contract/messages/marks"],
  },
];

const carried: readonly Mutant[] = [
  {
    name: "carried: a move leaves out what is withheld",
    file: "src/db/queries/upkeep/tables.ts",
    find: '  table("withheld", ["user_id", "conversation_id", "from_id"], ["to_id"]),\n',
    replace: "",
    tests: ["contract/upkeep/tables"],
  },
  {
    name: "carried: a check passes over a message that has lost its text",
    file: "src/db/queries/upkeep/orphans.ts",
    find: "WHERE m.body_id IS NOT NULL AND NOT EXISTS",
    replace: "WHERE m.body_id IS NULL AND NOT EXISTS",
    tests: ["contract/visibility/orphans"],
  },
  {
    name: "carried: a check passes over runs that overlap",
    file: "src/db/queries/upkeep/orphans.ts",
    find: "AND o.from_id <= r.to_id)",
    replace: "AND o.from_id < r.from_id)",
    tests: ["contract/visibility/orphans"],
  },
];

export const conversations: readonly Mutant[] = [
  ...[...order, ...once, ...predicate, ...leaving, ...counts, ...blocks, ...carried],
];
