import type { Mutant } from "./mutant.ts";

const QUERIES = "src/db/queries/messages/typing.ts";
const TYPING = "src/core/events/typing.ts";
const TYPISTS = "src/core/node/typists.ts";
const TYPES = "src/core/events/event-types.ts";

/** Who is typing: who may say so, how often, and to whose streams it comes. */
export const typing: readonly Mutant[] = [
  {
    name: "typing: those who have blocked the typist are shown it",
    file: QUERIES,
    find: " AND ${isShown(sql`t.user_id`, sql`s.user_id`)}",
    replace: "",
    tests: ["contract/messages/typing", "http/messages/typing", "acceptance/messages/typing"],
  },
  {
    name: "typing: who is typing is shown it",
    file: QUERIES,
    find: " AND s.user_id <> t.user_id",
    replace: "",
    tests: ["contract/messages/typing", "http/messages/typing", "acceptance/messages/typing"],
  },
  {
    name: "typing: anybody may say so in any conversation",
    file: TYPING,
    find: 'if (!(await core.typists.add(typist))) throw new ParleyError("conversation_not_found");',
    replace: "await core.typists.add(typist);",
    tests: ["acceptance/messages/typing", "http/messages/typing"],
  },
  {
    name: "typing: it is broadcast any number of times",
    file: TYPISTS,
    find: "seated.filter((typist) => this.note(typist))",
    replace: "seated",
    tests: ["contract/messages/typing", "http/messages/typing", "acceptance/messages/typing"],
  },
  {
    name: "typing: each node broadcasts it by itself",
    file: TYPING,
    find: "  for (const typing of all) typists.note(typing);\n",
    replace: "",
    tests: ["http/messages/typing"],
  },
  {
    name: "typing: any token that reads events is shown it",
    file: TYPES,
    find: 'type === TYPING ? "messages:read" :',
    replace: "type === TYPING ? undefined :",
    tests: ["http/messages/typing"],
  },
  {
    name: "typing: streams of other types show it",
    file: TYPES,
    find: "(asked?.includes(TYPING) ?? true)",
    replace: "(asked !== null)",
    tests: ["http/messages/typing"],
  },
  {
    name: "typing: a page of it is empty",
    file: "src/http/routes/events/events.ts",
    find: "      refuseTyping(query.types);\n",
    replace: "",
    tests: ["http/messages/typing", "acceptance/messages/typing"],
  },
  {
    name: "typing: any number of frames waits for a client that does not read",
    file: "src/http/protocol/event-stream.ts",
    find: " || writableNeedDrain",
    replace: "",
    tests: ["http/messages/typing"],
  },
  {
    name: "typing: a stream is shown it although its token has ended",
    file: "src/core/node/event-hub.ts",
    find: "if (this.#allowed.get(listener) === this.#round) listener.sendTyping(frame);",
    replace: "if (this.#round > 0) listener.sendTyping(frame);",
    tests: ["http/messages/typing"],
  },
  {
    name: "typing: a frame has an id",
    file: TYPING,
    find: "`event: ${TYPING}",
    replace: "`id: evt_0\\nevent: ${TYPING}",
    tests: ["http/messages/typing", "acceptance/messages/typing"],
  },
  {
    name: "typing: a notification is longer than PostgreSQL takes",
    file: "src/db/engines/postgres/session.ts",
    find: "joined.length < PAYLOAD_BYTES",
    replace: "joined.length < 1e9",
    tests: ["contract/messages/typing"],
  },
];
