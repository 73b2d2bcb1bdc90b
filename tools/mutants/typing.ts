import type { Mutant } from "./mutant.ts";

/** Who is typing: who may say so, how often, and to whose streams it comes. */
export const typing: readonly Mutant[] = [
  {
    name: "typing: those who have blocked the typist are shown it",
    find: "AND ${isShown(sql`t.user_id`, sql`s.user_id`)}",
    replace: "",
    tests: ["http/typing", "acceptance/typing"],
  },
  {
    name: "typing: anybody may say so in any conversation",
    find: 'if (!(await core.typists.add(typist))) throw new ParleyError("conversation_not_found");',
    replace: "await core.typists.add(typist);",
    tests: ["acceptance/typing", "http/typing"],
  },
  {
    name: "typing: a stream is shown it although its token has ended",
    find: "if (this.#allowed.get(listener) === this.#round) listener.sendTyping(frame);",
    replace: "if (this.#round > 0) listener.sendTyping(frame);",
    tests: ["http/typing"],
  },
];
