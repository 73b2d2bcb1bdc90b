import type { Mutant } from "./mutant.ts";

/** Messages that are sent again with their `client_id`, and how long it stays taken. */
export const clientIds: readonly Mutant[] = [
  {
    name: "client ids: other content is answered like the same",
    find: "if (Buffer.compare(fingerprint, toFingerprint(asked)) !== 0)",
    replace: "if (fingerprint === null)",
    tests: ["acceptance/client-ids"],
  },
  {
    name: "client ids: a message sent again counts against the message limit",
    find: "if (sentBefore) return sendAgain(core, request, sentBefore);",
    replace: "",
    tests: ["http/client-ids"],
  },
  {
    name: "client ids: files sent again count against the limits",
    find: "this.isReplay || isRepeat",
    replace: "this.isReplay",
    tests: ["http/client-ids"],
  },
  {
    name: "client ids: a form may have it after its files",
    find: "const BEFORE_FILES = [STRIP, CLIENT_ID];",
    replace: "const BEFORE_FILES = [STRIP];",
    tests: ["acceptance/client-ids"],
  },
  {
    name: "client ids: of two equal messages at once the second fails",
    find: 'const isTaken = error instanceof ParleyError && error.code === "client_id_conflict";',
    replace: "const isTaken = false;",
    tests: ["http/client-ids"],
  },
  {
    name: "client ids: two messages of a sender get the same",
    find: "if (!taken) throw",
    replace: "if (taken === null) throw",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: one whose message its sender has hidden is free once nobody sees it",
    find: "message.sender_id === userId ? releaseClientId(message, now) : []",
    replace: "[]",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: erasing a message starts the 90 days again",
    find: "AND message_id = ${id} AND until IS NULL`",
    replace: "AND message_id = ${id}`",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: an earlier message frees that of a later one",
    find: "AND message_id = ${id} AND until IS NULL`",
    replace: "AND until IS NULL`",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: those of a deleted message stay taken",
    find: "...eraseMessage(message), ...releaseClientId(message, now)",
    replace: "...eraseMessage(message)",
    tests: ["contract/client-ids", "http/client-ids"],
  },
  {
    name: "client ids: those of a member who has left stay taken",
    find: "...sent.flatMap((message) => releaseClientId(message, now)),",
    replace: "",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: leaving frees those of a later membership",
    find: "AND message_id <= ${untilId} AND until IS NULL",
    replace: "AND until IS NULL",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: those of an erased user stay",
    find: "(left: number) => forgetClientIdsOf(user.user_id, left),",
    replace: "",
    tests: ["contract/client-ids"],
  },
  {
    name: "client ids: expired ones stay taken",
    find: "AND (until IS NULL OR until > ${now})",
    replace: "",
    tests: ["contract/client-ids", "http/client-ids"],
  },
];
