import type { Mutant } from "./mutant.ts";

/** Typing: who may report it, how often, and which streams show it. */
export const typing: readonly Mutant[] = [
  {
    name: "typing: users who blocked the typist see it",
    find: "AND ${isShown(sql`t.user_id`, sql`s.user_id`)}",
    replace: "",
    tests: ["http/typing", "acceptance/typing"],
  },
  {
    name: "typing: everybody can report it in every conversation",
    find: 'if (!(await core.typists.add(typist))) throw new ParleyError("conversation_not_found");',
    replace: "await core.typists.add(typist);",
    tests: ["acceptance/typing", "http/typing"],
  },
  {
    name: "typing: a stream shows it after its token ended",
    find: "if (this.#allowed.get(listener) === this.#round) listener.sendTyping(frame);",
    replace: "if (this.#round > 0) listener.sendTyping(frame);",
    tests: ["http/typing"],
  },
];
