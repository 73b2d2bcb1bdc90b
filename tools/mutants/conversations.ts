// The invariants of conversations: order, exactly once, all or nothing, one predicate and counts.
import type { Mutant } from "./mutant.ts";

export const conversations: readonly Mutant[] = [
  {
    name: "order: a message has the id of its node's clock",
    find: 'const id = laterId(input.newId, seat.last_id ?? "");',
    replace: "const id = input.newId;",
    tests: ["contract/messages", "http/sharing-order"],
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
    name: "atomic: what a refused write had done stays",
    find: 'run("ROLLBACK TO one");',
    replace: "",
    tests: ["contract/messages"],
  },
  {
    name: "atomic: a message comes without its place in the inbox",
    find: "moveUp(message),",
    replace: "",
    tests: ["contract/inbox"],
  },
  {
    name: "seen: a withheld file is listed by a later step of joining",
    find: "AND ${sees(sql`a.message_id`)} ON CONFLICT",
    replace: "ON CONFLICT",
    tests: ["contract/joining"],
  },
  {
    name: "left: the read position stays",
    find: "sql`DELETE FROM marks WHERE ${isOwn}`,",
    replace: "",
    tests: ["contract/erased-users"],
  },
  {
    name: "left: what was withheld stays noted",
    find: "const some = runs.slice(0, limit - grants.length);",
    replace: "const some = runs.slice(0, 0);",
    tests: ["contract/erased-users"],
  },
  {
    name: "blocked: a late file arrives",
    find: "...(yield* publishChange(message, now)),",
    replace: "...publishUpdate(message, now),",
    tests: ["http/sharing-rules"],
  },
  {
    name: "blocked: a new name of a file arrives",
    find: "...(yield* publishChange(message, at)),",
    replace: "...publishUpdate(message, at),",
    tests: ["http/sharing-rules"],
  },
  {
    name: "blocked: the contact learns of reads",
    find: "hidePresence(ownerId, usernameKey),",
    replace: "showPresence(ownerId, usernameKey),",
    tests: ["acceptance/conversations"],
  },
  {
    name: "carried: a move leaves out what is withheld",
    find: 'table("withheld", ["user_id", "conversation_id", "from_id"], ["to_id"]),',
    replace: "",
    tests: ["contract/tables"],
  },
];
