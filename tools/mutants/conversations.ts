// Rules of conversations: order, exactly-once sends, atomic writes, one visibility rule and exact counts.
import type { Mutant } from "./mutant.ts";

export const conversations: readonly Mutant[] = [
  {
    name: "order: message ids come from the node's clock",
    find: 'const id = laterId(input.newId, seat.last_id ?? "");',
    replace: "const id = input.newId;",
    tests: ["contract/messages"],
  },
  {
    name: "once: the result of a key is not stored",
    find: "yield* storeResult(request, JSON.stringify(result));",
    replace: "",
    tests: ["acceptance/message-files"],
  },
  {
    name: "once: a retry of a deleted message answers with what was sent",
    find: "if (replayed) return { ...(await readBack(getMessage(core, caller, result.id))), replayed };",
    replace: "",
    tests: ["acceptance/messages"],
  },
  {
    name: "atomic: a refused write is not rolled back",
    find: 'run("ROLLBACK TO one");',
    replace: "",
    tests: ["contract/messages"],
  },
  {
    name: "atomic: a message does not move its conversation up in the inbox",
    find: "moveUp(message),",
    replace: "",
    tests: ["contract/inbox"],
  },
  {
    name: "visibility: a later step of joining lists a withheld file",
    find: "AND ${sees(sql`a.message_id`)} ON CONFLICT",
    replace: "ON CONFLICT",
    tests: ["contract/joining"],
  },
  {
    name: "leaving: the read position remains",
    find: "sql`DELETE FROM marks WHERE ${isOwn}`,",
    replace: "",
    tests: ["contract/erased-users"],
  },
  {
    name: "leaving: the runs of withheld messages remain",
    find: "const some = runs.slice(0, limit - grants.length);",
    replace: "const some = runs.slice(0, 0);",
    tests: ["contract/erased-users"],
  },
  {
    name: "blocked: a file added later arrives",
    find: "...(yield* publishChange(message, now)),",
    replace: "...publishUpdate(message, now),",
    tests: ["http/sharing-rules"],
  },
  {
    name: "blocked: a renamed file arrives",
    find: "...(yield* publishChange(message, at)),",
    replace: "...publishUpdate(message, at),",
    tests: ["http/sharing-rules"],
  },
  {
    name: "blocked: the contact sees read positions",
    find: "hidePresence(ownerId, usernameKey),",
    replace: "showPresence(ownerId, usernameKey),",
    tests: ["acceptance/conversations"],
  },
  {
    name: "move: withheld messages are not copied",
    find: 'table("withheld", ["user_id", "conversation_id", "from_id"], ["to_id"]),',
    replace: "",
    tests: ["contract/tables"],
  },
  {
    name: "withheld messages count as mentions",
    find: "mentions += is_seen * (is_mention ?? 0);",
    replace: "mentions += is_mention ?? 0;",
    tests: ["http/unread-mentions"],
  },
  {
    name: "mentions of others count as those of the member",
    find: "m.mentions LIKE '%' || s.user_id || '%' THEN 1 END",
    replace: "m.mentions LIKE '%' THEN 1 END",
    tests: ["http/unread-mentions"],
  },
];
